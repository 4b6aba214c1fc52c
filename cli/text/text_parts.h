/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the report, for text.c and each other. */
#ifndef TEXT_PARTS_H
#define TEXT_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/base/columns.h"
#include "cli/model/report_options.h"
#include "cli/model/sample.h"
#include "cli/model/traces.h"

/* The sample that is being written. */
struct text {
	struct columns columns;
	const struct sample *sample;
	bool brief; /* no more than matters, see text_section() */
	bool bold;  /* for a terminal */
};

#define TEXT_BOLD "\033[1m"
#define TEXT_PLAIN "\033[0m"

/* Text in bold, if the report is for a terminal. */
void text_bold(struct text *text, const char *bold);

/* What the first screen has room for. */
#define SCREEN_LINES 24 /* below the title */
#define SCREEN_WIDTH 80
#define SCREEN_THREADS 10

/* Whether the target is more than one process. */
bool text_is_several(const struct sample *sample);

/* The line above the first thread's block. */
void text_threads_header(struct columns *columns);

/* Whether a thread is one of those that are asked for. */
bool text_wants_thread(const struct report_options *options, const struct thread_row *thread);

/* Whether a probe on this thread began or ended the sample: 2 or 1; 0 if none did. */
int text_is_trigger(const struct sample *sample, const struct thread_row *thread);

/* A thread's TID, or how many there are in its row, and its name: 27 columns. */
void text_thread_id(struct text *text, const struct thread_row *thread);

/* Writes all sections of a thread that have data; of several silent threads
 * in one row, just that row. */
void text_thread(struct text *text, const struct thread_row *thread);

/* Begins a section of a thread with its title and the titles of its columns. In a brief block
 * the former stands in the margin, left of the latter. */
void text_section(struct text *text, const char *title, const char *header);

/* Rows of a section, the largest first, with a struct kd_count in each. A brief block shows few
 * of them, and none that is less than 1 % of the thread's life, unless that is 0. */
struct text_list {
	const void *rows;
	size_t n, size, counts; /* rows, bytes of one, and where in it that struct is */
	uint64_t life;
};
#define TEXT_LIST(list, list_n, member, list_life)                                                 \
	((struct text_list){ .rows = (list),                                                       \
			     .n = (list_n),                                                        \
			     .size = sizeof(*(list)),                                              \
			     .counts = offsetof(typeof(*(list)), member),                          \
			     .life = (list_life) })
#define TEXT_BRIEF_ROWS 4

/* How many it shows, and what the others are together: none, or two or more. */
struct text_cut {
	size_t shown, others;
	uint64_t count, total;
};
struct text_cut text_cut(const struct text *text, const struct text_list *list, size_t most);

/* Whether the section has anything to say. */
bool text_has_lines(const struct text_cut *cut, const struct text_list *list);

/* The line below them: "and 3 others" in so many columns, with their sums; nothing of none. */
void text_others(struct text *text, const struct text_cut *cut, size_t width);
void text_others_label(struct columns *columns, size_t others, size_t width);

/* The section of a list's rows: see rows.h; nothing if there are none. life: as in struct
 * text_list. */
void text_rows(struct text *text, const struct row_list *list, const void *rows, size_t n,
	       uint64_t life);

/* The same with lines below each row. */
void text_rows_below(struct text *text, const struct row_list *list, const void *rows, size_t n,
		     uint64_t life, void (*below)(struct text *text, const void *row));

/* The section on who had the CPU while a thread was ready; nothing if it never was. */
void text_culprits(struct text *text, const struct thread_row *thread);

/* The section on sleeps with a time-out; nothing if none of them lasted until then. */
void text_timers(struct text *text, const struct thread_row *thread);

/* The section on what a thread read and wrote; nothing if there was nothing. */
void text_io(struct text *text, const struct thread_row *thread);

/* The section on events that were counted; nothing if there were none. */
void text_counters(struct text *text, const struct thread_row *thread);

/* The section on what processes used, so many of them; nothing if that was not asked for. */
void text_usages(struct text *text, size_t most);

/* The section on what interrupted a thread; nothing if that was not asked for. */
void text_interruptions(struct text *text, const struct thread_row *thread);

/* How far back what was recorded goes, and the critical path: 12 lines at most. Nothing of what is
 * not known. Returns 0 or -ENOMEM. */
int text_path(struct text *text);

/* The list of interruptions; nothing if none were asked for. Returns 0 or -ENOMEM. */
int text_interruption_list(struct columns *columns, const struct sample *sample,
			   const struct report_options *options);

/* The section on how a thread's durations are distributed: a table of shares, then a
 * drawing of each distribution by powers of two. Nothing if none are known. */
void text_distributions(struct columns *columns, const struct sample *sample,
			const struct thread_row *thread);

/* Writes the sections that were asked for: slow system calls as kernel_delay.py has
 * them, with columns of ours to the right; waits and running code, those that are
 * alike merged: in the same functions, or lines. */
void text_traces(struct columns *columns, const struct sample *sample,
		 const struct report_options *options);

/* Of merged waits and samples, no more are listed; their sum is of all. */
#define TEXT_TRACES_MOST 50

/* The section on upcalls of openvswitch, as kernel_delay.py has it (its spelling
 * too); nothing if they were not counted. */
void text_upcalls(struct columns *columns, const struct sample *sample);

/* Writes what is missing and what happened, a line each; nothing if there is
 * nothing to tell. A line "# WARNING" is there exactly if sample_lost() is not 0. */
void text_footer(struct text *text);

#endif
