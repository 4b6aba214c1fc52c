/* SPDX-License-Identifier: Apache-2.0 */
/* Options for what is sampled, and when: samples, triggers, and records with stacks. */
#define _GNU_SOURCE
#include "options_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/base/names.h"
#include "cli/base/texts.h"

#define PAGES_MAX (1 << 18) /* 1 GB */
#define STACKS_MAX 1000000
#define PROFILE_MAX 10000
#define RECORD_LEAST (64ULL << 10)
#define RECORD_MOST (4ULL << 30)

#define COUNTERS_HELP                                                                              \
	"cycles, instructions, cache-references, cache-misses, context-switches, minor-faults "    \
	"and "                                                                                     \
	"major-faults"

/* --- Readers --- */

static exit_status refuse_twice(const struct option_row *row, const char *hint)
{
	log_error("option --%s is given twice", row->name);
	log_hint("%s", hint);
	return EX_USAGE;
}

static exit_status read_memory(const struct option_row *row, const char *text,
			       struct options *options)
{
	int status = read_size(row, text, options);

	if (!status &&
	    (options->record_memory < RECORD_LEAST || options->record_memory > RECORD_MOST))
		return options_refuse_value(row, text, "is too little, or too much",
					    "give a size from 64K to 4G, such as 32M");
	return status;
}

static int read_length(const struct option_row *row, const char *text, struct options *options)
{
	options->sample_time_given = text != row->preset;
	return read_duration(row, text, options);
}

static int read_at(const struct option_row *row, const char *text, struct options *options)
{
	static const char hint[] = "give 14:30, 14:30:05, 2026-11-21T14:30, +5s or /10s";
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	switch (schedule_parse(text, clock_ns(&now), option_field(row, options))) {
	case 0:
		return 0;
	case -ETIME:
		return options_refuse_value(row, text, "is over", "give a later time");
	case -EDOM:
		return options_refuse_bare(row, text + 1);
	case -ERANGE:
		return options_refuse_value(row, text, "is too short or too long",
					    "give a period of at least 1ms, at most 10 years");
	default:
		return options_refuse_value(row, text, "is not a time", "%s", hint);
	}
}

static exit_status refuse_event(const struct option_row *row, const char *name)
{
	struct names_closest closest;
	char list[256] = "";
	const char *choice;

	names_closest_init(&closest, name);
	for (size_t i = 0; (choice = counter_event_name(i)); i++)
		names_closest_offer(&closest, choice);
	for (size_t i = 0; i < closest.n; i++)
		text_append(list, sizeof(list), "%s%s",
			    i ? ", " : "; similar names: ", closest.best[i].name);
	names_closest_clear(&closest);
	return options_refuse_value(row, name, "is no event",
				    "give names as in perf-list(1): cycles,L1-dcache-load-misses, "
				    "or default, or raw ones: r3c%s",
				    list);
}

static exit_status read_counters(const struct option_row *row, const char *text,
				 struct options *options)
{
	char wrong[COUNTER_NAME];

	if (options->counters.n)
		return refuse_twice(row, "give one list: cycles,instructions");
	switch (counter_set_read(strcmp(text, "default") ? text : COUNTERS_DEFAULT,
				 &options->counters, wrong)) {
	case 0:
		return 0;
	case -E2BIG:
		return options_refuse_value(row, text, "has too many events", "give at most %d",
					    KD_COUNTERS);
	case -EEXIST:
		return options_refuse_value(row, wrong, "is there twice", "give it once");
	default:
		return refuse_event(row, wrong);
	}
}

static exit_status read_trigger(const struct option_row *row, const char *text,
				struct options *options)
{
	const char **trigger = option_field(row, options);

	if (*trigger)
		return refuse_twice(
			row,
			"give one; a pattern such as up:handle_* stands for several functions");
	*trigger = text;
	return 0;
}

static exit_status read_deltas(const struct option_row *row, const char *text,
			       struct options *options)
{
	struct deltas_error error;

