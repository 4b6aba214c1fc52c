/* SPDX-License-Identifier: Apache-2.0 */
/* How much detail the reports have. */
#ifndef REPORT_OPTIONS_H
#define REPORT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* What the text has of threads. */
enum report_extent {
	REPORT_FULL,    /* all sections of all threads */
	REPORT_SHORT,   /* the first screen; sections of some threads, a line of the others */
	REPORT_SUMMARY, /* the first screen */
};

/* By what threads are put in order, the largest first: ROW(sort, key). */
#define REPORT_SORTS(ROW)                                                                          \
	ROW(SORT_KEPT, "kept")                                                                     \
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
	enum report_extent extent; /* text */
	enum report_sort sort;     /* text that is not full */
	unsigned int top;          /* threads with sections in a short text */
	const char *threads;       /* text: those whose names match; NULL: all */
	bool bold;                 /* text: for a terminal */
	bool per_thread;           /* metrics: a series per thread, with its TID; else per name */
	bool waits_per_thread;     /* text, folded: waits of other threads are other rows */
	bool fold_names;           /* metrics: "revalidator55" is "revalidator" */
	unsigned int max_syscalls; /* metrics: of a thread, the others in one row; 0: no limit */
	bool timestamps;           /* metrics: samples have the window's end as their time */
	uint64_t shown_from, shown_until; /* timeline: what the sample before it in the same file
					     shows, CLOCK_MONOTONIC, ns; 0: there is none */
	bool lines; /* text: waits and samples at other offsets in the same functions are other rows
		     */
};

#endif
