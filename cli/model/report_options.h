/* SPDX-License-Identifier: Apache-2.0 */
/* Level of detail of the reports. */
#ifndef REPORT_OPTIONS_H
#define REPORT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* How much of the threads the text shows. */
enum report_extent {
	REPORT_FULL,    /* all sections of all threads */
	REPORT_SHORT,   /* first screen, sections of some threads, one line for each other */
	REPORT_SUMMARY, /* first screen only */
};

/* Sort keys of threads, largest first: ROW(sort, key). */
#define REPORT_SORTS(ROW)                                                                          \
	ROW(SORT_DELAY, "kept")                                                                    \
	ROW(SORT_LONGEST, "longest")                                                               \
	ROW(SORT_RUNNING, "running")                                                               \
	ROW(SORT_READY, "ready")                                                                   \
	ROW(SORT_BLOCKED, "blocked")                                                               \
	ROW(SORT_NAME, "name")                                                                     \
	ROW(SORT_TID, "tid")
#define REPORT_SORT(sort, key) sort,
enum report_sort { REPORT_SORTS(REPORT_SORT) SORTS };
#undef REPORT_SORT

struct report_options {
	enum report_extent extent;
	enum report_sort sort;     /* text, unless full */
	unsigned int top;          /* threads with sections in a short text */
	const char *threads;       /* text: only matching names; NULL: all */
	bool bold;                 /* text: for a terminal */
	bool per_thread;           /* metrics: a series per thread, with TID; else per name */
	bool waits_per_thread;     /* folded text: waits of different threads are separate rows */
	bool fold_names;           /* metrics: "revalidator55" is "revalidator" */
	unsigned int max_syscalls; /* metrics: per thread, others share a row; 0: no limit */
	bool timestamps;           /* metrics: samples carry the window's end as timestamp */
	uint64_t shown_from, shown_until; /* timeline: range of the previous sample in the file,
					   * CLOCK_MONOTONIC ns; 0: none */
	bool lines; /* text: stacks must match by offset, not only by function */
};

#endif
