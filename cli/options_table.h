/* SPDX-License-Identifier: Apache-2.0 */
/* What options there are: one table from which the help is printed and the command
 * line is read. */
#ifndef OPTIONS_TABLE_H
#define OPTIONS_TABLE_H

#include <argp.h>
#include <stddef.h>

#define PROGRAM "kernel_delay"

/* Options without a letter. */
enum option_key {
	OPT_SAMPLE_TIME = 256,
	OPT_SAMPLE_COUNT,
	OPT_SAMPLE_INTERVAL,
	OPT_DURATION,
	OPT_HISTOGRAM,
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
	OPT_SKIP_POLL_EVENTS,
	OPT_OFF_CPU,
	OPT_PROFILE,
	OPT_STACK_TRACE_SIZE,
	OPT_USER_STACK_BYTES,
	OPT_STACK_RATE,
	OPT_BUFFER_PAGE_COUNT,
	OPT_SKIP_UPCALL_STATS,
	OPT_BTF,
	OPT_STRICT,
	OPT_OUTPUT_MODE,
	OPT_OUTPUT_LIMIT,
	OPT_QUIET,
	OPT_FAIL_IF,
	OPT_REPLAY,
	OPT_PER_THREAD,
	OPT_FOLD_NAMES,
	OPT_MAX_SYSCALLS,
	OPT_TIMESTAMPS,
	OPT_LIST_METRICS,
	OPT_LISTEN,
	OPT_USAGE,
};

#define OPTIONS_TABLE_ROOM 96

/* Ends with an entry of zeros; entries without a name are titles. */
extern const struct argp_option options_table[];

/* For argp_help(). */
extern const struct argp options_help;

/* The number of entries with the last one, at most OPTIONS_TABLE_ROOM. */
size_t options_table_length(void);

/* The entry of a key, which may be a letter; NULL if there is none. */
const struct argp_option *options_table_find(int key);

#endif
