/* SPDX-License-Identifier: Apache-2.0 */
/* One table describes the options: argp formats the help from it and
 * getopt_long reads the command line by it (argp itself would not tell which
 * argument was wrong). */
#include "options.h"

#include <argp.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../bpf/kernel_delay.h"
#include "clock.h"
#include "exit_status.h"
#include "log.h"
#include "parse.h"

#ifndef KERNEL_DELAY_VERSION
#define KERNEL_DELAY_VERSION "(unversioned build)"
#endif

#define PROGRAM "kernel_delay"
#define DEBUG_DEFAULT 0x3f /* as kernel_delay.py */
#define SAMPLE_TIME_DEFAULT (NSEC_PER_SEC / 2)
#define OVERHEAD_DEFAULT 10
#define BANKS_DEFAULT 4
#define COUNT_UNSET UINT64_MAX
#define WORST_MAX 1000 /* samples kept in memory */
#define DURATION_MAX (365 * 24 * 3600 * NSEC_PER_SEC)

/* Options without a letter. */
enum {
	OPT_SAMPLE_TIME = 256,
	OPT_SAMPLE_COUNT,
	OPT_SAMPLE_INTERVAL,
	OPT_DURATION,
	OPT_START_TRIGGER,
	OPT_STOP_TRIGGER,
	OPT_TRIGGER_DELTA,
	OPT_TRIGGER_SAME_THREAD,
	OPT_TRIGGER_TARGET_ONLY,
	OPT_TRIGGER_WORST,
	OPT_LONG_POLL,
	OPT_MAX_OVERHEAD,
	OPT_WINDOW_BANKS,
	OPT_LIST_PROBES,
	OPT_CHECK,
	OPT_SKIP_UPCALL_STATS,
	OPT_BTF,
	OPT_STRICT,
	OPT_USAGE,
};

/* argp puts --help and --version into group -1, the last one, by itself. */
enum group { GROUP_HELP = -1, GROUP_TARGET = 1, GROUP_SAMPLES, GROUP_TRIGGERS, GROUP_RUN };

