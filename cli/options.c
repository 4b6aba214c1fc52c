/* SPDX-License-Identifier: Apache-2.0 */
/* One table (options_table) describes the options: argp formats the help from it and
 * getopt_long reads the command line by it (argp itself would not tell which
 * argument was wrong). */
#include "options.h"

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
#include "options_outputs.h"
#include "options_read.h"
#include "options_table.h"

#ifndef KERNEL_DELAY_VERSION
#define KERNEL_DELAY_VERSION "(unversioned build)"
#endif

#define DEBUG_DEFAULT 0x3f /* as kernel_delay.py */
#define SAMPLE_TIME_DEFAULT (NSEC_PER_SEC / 2)
#define OVERHEAD_DEFAULT 10
#define BANKS_DEFAULT 4
#define COUNT_UNSET UINT64_MAX
#define WORST_MAX 1000 /* samples kept in memory */
#define PAGES_DEFAULT 1024
#define PAGES_MAX (1 << 18) /* 1 GB */
#define STACKS_DEFAULT 4096
#define STACKS_MAX 1000000
#define STACK_RATE_DEFAULT 500
#define STACK_RATE_MAX 1000000
#define PROFILE_DEFAULT 49 /* in step with nothing that the kernel does regularly */
#define PROFILE_MAX 10000

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
	argp_help(&options_help, stdout, parts, (char[]){ PROGRAM });
	finish_output();
}

static _Noreturn void print_version(void)
{
	signal(SIGPIPE, SIG_IGN);
	puts(PROGRAM " " KERNEL_DELAY_VERSION);
	finish_output();
}

const char *options_version(void)
{
	return KERNEL_DELAY_VERSION;
}