	if (!deltas_parse(option_field(row, options), text, OPTIONS_DURATION_MAX, &error))
		return 0;
	if (!strpbrk(text, ",:"))
		return options_refuse_value(row, text,
					    strstr(error.why, "too long") ? "is too long"
									  : "is not a duration",
					    "give a number of nanoseconds, or one with ns, us, ms, "
					    "s or min: 50us, 1.5ms");
	return options_refuse_value(row, text, "cannot be read",
				    "at character %zu, '%s': %s; as in 1ms,pmd*:50us,main:5ms",
				    error.at + 1, text + error.at, error.why);
}

static exit_status read_overhead(const struct option_row *row, const char *text,
				 struct options *options)
{
	static const char suffix[] = ",stop";
	size_t length = strlen(text), end = sizeof(suffix) - 1;
	char *number;
	int status;

	options->overhead_stops = length >= end && !strcmp(text + length - end, suffix);
	number = strndup(text, options->overhead_stops ? length - end : length);
	if (!number)
		return log_no_memory();
	status = read_number(row, number, options);
	free(number);
	return status;
}

static int read_listing(const struct option_row *row, const char *text, struct options *options)
{
	(void)row;
	options->list_probes = true;
	options->list_glob = text;
	return 0;
}

static int read_events(const struct option_row *row, const char *text, struct options *options)
{
	options->call_events = true;
	return read_duration(row, text, options);
}

static exit_status read_calls(const struct option_row *row, const char *text,
			      struct options *options)
{
	if (options->calls_chosen)
		return refuse_twice(row, "give one list: futex,recvmsg");
	options->calls_chosen = true;
	options->calls_named = !strpbrk(text, "!*"); /* and not some others */
	return syscall_set_read(row->name, text, &options->calls);
}

static exit_status refuse_waits(const struct option_row *row, const char *text)
{
	char list[256] = "";
	const char *choice;

	for (size_t i = 0; (choice = wait_filter_word(i)); i++)
		text_append(list, sizeof(list), "%s%s", i ? ", " : "", choice);
	return options_refuse_value(row, text,
				    "has a word that is neither a state nor a kind of waits",
				    "there are %s; '*' is all", list);
}

static exit_status read_waits(const struct option_row *row, const char *text,
			      struct options *options)
{
	struct wait_filter *filter = option_field(row, options);
	const char *list = text + (*text == '!');
	char word[32];

	*filter = (struct wait_filter){ .text = text, .others = *text == '!' };
	for (;; list++) {
		size_t length = strcspn(list, ",");

		snprintf(word, sizeof(word), "%.*s", (int)(length < sizeof(word) ? length : 0),
			 list);
		if (!wait_filter_add(filter, word))
			return refuse_waits(row, text);
		list += length;
		if (!*list)
			return 0;
	}
}

/* --- Rows --- */

/* Whichever of them has an attribute, it is both that it is about. */
#define BOTH_TRIGGERS "start-trigger stop-trigger"
#define ALL_TRIGGERS BOTH_TRIGGERS " long-poll"