static const struct argp_option table[] = {
	{ .doc = "Target:", .group = GROUP_TARGET },
	{ "pid", 'p', "PID", 0, "Watch the process PID.", GROUP_TARGET },
	{ "comm", 'C', "NAME", 0,
	  "Watch the one process of this name (default: the one running ovs-vswitchd, else the one "
	  "running vpp_main or vpp).",
	  GROUP_TARGET },

	{ .doc = "Samples:", .group = GROUP_SAMPLES },
	{ "sample-time", OPT_SAMPLE_TIME, "DURATION", 0,
	  "Length of a sample, more than 0 (default: 0.5s).", GROUP_SAMPLES },
	{ "sample-count", OPT_SAMPLE_COUNT, "N", 0,
	  "Number of samples; 0: until stopped (default: 1).", GROUP_SAMPLES },
	{ "sample-interval", OPT_SAMPLE_INTERVAL, "DURATION", 0,
	  "Pause between two samples (default: 0s).", GROUP_SAMPLES },

	{ "duration", OPT_DURATION, "DURATION", 0,
	  "End the whole run after this time (default: no limit).", GROUP_SAMPLES },

	{ .doc = "Triggers:", .group = GROUP_TRIGGERS },
	{ "start-trigger", OPT_START_TRIGGER, "TRIGGER", 0, "Start a sample when TRIGGER is hit.",
	  GROUP_TRIGGERS },
	{ "stop-trigger", OPT_STOP_TRIGGER, "TRIGGER", 0,
	  "Stop the sample when TRIGGER is hit (default: after the sample time).", GROUP_TRIGGERS },
	{ "trigger-delta", OPT_TRIGGER_DELTA, "NS", OPTION_ARG_OPTIONAL,
	  "Skip samples from start to stop trigger that are shorter; a number of ns, or with a "
	  "unit. NS may follow a space (default: 0).",
	  GROUP_TRIGGERS },
	{ "trigger-same-thread", OPT_TRIGGER_SAME_THREAD, NULL, 0,
	  "A stop counts only on the thread that hit the start; each thread's pairs are measured.",
	  GROUP_TRIGGERS },
	{ "trigger-target-only", OPT_TRIGGER_TARGET_ONLY, NULL, 0,
	  "Kernel probes, too, count only when the process hits them.", GROUP_TRIGGERS },
	{ "trigger-worst", OPT_TRIGGER_WORST, "N", 0,
	  "Of the samples between start and stop trigger print the N longest, at the end "
	  "(default: each as it comes). Needs --duration or --sample-count.",
	  GROUP_TRIGGERS },
	{ "long-poll", OPT_LONG_POLL, "DURATION", OPTION_ARG_OPTIONAL,
	  "Sample from a thread's return from poll, select or epoll_wait (ppoll, pselect6, "
	  "epoll_pwait too) to its next such call, if that takes DURATION or longer (default: "
	  "1s).",
	  GROUP_TRIGGERS },
	{ "max-overhead", OPT_MAX_OVERHEAD, "PERCENT", 0,
	  "Give up when probes take more of a thread's time; 0: never (default: 10).",
	  GROUP_TRIGGERS },
	{ "window-banks", OPT_WINDOW_BANKS, "N", 0,
	  "Samples that may wait to be read while the next ones are taken, 2 to 7 (default: 4).",
	  GROUP_TRIGGERS },
	{ "verbose", 'v', NULL, 0, "Print three lines for each skipped sample, too.",
	  GROUP_TRIGGERS },
	{ "list-probes", OPT_LIST_PROBES, "GLOB", OPTION_ARG_OPTIONAL,
	  "List what can be a trigger for the process, or of that what GLOB matches.",
	  GROUP_TRIGGERS },
	{ "check", OPT_CHECK, NULL, 0, "Say where the triggers' probes would be, and end.",
	  GROUP_TRIGGERS },

	{ .doc = "Run:", .group = GROUP_RUN },
	{ "skip-upcall-stats", OPT_SKIP_UPCALL_STATS, NULL, 0,
	  "Do not count the upcalls of openvswitch.", GROUP_RUN },
	{ "btf", OPT_BTF, "FILE", 0,
	  "Take the kernel's types from FILE (default: /sys/kernel/btf/vmlinux).", GROUP_RUN },
	{ "strict", OPT_STRICT, NULL, 0, "Exit with status 1 if anything was lost.", GROUP_RUN },
	{ "debug", 'D', "N", OPTION_ARG_OPTIONAL,
	  "Print the messages of libbpf and of the kernel's verifier. N may follow a space; 0: do "
	  "not print them (default: 0; without N: 63).",
	  GROUP_RUN },

	{ .doc = "Help:", .group = GROUP_HELP },
	{ "help", 'h', NULL, 0, "Print this help (-? too).", GROUP_HELP },
	{ "usage", OPT_USAGE, NULL, 0, "Print a short usage message.", GROUP_HELP },
	{ "version", 'V', NULL, 0, "Print the version.", GROUP_HELP },
	{ 0 },
};
#define TABLE_LEN (sizeof(table) / sizeof(table[0]))

static const struct argp help = {
	.options = table,
	.doc = "Show where each thread of a running process spends its time, and which of it is "
	       "the kernel's doing.\v"
	       "DURATION is a number of seconds, or a number directly followed by ns, us, ms, s "
	       "or min: 0.5, 250ms, 2min. The longest is 365 days.\n\n"
	       "TRIGGER is one of\n"
	       "  u:[OBJECT:]PROVIDER:PROBE      USDT probe (also usdt:)\n"
	       "  up:[OBJECT:]FUNCTION[+OFFSET]  function of the process (uprobe:)\n"
	       "  up:[OBJECT:]0xADDR             address as in OBJECT's symbol table\n"
	       "  ur:[OBJECT:]FUNCTION           its return (upr:, uretprobe:)\n"
	       "  ur:[OBJECT:]0xADDR             its return\n"
	       "  t:SYSTEM:EVENT                 kernel tracepoint (trace:)\n"
	       "  k:FUNCTION[+OFFSET]            function of the kernel (kprobe:)\n"
	       "  kr:FUNCTION                    its return (kretprobe:)\n"
	       "OBJECT is a file that the process has mapped, by path or soname (default: its "
	       "executable). Names may be patterns: all that match are one trigger.\n\n"
	       "SIGINT and SIGTERM end the sample and print it; a second one quits at once.\n\n"
	       "Exit status: 0 success, 1 losses with --strict, 64 wrong command line, 66 several "
	       "processes fit, 69 no such process, 71 refused by the kernel, 72 no BTF, 74 output "
	       "error, 75 no trigger within the duration, or too costly ones, 77 not permitted, "
	       "78 wrong trigger.",
};

