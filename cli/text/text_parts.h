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

/* Adds a thread's TID, or the number of threads in its row, and its name: 27 columns. */
void text_thread_id(struct text *text, const struct thread_row *thread);

/* Writes all sections of a thread with data; for a row of silent threads, only the row. */
void text_thread(struct text *text, const struct thread_row *thread);

/* Adds "5,000x", right-aligned. */
void text_times(struct columns *columns, uint64_t n, size_t width);

/* Begins a thread's section with its title and column headers. In a brief block the title goes
 * to the margin, left of the headers. */
void text_section(struct text *text, const char *title, const char *header);

/* Numbers of a line, right-aligned, with two spaces between them; times have separators. */
struct text_figure {
	uint64_t number;
	size_t width;
	bool is_ns;
};
#define TEXT_COUNT(number, width)                                                                  \
	{                                                                                          \
		number, width, false                                                               \
	}
#define TEXT_NS(number, width)                                                                     \
	{                                                                                          \
		number, width, true                                                                \
	}
#define TEXT_FIGURES(...)                                                                          \
	(const struct text_figure[]){ __VA_ARGS__ },                                               \
		sizeof((const struct text_figure[]){ __VA_ARGS__ }) / sizeof(struct text_figure)

/* Adds them and ends the line. */
void text_figures(struct columns *columns, const struct text_figure *figures, size_t n);

/* Writes a section with one line of them; nothing if the first is 0. */
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

/* Writes the section of a row list, see rows.h; nothing without rows. life: as in struct
 * text_list. */
void text_rows(struct text *text, const struct row_list *list, const void *rows, size_t n,
	       uint64_t life);

/* Calls below after each row, to add lines. */
void text_rows_below(struct text *text, const struct row_list *list, const void *rows, size_t n,
		     uint64_t life, void (*below)(struct text *text, const void *row));

/* Section on what had the CPU while a thread was ready; nothing if it never was. */
void text_culprits(struct text *text, const struct thread_row *thread);

/* Section on what a thread read and wrote; nothing if all is 0. */
void text_io(struct text *text, const struct thread_row *thread);

/* Section on counted events; nothing without any. */
void text_counters(struct text *text, const struct thread_row *thread);

/* Section on resources of up to most processes; nothing without --resources. */
void text_usages(struct text *text, size_t most);

/* Writes how far back the recording goes, and the critical path: 12 lines at most. Skips what is
 * unknown. Returns 0 or -ENOMEM. */
int text_path(struct text *text);

/* Section on distributions of a thread's durations: a table of quantiles, then a chart of each
 * by powers of two. Nothing without any. */
void text_distributions(struct columns *columns, const struct sample *sample,
			const struct thread_row *thread);

/* Writes the requested sections: slow system calls as in kernel_delay.py, with further columns
 * to the right, and waits and running code, merged by function or by line. */
void text_traces(struct columns *columns, const struct sample *sample,
		 const struct report_options *options);

/* Writes warnings and notes, one line each. A "# WARNING" line appears exactly if sample_lost()
 * is not 0. */
void text_footer(struct text *text);

/* --- First screen --- */

/* First screen of a report: what kept the process from running, and who did. At most
 * SCREEN_LINES lines of SCREEN_WIDTH columns, for any names and figures. */

/* Writes the screen. order: the n threads of the verdict as listed; several processes are listed
 * instead. Returns 0 or -ENOMEM. */
int text_screen(struct text *text, const struct verdict_thread *const *order, size_t n);

/* Writes the upper part if window and verdict fit in so many lines, then as many states and
 * causes as fit. */
void text_screen_top(struct text *text, size_t lines);

/* Adds a thread's figures, below this header. */
#define TEXT_SCREEN_THREADS "    TID THREAD             KEPT OF BUSY"
void text_screen_thread(struct columns *columns, const struct verdict_thread *thread);

/* Sentences of a screen: VERDICT, and as its last lines the advice on what comes first, on the
 * largest other culprit (text_has_second()), and on moved threads. text_verdict() returns its
 * lines, VERDICT_LINES at most. */
#define VERDICT_LINES 4
unsigned int text_verdict(struct text *text);
void text_advice(struct text *text);
bool text_has_second(const struct verdict *verdict);

/* Writes the verdict's sentences, one per line of any length, for all blamed culprits. */
void text_sentences(struct text *text);

/* Culprit, escaped: "backup-agent[812]"; "" if unknown. Several culprits: "16 threads (worker)",
 * "" if not threads. */
#define WHO_LEN 128
const char *text_row_who(char who[static WHO_LEN], const struct verdict_row *row);

/* --- Order of threads, and their states in a line --- */

/* Matching threads of the verdict in the requested order, *n of them. The caller frees the
 * array. NULL: no memory. */
const struct verdict_thread **text_threads_order(const struct sample *sample,
						 const struct report_options *options, size_t *n);

/* Adds the three longest states of a thread, with their shares of its life. */
void text_thread_states(struct columns *columns, const struct ledger *ledger);

/* --- Processes, if the target has more than one --- */

/* First screen: lines of the processes kept from running longest. Returns 0 or -ENOMEM. */
int text_screen_processes(struct text *text);

/* Section with sums per process: the first top ones, and the rest in one line; nothing for a
 * single process. Returns as above. */
int text_processes(struct text *text, size_t top);

/* Adds the line above the threads of a process. */
void text_process_heading(struct text *text, const struct thread_row *thread);

/* Adds a thread's process: ", of 812 postgres: alice db SELECT"; nothing for a single process. */
void text_process_of(struct text *text, const struct thread_row *thread);

/* Adds "812 postgres: alice db SELECT"; no title if the sample lacks this PID. */
void text_process(struct columns *columns, const struct sample *sample, pid_t pid, uint64_t at);

/* Common name of all processes, escaped: "container db", "postgres", "postgres and others". */
#define PROCESSES_LEN 48
void text_processes_name(char name[static PROCESSES_LEN], const struct sample *sample);

/* Adds a line with the container of a single process, if known. */
void text_target_labels(struct columns *columns, const struct capture *capture);

#endif