/* The help appends the default and the implied value. */
static const struct option_row rows[] = {
	{ .help = "Samples:", .value = "samples" },
	{ "sample-time", 0, TAKES_VALUE, "DURATION",
	  "Length of a sample, more than 0. Without it a single sample of a COMMAND lasts until "
	  "that ends.",
	  .brief = "how long a sample is", .read = read_length, INTO(sample_time), .min = 1,
	  .unit = NSEC_PER_SEC, .preset = "0.5s", .in = SAMPLES },
	{ "sample-count", 0, TAKES_VALUE, "N",
	  "Number of samples; 0: until stopped (default: 1; or 0 if something else ends the run, "
	  "such as --duration).",
	  .brief = "how many samples; 0: until stopped", NUMBER(sample_count, 0, UINT64_MAX - 1),
	  .in = SAMPLES },
	{ "sample-interval", 0, TAKES_VALUE, "DURATION", "Pause between two samples.",
	  DURATION(sample_interval, 0, NSEC_PER_SEC), .preset = "0s",
	  .in = SAMPLES & ~(IN_RECORD_ON | IN_LIVE) },
	{ "at", 0, TAKES_VALUE, "TIME",
	  "Begin at this time of the wall clock, with all programs loaded before: 14:30, 14:30:05, "
	  "2026-11-21T14:30, +5s, or each sample at the next multiple of a period since 1970: "
	  "/10s.",
	  .read = read_at, INTO(at), .in = IN_CLOCKED | IN_LIVE | IN_COMMAND },
	{ "duration", 0, TAKES_VALUE, "DURATION",
	  "End the run after this time (default: no limit).", DURATION(duration, 1, 0),
	  .in = SAMPLES },
	{ "detail", 0, TAKES_VALUE, "DURATION",
	  "Look at where a thread slept, and for which lock, only if that took at least "
	  "this long; shorter sleeps are one row of each list. 0: always, which slows the target's "
	  "switches.",
	  DURATION(detail, 0, 0), .preset = "20us", .in = SAMPLES },
	{ "histogram", 0, TAKES_NONE, NULL,
	  "Show how the durations of runs, of waits for a CPU and of each system call are "
	  "distributed, with percentiles.",
	  FLAG(histogram), .in = SAMPLES },
	{ "interruptions", 0, TAKES_ATTACHED, "DURATION",
	  "List each interruption of a thread that took at least this long, and its causes: "
	  "interrupts, other programs, a quota, page faults. Also show how late softirqs ran.",
	  DURATION(interruptions, 1, 0), .implied = "10us", .in = SAMPLES },
	{ "counters", 0, TAKES_VALUE, "LIST",
	  "Count perf events for each thread, as in cycles,instructions,page-faults: names as in "
	  "perf-list(1), or raw ones (r3c), at most 16. default: " COUNTERS_HELP ".",
	  .read = read_counters, .in = SAMPLES },
	{ "per-cpu", 0, TAKES_NONE, NULL, "Count them for each CPU that a thread ran on.",
	  FLAG(counters.per_cpu), .in = SAMPLES, .of = "counters", .needs = "counters",
	  .why = "give a list of events, as in --counters=default,per-cpu" },
	{ "resources", 0, TAKES_NONE, NULL,
	  "Show what threads and processes use: CPU time, memory, bytes read and written by the "
	  "kind of descriptor, requests to disks, what TCP sent again, forks and execs.",
	  FLAG(resources), .in = SAMPLES },

	{ .help = "Recording: slow system calls, waits, running code, and their stacks:",
	  .value = "recording" },
	{ "syscall-events", 's', TAKES_FOLLOWING, "NS",
	  "List the system calls that took at least this long: a number of nanoseconds, or a "
	  "number with a unit; 0: all of them. NS may follow after a space.",
	  .brief = "list slow system calls, with stacks", .read = read_events, INTO(call_threshold),
	  .unit = 1, .implied = "0", .in = SAMPLES },
	{ "skip-syscall-poll-events", 0, TAKES_NONE, NULL,
	  "Leave poll, select, epoll_wait and their variants out of that list.", FLAG(skip_polls),
	  .in = SAMPLES },
	{ "syscall-filter", 'e', TAKES_VALUE, "LIST",
	  "List only these system calls, and waits in them, as in futex,recvmsg, or all but these, "
	  "as in '!poll,futex': names, patterns or numbers.",
	  .read = read_calls, .words = WORDS_CALLS, .in = SAMPLES,
	  .needs = "syscall-events off-cpu", .why = "give --syscall-events, or -s, as well" },
	{ "off-cpu", 0, TAKES_VALUE, "DURATION",
	  "List the waits, asleep or for a CPU, that lasted at least this long.",
	  .brief = "list long waits, with stacks", DURATION(off_cpu, 1, 0), .in = SAMPLES },
	{ "wakers", 0, TAKES_NONE, NULL,
	  "Where a thread of another process ended a wait, also show who had woken that thread, as "
	  "is always shown for the process's own. This slows every wake-up on the machine a "
	  "little.",
	  FLAG(all_wakers), .in = SAMPLES, .of = "off-cpu", .needs = "off-cpu",
	  .why = "give a duration, as in --off-cpu=1ms,wakers" },
	{ "wait-filter", 0, TAKES_VALUE, "LIST",
	  "List only these waits, as in lock,disk,ready_*, or all but these: states, or what the "
	  "thread waited for. A line says how many were left out; '*' lists all.",
	  .read = read_waits, INTO(waits), .preset = "!work,timer", .words = WORDS_WAITS,
	  .in = SAMPLES, .needs = "off-cpu", .why = "give --off-cpu as well, as in --off-cpu=1ms" },
	{ "profile", 0, TAKES_FOLLOWING, "HZ",
	  "Sample what the threads are running, this many times per second of CPU time. HZ may "
	  "follow after a space.",
	  NUMBER(profile_hz, 1, PROFILE_MAX), .implied = "49", .in = SAMPLES },
	{ "record", 0, TAKES_ATTACHED, "DURATION",
	  "Record what the threads do, who wakes them and who has their CPUs, all the time, so "
	  "that each sample has what happened before it, this long: for its critical path and "
	  "for -o perfetto. The first sample begins when that is recorded. SIGUSR1 asks for a "
	  "report at once.",
	  .brief = "record what happened before a sample, too", DURATION(record, 1, 0),
	  .implied = "5s", .in = SAMPLES },
	{ "record-memory", 0, TAKES_VALUE, "SIZE",
	  "Memory for what is recorded, also with K, M or G, at most 4G. What is older is "
	  "overwritten; the report says how long it held.",
	  .read = read_memory, INTO(record_memory), .preset = "32M", .in = SAMPLES, .of = "record",
	  .attribute = "memory" },
	{ "record-on", 0, TAKES_VALUE, "EXPR",
	  "Record until EXPR, a condition as of --fail-if, is true of the last 100 ms (or "
	  "--sample-time), and report that then; signal: report only what SIGUSR1 asks for.",
	  .read = read_text, INTO(record_on), .words = WORDS_CONDITIONS,
	  .in = IN_CLOCKED | IN_RECORD_ON | IN_COMMAND },
	{ "stack-trace-size", 0, TAKES_VALUE, "N",
	  "Number of different stacks to keep; 0: no stacks.", NUMBER(stacks, 0, STACKS_MAX),
	  .preset = "4096", .in = SAMPLES },
	{ "user-stack-bytes", 0, TAKES_VALUE, "BYTES",
	  "How much of each user stack to copy, up to 128K; 0: no user stacks.", .read = read_bytes,
	  INTO(stack_bytes), .max = KD_STACK_MAX, .preset = "128K", .in = SAMPLES,
	  .of = "stack-trace-size", .attribute = "user-bytes" },
	{ "stack-overhead", 0, TAKES_VALUE, "PERCENT",
	  "Spend at most this percentage of each CPU's time on copying user stacks; 0: no limit.",
	  .read = read_percent, INTO(stack_share), .preset = "1", .in = SAMPLES,
	  .of = "stack-trace-size", .attribute = "overhead" },
	{ "buffer-page-count", 0, TAKES_VALUE, "N",
	  "Size of the buffer between the kernel and this program, in pages of 4096 bytes, rounded "
	  "up to a power of two.",
	  NUMBER(buffer_pages, 1, PAGES_MAX), .preset = "1024", .in = SAMPLES },

	{ .help = "Triggers:", .value = "triggers" },
	{ "start-trigger", 0, TAKES_VALUE, "TRIGGER", "Start a sample when TRIGGER is hit.",
	  .brief = "begin a sample when this probe is hit", .read = read_trigger,
	  INTO(triggers[KD_START]), .words = WORDS_TRIGGERS,
	  .in = IN_ONE | IN_PAIR | IN_CHECK | IN_COMMAND },
	{ "stop-trigger", 0, TAKES_VALUE, "TRIGGER",
	  "Stop the sample when TRIGGER is hit (default: after the sample time).",
	  .brief = "end it when this one is", .read = read_trigger, INTO(triggers[KD_STOP]),
	  .words = WORDS_TRIGGERS, .in = IN_ONE | IN_PAIR | IN_CHECK | IN_COMMAND },
	{ "trigger-same-thread", 0, TAKES_NONE, NULL,
	  "Pair starts and stops by thread: a stop counts only on the thread that hit the start.",
	  FLAG(same_thread), .in = PAIRS | IN_CHECK, .of = BOTH_TRIGGERS,
	  .attribute = "same-thread" },
	{ "trigger-target-only", 0, TAKES_NONE, NULL,
	  "Count hits of kernel probes only if the target makes them.", FLAG(target_only),
	  .in = TRIGGERED | IN_CHECK, .of = ALL_TRIGGERS, .attribute = "target-only" },
	{ "trigger-any", 0, TAKES_NONE, NULL,
	  "Count hits of system call tracepoints (t:syscalls:...) by any process.", FLAG(any),
	  .in = IN_ONE | IN_PAIR | IN_CHECK | IN_COMMAND, .of = BOTH_TRIGGERS, .attribute = "any",
	  .not_with = "trigger-target-only",
	  .why = "without either, system calls count for the process only, other probes of the "
		 "kernel for any process" },
	{ "unsafe-returns", 0, TAKES_NONE, NULL,
	  "Use return probes even where they may kill the process: on functions of Go, and on "
	  "functions that an exception may pass through.",
	  FLAG(unsafe_returns), .in = IN_ONE | IN_PAIR | IN_CHECK | IN_COMMAND,
	  .of = BOTH_TRIGGERS },
	{ "window-banks", 0, TAKES_VALUE, "N",
	  "How many samples may be open (several only with same-thread) or waiting to be read, 2 "
	  "to "
	  "7.",
	  NUMBER(window_banks, 2, KD_MAX_BANKS), .preset = "4", .in = TRIGGERED, .of = ALL_TRIGGERS,
	  .attribute = "banks" },
	{ "trigger-delta", 0, TAKES_FOLLOWING, "NS[,GLOB:NS...]",
	  "With both triggers: skip samples shorter than this, a number of nanoseconds or a number "
	  "with a unit; those that threads end whose names match a GLOB by its own. It may follow "
	  "after a space.",
	  .brief = "only samples that last at least this long", .read = read_deltas,
	  INTO(trigger_deltas), .implied = "0", .in = SAMPLES | IN_CHECK },
	{ "trigger-worst", 0, TAKES_VALUE, "N",
	  "Print only the N longest samples, when the run ends (default: each as it comes). Needs "
	  "--duration, --sample-count or a COMMAND.",
	  NUMBER(trigger_worst, 1, KD_LONGEST), .in = PAIRS, .of = "trigger-delta long-poll",
	  .attribute = "worst", .not_with = "listen",
	  .why = "it serves samples as they are taken" },
	{ "long-poll", 0, TAKES_FOLLOWING, "DURATION",
	  "Sample from a thread's return from poll, select or epoll_wait (or ppoll, pselect6, "
	  "epoll_pwait) to its next such call, if that takes DURATION or longer.",
	  DURATION(long_poll, 1, 0), .implied = "1s", .in = IN_LONG_POLL | IN_CHECK | IN_COMMAND },
	{ "max-overhead", 0, TAKES_VALUE, "PCT[,stop]",
	  "Remove the probes part of the time if they would cost a thread more than this "
	  "percentage of its CPU time; with ',stop' end the run instead; 0: no limit.",
	  .read = read_overhead, INTO(max_overhead), .max = 100, .preset = "10", .in = TRIGGERED },
	{ "verbose", 'v', TAKES_NONE, NULL,
	  "Also print three lines for each skipped sample, and how often attaching interrupts "
	  "other CPUs.",
	  FLAG(verbose), .in = SAMPLES },
	{ "list-probes", 0, TAKES_ATTACHED, "GLOB",
	  "List what can be a trigger for this process, or only what matches GLOB, and exit.",
	  .read = read_listing, .words = WORDS_TRIGGERS, .in = IN_LIST_PROBES | IN_COMMAND },
	{ "check", 0, TAKES_NONE, NULL,
	  "Show where the triggers' probes would be set and what a hit costs, and exit.",
	  FLAG(check), .in = TRIGGERED | IN_CHECK },
};

OPTION_GROUP(options_of_samples, rows);