/* Ends the process after something was printed on stdout. */
static _Noreturn void finish_output(void)
{
	errno = 0;
	if (fflush(stdout) || ferror(stdout)) {
		log_error("cannot write to standard output: %s", strerror(errno ? errno : EIO));
		exit(EX_IOERR);
	}
	exit(EX_OK);
}

static _Noreturn void print_help(unsigned int parts)
{
	signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error to report */
	argp_help(&help, stdout, parts, (char[]){ PROGRAM });
	finish_output();
}

static _Noreturn void print_version(void)
{
	signal(SIGPIPE, SIG_IGN);
	puts(PROGRAM " " KERNEL_DELAY_VERSION);
	finish_output();
}

static int see_help(void)
{
	log_hint("`" PROGRAM " --help` lists the options");
	return EX_USAGE;
}

/* The two tables of getopt_long. */
static void make_getopt_tables(struct option longs[TABLE_LEN], char shorts[3 * TABLE_LEN + 3])
{
	/* Report a stray argument where it stands; be silent; tell what is missing. */
	*shorts++ = '-';
	*shorts++ = ':';

	for (size_t i = 0; i < TABLE_LEN; i++) {
		const struct argp_option *entry = &table[i];
		int colons = !entry->arg ? 0 : entry->flags & OPTION_ARG_OPTIONAL ? 2 : 1;

		if (!entry->name)
			continue;
		*longs++ = (struct option){ entry->name, colons, NULL, entry->key };
		if (entry->key >= 256)
			continue;
		*shorts++ = (char)entry->key;
		for (int colon = 0; colon < colons; colon++)
			*shorts++ = ':';
	}
	*longs = (struct option){ 0 };
	*shorts = '\0';
}

static const struct argp_option *find_option(int key)
{
	for (size_t i = 0; i < TABLE_LEN; i++) {
		if (table[i].name && table[i].key == key)
			return &table[i];
	}
	return NULL;
}

/* What getopt_long answered with '?', which for a long option is the argument
 * before the next one. */
static int refuse_option(int key, const char *argument)
{
	const struct argp_option *option = find_option(key);
	size_t length, similar = 0;

	if (key == '?') /* which it does not know as an option */
		print_help(ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC);
	if (option) {
		log_error("option --%s takes no value: '%s'", option->name, argument);
		return see_help();
	}
	if (key) {
		log_error("unknown option -%c", key);
		return see_help();
	}
	length = strcspn(argument, "=");
	for (size_t i = 0; i < TABLE_LEN && length > 2; i++)
		similar += table[i].name && !strncmp(table[i].name, argument + 2, length - 2);
	log_error("%s option %.*s", similar > 1 ? "ambiguous" : "unknown", (int)length, argument);
	return see_help();
}

static int read_number(const char *option, const char *text, uint64_t min, uint64_t max,
		       uint64_t *number)
{
	int error = parse_u64(text, min, max, number);

	if (!error)
		return 0;
	log_error("option --%s: '%s' is %s", option, text,
		  error == -ERANGE ? "out of range" : "no whole number");
	log_hint("give a number from %llu to %llu", (unsigned long long)min,
		 (unsigned long long)max);
	return EX_USAGE;
}

