/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the report, for text.c and each other. */
#ifndef TEXT_PARTS_H
#define TEXT_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/base/columns.h"
#include "cli/model/report_options.h"
#include "cli/model/sample.h"
#include "cli/model/traces.h"

/* The sample being written. */
struct text {
	struct columns columns;
	const struct sample *sample;
	bool brief; /* only what matters, see text_section() */
	bool bold;  /* for a terminal */
};

#define TEXT_BOLD "\033[1m"
#define TEXT_PLAIN "\033[0m"

/* Adds text in bold, if the report goes to a terminal. */
void text_bold(struct text *text, const char *bold);

/* Size of the first screen. */
#define SCREEN_LINES 24 /* below the title */
#define SCREEN_WIDTH 80
#define SCREEN_THREADS 10

/* True if the target has more than one process. */
bool text_is_multiprocess(const struct sample *sample);

/* Adds the line above the first thread's block. */
void text_threads_header(struct columns *columns);

/* True if the thread was asked for. */
bool text_wants_thread(const struct report_options *options, const struct thread_row *thread);

/* Tells if a probe on this thread began (2) or ended (1) the sample; 0: neither. */
int text_is_trigger(const struct sample *sample, const struct thread_row *thread);

/* Adds a thread's TID, or the number of threads in its row, and its name: 27 columns. */
void text_thread_id(struct text *text, const struct thread_row *thread);

/* Writes all sections of a thread with data; for a row of silent threads, only the row. */
void text_thread(struct text *text, const struct thread_row *thread);

/* Begins a thread's section with its title and column headers. In a brief block the title goes
 * to the margin, left of the headers. */
void text_section(struct text *text, const char *title, const char *header);

/* Rows of a section with a struct kd_count each, largest first. A brief block shows few rows,
 * and none below 1 % of the thread's life, unless that is 0. */
struct text_list {
	const void *rows;
	size_t n, size, counts; /* number of rows, size of one, offset of its struct kd_count */
	uint64_t life;
};
#define TEXT_LIST(list, list_n, member, list_life)                                                 \
	((struct text_list){ .rows = (list),                                                       \
			     .n = (list_n),                                                        \
			     .size = sizeof(*(list)),                                              \
			     .counts = offsetof(typeof(*(list)), member),                          \
			     .life = (list_life) })
#define TEXT_BRIEF_ROWS 4

/* How many rows are shown, and the sum of the others: none, or at least two. */
struct text_cut {
	size_t shown, others;
	uint64_t count, total;
};
struct text_cut text_cut(const struct text *text, const struct text_list *list, size_t most);

/* True if the section has lines. */
bool text_has_lines(const struct text_cut *cut, const struct text_list *list);

/* Adds the line below the rows: "and 3 others" padded to width, with sums; nothing without
 * others. */
void text_others(struct text *text, const struct text_cut *cut, size_t width);
void text_others_label(struct columns *columns, size_t others, size_t width);

/* Writes the section of a row list, see rows.h; nothing without rows. life: as in struct
 * text_list. */
void text_rows(struct text *text, const struct row_list *list, const void *rows, size_t n,
	       uint64_t life);

/* Calls below after each row, to add lines. */
void text_rows_below(struct text *text, const struct row_list *list, const void *rows, size_t n,
		     uint64_t life, void (*below)(struct text *text, const void *row));

/* Section on what had the CPU while a thread was ready; nothing if it never was. */
void text_culprits(struct text *text, const struct thread_row *thread);

/* Section on sleeps with a timeout; nothing if none lasted that long. */
void text_timers(struct text *text, const struct thread_row *thread);

/* Section on what a thread read and wrote; nothing if all is 0. */
void text_io(struct text *text, const struct thread_row *thread);

/* Section on counted events; nothing without any. */
void text_counters(struct text *text, const struct thread_row *thread);

/* Section on resources of up to most processes; nothing without --resources. */
void text_usages(struct text *text, size_t most);

/* Section on interruptions of a thread; nothing without --interruptions. */
void text_interruptions(struct text *text, const struct thread_row *thread);

/* Writes how far back the recording goes, and the critical path: 12 lines at most. Skips what is
 * unknown. Returns 0 or -ENOMEM. */
int text_path(struct text *text);

/* List of interruptions; nothing if not asked for. Returns 0 or -ENOMEM. */
int text_interruption_list(struct columns *columns, const struct sample *sample,
			   const struct report_options *options);

/* Section on distributions of a thread's durations: a table of quantiles, then a chart of each
 * by powers of two. Nothing without any. */
void text_distributions(struct columns *columns, const struct sample *sample,
			const struct thread_row *thread);

/* Writes the requested sections: slow system calls as in kernel_delay.py, with further columns
 * to the right, and waits and running code, merged by function or by line. */
void text_traces(struct columns *columns, const struct sample *sample,
		 const struct report_options *options);

/* Merged waits and samples listed at most; the sum covers all. */
#define TEXT_TRACES_MOST 50

/* Section on Open vSwitch upcalls, as in kernel_delay.py, including its spelling; nothing if
 * they were not counted. */
void text_upcalls(struct columns *columns, const struct sample *sample);

/* Writes warnings and notes, one line each. A "# WARNING" line appears exactly if sample_lost()
 * is not 0. */
void text_footer(struct text *text);

#endif
