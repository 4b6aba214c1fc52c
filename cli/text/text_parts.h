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
#include "cli/model/verdict.h"

/* --- Words --- */

#define TEXT_INDENT "                            " /* 28: below <RESOURCE SPECIFIC> */
#define TEXT_NAME_WIDTH 20

/* Name of a system call with its mode. Returns buffer. */
#define TEXT_CALL 64
const char *text_call(const struct sample *sample, uint32_t call, char buffer[static TEXT_CALL]);

/* Adds the call in a column of TEXT_NAME_WIDTH, cut to fit the mode, and its number in a column
 * of 6. */
void text_call_columns(struct columns *columns, const struct sample *sample, uint32_t call);

/* Adds a thread's name in a column of 16; without a name, a stand-in for tid. tid 0: several
 * threads. */
void text_thread_name(struct columns *columns, const struct sample *sample,
		      const char name[static KD_COMM_LEN], pid_t tid);

/* Formats a bitmap of CPUs: "0-1,3", "1024+" for those beyond it, "-" for none. What does not
 * fit becomes "...". */
#define TEXT_CPUS (5 * KD_CPU_WORDS * 64 + 8) /* everything fits */
void text_cpus(char *text, size_t size, const uint64_t cpus[static KD_CPU_WORDS], bool beyond);

/* Escapes a path of up to length bytes. One that is wider than that many columns, 4 or more, keeps
 * its end after "...": from the beginning of a name, unless the last one is longer. */
void text_path_cut(char *out, size_t size, const char *path, size_t length, size_t width);

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

/* True if the thread was asked for. */
bool text_wants_thread(const struct report_options *options, const struct thread_row *thread);

/* Tells if a probe on this thread began (2) or ended (1) the sample; 0: neither. */
int text_is_trigger(const struct sample *sample, const struct thread_row *thread);

/* Adds "5,000x", right-aligned. */
void text_times(struct columns *columns, uint64_t n, size_t width);

/* Begins a thread's section with its title and column headers. In a brief block the title goes
 * to the margin, left of the headers. */
void text_section(struct text *text, const char *title, const char *header);

/* Numbers of a line, right-aligned, with two spaces between them; times have separators. */
struct text_figure {
	uint64_t number;
	size_t width;
	enum text_form { TEXT_IS_COUNT, TEXT_IS_NS, TEXT_IS_BEGAN } form;
};
#define TEXT_COUNT(number, width)                                                                  \
	{                                                                                          \
		number, width, TEXT_IS_COUNT                                                       \
	}
#define TEXT_NS(number, width)                                                                     \
	{                                                                                          \
		number, width, TEXT_IS_NS                                                          \
	}
#define TEXT_FIGURES(...)                                                                          \
	(const struct text_figure[]){ __VA_ARGS__ },                                               \
		sizeof((const struct text_figure[]){ __VA_ARGS__ }) / sizeof(struct text_figure)

/* When the longest began, a column that brief blocks have not. */
#define TEXT_BEGAN(number)                                                                         \
	{                                                                                          \
		number, 0, TEXT_IS_BEGAN                                                           \
	}
#define TEXT_BEGAN_TITLE "           MAX AT"
void text_began(struct text *text, uint64_t began);

/* Adds them and ends the line. */
void text_figures(struct text *text, const struct text_figure *figures, size_t n);

/* Writes a section with one line of them; nothing if the first is 0. The header has no title for
 * the last one if that is a TEXT_BEGAN(). */
void text_line_section(struct text *text, const char *title, const char *header,
		       const struct text_figure *figures, size_t n);

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

/* Writes the section of a row list, see rows.h; nothing without rows, and then returns false. life:
 * as in struct text_list. below: adds lines after each row; may be NULL. */
bool text_rows(struct text *text, const struct row_list *list, const void *rows, size_t n,
	       uint64_t life, void (*below)(struct text *text, const void *row));

/* --- Order of threads, and their states in a line --- */

/* Matching threads of the verdict in the requested order, *n of them. The caller frees the
 * array. NULL: no memory. */
const struct verdict_thread **text_threads_order(const struct sample *sample,
						 const struct report_options *options, size_t *n);

/* Adds the three longest states of a thread, with their shares of its life. */
void text_thread_states(struct columns *columns, const struct ledger *ledger);

#endif