/* bare: what a number without a unit counts, in ns */
static int read_duration(const char *option, const char *text, uint64_t bare, uint64_t min,
			 uint64_t *ns)
{
	uint64_t duration = 0;
	int error = parse_duration(text, bare, DURATION_MAX, &duration);

	if (!error && duration >= min) {
		*ns = duration;
		return 0;
	}
	if (error == -EINVAL) {
		log_error("option --%s: '%s' is no duration", option, text);
		log_hint("give a number of %s, or one with ns, us, ms, s or min: 0.5s, 250ms",
			 bare == 1 ? "nanoseconds" : "seconds");
	} else {
		log_error("option --%s: '%s' is too %s", option, text, error ? "long" : "short");
		log_hint(error ? "give at most 365 days: 525600min" : "give at least 1ns");
	}
	return EX_USAGE;
}

/* A thread name, as long as the kernel keeps them. */
static int read_name(const char *option, const char *text, const char **name)
{
	if (!*text) {
		log_error("option --%s: the name is empty", option);
		log_hint("give the name of a process, as in /proc/PID/comm");
		return EX_USAGE;
	}
	if (strlen(text) >= KD_COMM_LEN) {
		log_error("option --%s: '%s' is too long", option, text);
		log_hint("thread names have at most %d bytes: give the name as in /proc/PID/comm",
			 KD_COMM_LEN - 1);
		return EX_USAGE;
	}
	*name = text;
	return 0;
}

static int read_trigger(const char *option, const char *text, const char **trigger)
{
	if (*trigger) {
		log_error("option --%s is given twice", option);
		log_hint("give one; a pattern such as up:handle_* stands for several functions");
		return EX_USAGE;
	}
	*trigger = text;
	return 0;
}

static int read_file(const char *option, const char *text, const char **file)
{
	if (!*text) {
		log_error("option --%s: the file name is empty", option);
		return see_help();
	}
	*file = text;
	return 0;
}

/* One of the triggers' options; text is its value, NULL if it has none. */
static int read_trigger_option(int key, const char *name, const char *text, struct options *options)
{
	uint64_t number = 0;
	int status = 0;

	switch (key) {
	case OPT_START_TRIGGER:
		return read_trigger(name, text, &options->triggers[KD_START]);
	case OPT_STOP_TRIGGER:
		return read_trigger(name, text, &options->triggers[KD_STOP]);
	case OPT_TRIGGER_DELTA:
		return text ? read_duration(name, text, 1, 0, &options->trigger_delta) : 0;
	case OPT_TRIGGER_SAME_THREAD:
		options->same_thread = true;
		return 0;
	case OPT_TRIGGER_TARGET_ONLY:
		options->target_only = true;
		return 0;
	case OPT_TRIGGER_WORST:
		return read_number(name, text, 1, WORST_MAX, &options->trigger_worst);
	case OPT_LONG_POLL:
		return read_duration(name, text ? text : "1s", NSEC_PER_SEC, 1,
				     &options->long_poll);
	case OPT_MAX_OVERHEAD:
		return read_number(name, text, 0, 100, &options->max_overhead);
	case OPT_WINDOW_BANKS:
		status = read_number(name, text, 2, KD_MAX_BANKS, &number);
		options->window_banks = (unsigned int)number;
		return status;
	case 'v':
		options->verbose = true;
		return 0;
	case OPT_LIST_PROBES:
		options->list_probes = true;
		options->list_glob = text;
		return 0;
	case OPT_CHECK:
		options->check = true;
		return 0;
	}
	return EX_USAGE; /* an option of the table that is read nowhere */
}

/* One option; text is its value, NULL if it has none. */
static int read_option(int key, const char *text, struct options *options)
{
	const char *name = find_option(key)->name;
	uint64_t number = 0;
	int status = 0;

	switch (key) {
	case 'p':
		status = read_number(name, text, 1, INT32_MAX, &number);
		options->pid = (pid_t)number;
		return status;
	case 'C':
		return read_name(name, text, &options->comm);
	case OPT_SAMPLE_TIME:
		return read_duration(name, text, NSEC_PER_SEC, 1, &options->sample_time);
	case OPT_SAMPLE_COUNT:
		return read_number(name, text, 0, COUNT_UNSET - 1, &options->sample_count);
	case OPT_SAMPLE_INTERVAL:
		return read_duration(name, text, NSEC_PER_SEC, 0, &options->sample_interval);
	case OPT_DURATION:
		return read_duration(name, text, NSEC_PER_SEC, 1, &options->duration);
	case OPT_SKIP_UPCALL_STATS:
		options->skip_upcall_stats = true;
		return 0;
	case OPT_BTF:
		return read_file(name, text, &options->btf_file);
	case OPT_STRICT:
		options->strict = true;
		return 0;
	case 'D':
		number = DEBUG_DEFAULT;
		if (text)
			status = read_number(name, text, 0, INT32_MAX, &number);
		options->debug = (unsigned int)number;
		return status;
	case 'h':
		print_help(ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC);
	case OPT_USAGE:
		print_help(ARGP_HELP_USAGE);
	case 'V':
		print_version();
	}
	return read_trigger_option(key, name, text, options);
}