/* The two tables of getopt_long. */
static void make_getopt_tables(struct option longs[OPTIONS_TABLE_ROOM],
			       char shorts[3 * OPTIONS_TABLE_ROOM + 3])
{
	/* Report a stray argument where it stands; be silent; tell what is missing. */
	*shorts++ = '-';
	*shorts++ = ':';

	for (size_t i = 0; i < options_table_length(); i++) {
		const struct argp_option *entry = &options_table[i];
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

/* What getopt_long answered with '?', which for a long option is the argument
 * before the next one. */
static int refuse_option(int key, const char *argument)
{
	const struct argp_option *option = options_table_find(key);
	size_t length, similar = 0;

	if (key == '?') /* which it does not know as an option */
		print_help(ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC);
	if (option) {
		log_error("option --%s takes no value: '%s'", option->name, argument);
		return options_see_help();
	}
	if (key) {
		log_error("unknown option -%c", key);
		return options_see_help();
	}
	length = strcspn(argument, "=");
	for (size_t i = 0; i < options_table_length() && length > 2; i++)
		similar += options_table[i].name &&
			   !strncmp(options_table[i].name, argument + 2, length - 2);
	log_error("%s option %.*s", similar > 1 ? "ambiguous" : "unknown", (int)length, argument);
	return options_see_help();
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

/* One of the options about outputs. */
static int read_output_option(int key, const char *name, const char *text, struct options *options)
{
	switch (key) {
	case 'o':
		return read_output(name, text, options);
	case OPT_OUTPUT_MODE:
		return read_mode(name, text, &options->output_mode);
	case OPT_OUTPUT_LIMIT:
		return read_size(name, text, &options->output_limit);
	case OPT_QUIET:
		options->quiet = true;
		return 0;
	case OPT_FAIL_IF:
		return read_fail_if(name, text, options);
	case OPT_REPLAY:
		return read_file(name, text, &options->replay);
	case OPT_PER_THREAD:
		options->per_thread = true;
		return 0;
	case OPT_FOLD_NAMES:
		options->fold_names = true;
		return 0;
	case OPT_MAX_SYSCALLS:
		return read_number(name, text, 0, UINT32_MAX, &options->max_syscalls);
	case OPT_TIMESTAMPS:
		options->timestamps = true;
		return 0;
	case OPT_LIST_METRICS:
		options->list_metrics = true;
		return 0;
	case OPT_LISTEN:
		return read_listen(name, text, options);
	}
	return read_trigger_option(key, name, text, options);
}

/* One of the options about system calls, waits, running code and stacks. */
static int read_stack_option(int key, const char *name, const char *text, struct options *options)
{
	uint64_t number = PROFILE_DEFAULT;
	int status = 0;

	switch (key) {
	case 's':
		options->call_events = true;
		options->call_threshold = 0;
		return text ? read_duration(name, text, 1, 0, &options->call_threshold) : 0;
	case OPT_SKIP_POLL_EVENTS:
		options->skip_polls = true;
		return 0;
	case 'e':
		return read_calls(name, text, options);
	case OPT_OFF_CPU:
		return read_duration(name, text, NSEC_PER_SEC, 1, &options->off_cpu);
	case OPT_PROFILE:
		if (text)
			status = read_number(name, text, 1, PROFILE_MAX, &number);
		options->profile_hz = (unsigned int)number;
		return status;
	case OPT_STACK_TRACE_SIZE:
		return read_number(name, text, 0, STACKS_MAX, &options->stacks);
	case OPT_USER_STACK_BYTES:
		return read_bytes(name, text, KD_STACK_MAX, &options->stack_bytes);
	case OPT_STACK_RATE:
		return read_number(name, text, 0, STACK_RATE_MAX, &options->stack_rate);
	case OPT_BUFFER_PAGE_COUNT:
		return read_number(name, text, 1, PAGES_MAX, &options->buffer_pages);
	}
	return read_output_option(key, name, text, options);
}

/* One option; text is its value, NULL if it has none. */
static int read_option(int key, const char *text, struct options *options)
{
	const char *name = options_table_find(key)->name;
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
	case OPT_HISTOGRAM:
		options->histogram = true;
		return 0;
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
	return read_stack_option(key, name, text, options);
}

/* An optional value may also be the next argument, if that begins with a digit. */
static char *following_value(int key, char **argv)
{
	const char *next = argv[optind];

	if (!(options_table_find(key)->flags & OPTION_ARG_OPTIONAL))
		return NULL;
	return next && *next >= '0' && *next <= '9' ? argv[optind++] : NULL;
}

static int refuse_argument(const char *argument)
{
	log_error("unexpected argument '%s'", argument);
	return options_see_help();
}

static int read_all(int argc, char **argv, struct options *options)
{
	struct option longs[OPTIONS_TABLE_ROOM];
	char shorts[3 * OPTIONS_TABLE_ROOM + 3];
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
			log_error("option --%s needs a value", options_table_find(optopt)->name);
			return options_see_help();
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
	if (options->trigger_delta && !pairs && !options->quiet)
		log_warn("--trigger-delta has no effect without both triggers");
	return 0;
}

/* A copy has whole pages, and the buffer has room for one while another is read. */
static void round_sizes(struct options *options)
{
	uint64_t pages = 1, least;

	options->stack_bytes = (options->stack_bytes + KD_STACK_PAGE - 1) / KD_STACK_PAGE;
	options->stack_bytes *= KD_STACK_PAGE;
	least = 2 * (options->stack_bytes + sizeof(struct kd_trace)) / BUFFER_PAGE + 1;
	while (pages < options->buffer_pages || pages < least)
		pages *= 2;
	options->buffer_pages = pages;
}

static int check_traces(struct options *options)
{
	if (options->calls_chosen && !options->call_events)
		return refuse_together("option --syscall-filter needs --syscall-events",
				       "give --syscall-events, or -s, as well");
	if (options->skip_polls) {
		syscall_set_remove_polls(&options->calls);
		options->calls_chosen = true;
	}
	if (syscall_set_is_empty(&options->calls))
		return refuse_together("no system call is left to list",
				       "give --syscall-filter other ones");
	round_sizes(options);
	return 0;
}

static bool has_output(const struct options *options, enum output_format format)
{
	for (size_t i = 0; i < options->n_outputs; i++)
		if (options->outputs[i].format == format)
			return true;
	return false;
}

static int check_outputs(const struct options *options)
{
	bool triggers = options->triggers[KD_START] || options->triggers[KD_STOP];

	if (options->listen && (options->replay || options->trigger_worst))
		return refuse_together("option --listen serves samples as they are taken",
				       "give it without --replay and --trigger-worst");
	if (options->replay && (options->pid || options->comm || triggers || options->long_poll ||
				options->histogram || options_want_traces(options)))
		return refuse_together("option --replay does not look at any process",
				       "give options about outputs only");
	if (has_output(options, OUTPUT_FOLDED) && !options->replay && !options_want_traces(options))
		return refuse_together("option --output folded needs something that has stacks",
				       "give --syscall-events, --off-cpu or --profile");
	return 0;
}

bool options_want_traces(const struct options *options)
{
	return options->call_events || options->off_cpu || options->profile_hz;
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
		.buffer_pages = PAGES_DEFAULT,
		.stacks = STACKS_DEFAULT,
		.stack_bytes = KD_STACK_MAX,
		.stack_rate = STACK_RATE_DEFAULT,
		.output_mode = 0600,
	};
	syscall_set_fill(&options->calls);
	status = read_all(argc, argv, options);
	if (status)
		return status;
	/* The worst of one is no choice; and one sample is soon served. */
	if (options->sample_count == COUNT_UNSET)
		options->sample_count = options->trigger_worst || options->listen ? 0 : 1;
	if (options->pid && options->comm)
		return refuse_together("options --pid and --comm exclude each other",
				       "give one of them");
	status = check_triggers(options);
	if (!status)
		status = check_traces(options);
	return status ? status : check_outputs(options);
}