/* An optional value may also be the next argument, if that begins with a digit. */
static char *following_value(int key, char **argv)
{
	const char *next = argv[optind];

	if (!(find_option(key)->flags & OPTION_ARG_OPTIONAL))
		return NULL;
	return next && *next >= '0' && *next <= '9' ? argv[optind++] : NULL;
}

static int refuse_argument(const char *argument)
{
	log_error("unexpected argument '%s'", argument);
	return see_help();
}

static int read_all(int argc, char **argv, struct options *options)
{
	struct option longs[TABLE_LEN];
	char shorts[3 * TABLE_LEN + 3];
	int key, status = 0;

	make_getopt_tables(longs, shorts);
	optind = 0; /* glibc: from the beginning */
	while (!status && (key = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		switch (key) {
		case 1:
			return refuse_argument(optarg);
		case '?':
			return refuse_option(optopt, argv[optind - 1]);
		case ':':
			log_error("option --%s needs a value", find_option(optopt)->name);
			return see_help();
		}
		if (!optarg)
			optarg = following_value(key, argv);
		status = read_option(key, optarg, options);
	}
	if (!status && optind < argc)
		return refuse_argument(argv[optind]);
	return status;
}

/* Options that do not fit together, and what to do. */
static int refuse_together(const char *error, const char *hint)
{
	log_error("%s", error);
	log_hint("%s", hint);
	return EX_USAGE;
}

static int check_triggers(const struct options *options)
{
	bool start = options->triggers[KD_START], stop = options->triggers[KD_STOP];
	bool pairs = (start && stop) || options->long_poll;

	if (options->long_poll && (start || stop))
		return refuse_together("options --long-poll and --start-trigger or --stop-trigger "
				       "exclude each other",
				       "--long-poll is a pair of triggers by itself");
	if (options->same_thread && !pairs)
		return refuse_together("option --trigger-same-thread needs two triggers",
				       "give --start-trigger and --stop-trigger");
	if (options->target_only && !pairs && !start && !stop)
		return refuse_together("option --trigger-target-only needs a trigger",
				       "give --start-trigger, --stop-trigger or both");
	if (options->trigger_worst && !pairs)
		return refuse_together("option --trigger-worst needs two triggers",
				       "give --start-trigger and --stop-trigger");
	if (options->trigger_worst && !options->sample_count && options->duration == UINT64_MAX)
		return refuse_together("option --trigger-worst needs an end of the run",
				       "give --duration, or --sample-count for so many samples");
	if (options->check && !pairs && !start && !stop)
		return refuse_together("option --check needs a trigger to check",
				       "give --start-trigger, --stop-trigger or both");
	if (options->trigger_delta && !pairs)
		log_warn("--trigger-delta has no effect without both triggers");
	return 0;
}

int options_parse(int argc, char **argv, struct options *options)
{
	int status;

	*options = (struct options){
		.sample_time = SAMPLE_TIME_DEFAULT,
		.sample_count = COUNT_UNSET,
		.duration = UINT64_MAX,
		.max_overhead = OVERHEAD_DEFAULT,
		.window_banks = BANKS_DEFAULT,
	};
	status = read_all(argc, argv, options);
	if (status)
		return status;
	/* The worst of one is no choice. */
	if (options->sample_count == COUNT_UNSET)
		options->sample_count = options->trigger_worst ? 0 : 1;
	if (options->pid && options->comm)
		return refuse_together("options --pid and --comm exclude each other",
				       "give one of them");
	return check_triggers(options);
}
