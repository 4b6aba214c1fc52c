/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/base/columns.h"
#include "cli/base/names.h"
#include "cli/base/parse.h"
#include "cli/base/wall_clock.h"
#include "cli/model/list_cells.h"
#include "cli/model/sample.h"
#include "text_advice.h"
#include "text_footer.h"
#include "text_parts.h"
#include "text_path.h"
#include "text_processes.h"
#include "text_resources.h"
#include "text_screen.h"
#include "text_thread.h"
#include "text_traces.h"
#include "text_verdict.h"

/* --- Lines above --- */

static void mark(struct columns *columns, const char *what, uint64_t trigger,
		 const struct timespec *when)
{
	char time[TIMESTAMP_LEN];

	timestamp_format(time, when);
	columns_print(columns, "# %s", what);
	if (trigger)
		columns_print(columns, " (trigger@%" PRIu64 ")", trigger);
	columns_print(columns, " @%s\n", time);
}

int report_text_mark(FILE *out, const char *what, uint64_t trigger, const struct timespec *when)
{
	struct columns columns;

	columns_begin(&columns, out);
	mark(&columns, what, trigger, when);
	return columns_end(&columns);
}

static void title(struct columns *columns, const struct sample *sample)
{
	char what[80] = "Sample dump";

	if (sample->start_triggered && sample->stop_triggered)
		snprintf(what, sizeof(what), "Triggered sample dump, stop-start delta %s ns",
			 GROUPED(sample->end - sample->start));
	mark(columns, what, 0, &sample->wall_dump);
	text_target_labels(columns, sample->capture);
}

/* Adds the line above the first thread's block. */
static void text_threads_header(struct columns *columns)
{
	columns_add(columns, "TID        THREAD           <RESOURCE SPECIFIC>\n"
			     "---------- ---------------- --------------------------------------"
			     "--------------------------------------\n");
}

/* --- All threads --- */

static int full(struct text *text, const struct report_options *options)
{
	const struct sample *sample = text->sample;
	const struct thread_row *last = NULL;
	bool multiple = text_is_multiprocess(sample);
	int error = text_processes(text, sample->n_processes);

	columns_add(&text->columns, multiple ? "\n" : "");
	error = error ?: text_path(text);
	columns_add(&text->columns, sample->path.n_rows || sample->recorded.memory ? "\n" : "");
	text_threads_header(&text->columns);
	for (size_t i = 0; i < sample->n_threads; i++) {
		if (!text_wants_thread(options, &sample->threads[i]))
			continue;
		columns_add(&text->columns, last ? "\n" : "");
		if (multiple && (!last || process_compare(&sample->threads[i], last)))
			text_process_heading(text, &sample->threads[i]);
		last = &sample->threads[i];
		text_thread(text, &sample->threads[i]);
	}
	return error;
}

/* --- The first screen, and a line for each thread that has no block --- */

static void thread_line(struct text *text, const struct verdict_thread *thread)
{
	struct columns *columns = &text->columns;

	text_thread_id(text, thread->row);
	columns_add(columns, " ");
	columns_right(columns, AS_TIME(thread->delay), 9);
	columns_add(columns, "  ");
	text_thread_states(columns, &thread->row->ledger);
	columns_add(columns, thread->row->ended ? ", ended" : "");
	text_process_of(text, thread->row);
	columns_add(columns, "\n");
}

/* Limit on lines that people still read. Unless more threads than usual were asked for, sections
 * stop at the limit, except those of the first few threads. */
#define LINES_MOST 400
#define LINES_BESIDE 40 /* screen, headers, footer */
#define TOP_USUAL 10
#define TOP_LEAST 3

/* Lines of a thread's sections, including the empty one after them; 1 without memory, which the
 * report then fails for. */
static size_t lines_of(struct text *text, const struct thread_row *thread)
{
	struct text *trial = malloc(sizeof(*trial));
	char *written = NULL;
	size_t length = 0, lines = 1;
	FILE *out = open_memstream(&written, &length);
	bool failed = !out || !trial;

	if (!failed) {
		*trial = (struct text){ .sample = text->sample, .brief = text->brief };
		columns_begin(&trial->columns, out);
		text_thread(trial, thread);
		failed = columns_end(&trial->columns) != 0;
	}
	if (out)
		failed |= fclose(out) != 0;
	if (failed && !text->columns.err)
		text->columns.err = -ENOMEM;
	for (size_t i = 0; !failed && i < length; i++)
		lines += written[i] == '\n';
	free(written);
	free(trial);
	return lines;
}

/* How many of the first top threads have space for their sections. */
static size_t top_of(struct text *text, const struct verdict_thread *const *threads, size_t n,
		     size_t top)
{
	size_t used = LINES_BESIDE + n;

	if (top > TOP_USUAL)
		return top;
	for (size_t i = 0; i < n && i < top; i++) {
		used += lines_of(text, threads[i]->row);
		if (used > LINES_MOST && i >= TOP_LEAST)
			return i;
	}
	return top;
}

static void threads_write(struct text *text, const struct verdict_thread *const *threads, size_t n,
			  size_t top)
{
	struct columns *columns = &text->columns;
	bool multiple = text_is_multiprocess(text->sample);

	columns_add(columns, "\n");
	if (top)
		text_threads_header(columns);
	for (size_t i = 0; i < n && i < top; i++) {
		columns_add(columns, i ? "\n" : "");
		if (multiple && (!i || process_compare(threads[i]->row, threads[i - 1]->row)))
			text_process_heading(text, threads[i]->row);
		text_thread(text, threads[i]->row);
	}
	if (n <= top)
		return;
	columns_add(columns, top ? "\n" : "");
	text_bold(text, top ? "OTHER      THREAD                KEPT  STATES"
			    : "TID        THREAD                KEPT  STATES");
	columns_add(columns, "\n");
	for (size_t i = top; i < n; i++)
		thread_line(text, threads[i]);
}

/* Writes the first screen. Unless only that is asked for, adds sections of the first threads in
 * the requested order, and a line for each other. Returns 0 or -ENOMEM. */
static int text_short(struct text *text, const struct report_options *options)
{
	const struct verdict_thread **threads;
	size_t n;
	int error;

	threads = text_threads_order(text->sample, options, &n);
	if (!threads)
		return -ENOMEM;
	error = text_screen(text, threads, n) ?: text_path(text);
	if (!error && options->extent == REPORT_SHORT)
		error = text_processes(text, options->top);
	if (!error && options->extent == REPORT_SHORT)
		threads_write(text, threads, n, top_of(text, threads, n, options->top));
	free(threads);
	return error;
}

/* --- Interruptions --- */

/* The longest ones are listed. */
#define LISTED 100

static int by_length(const void *a, const void *b)
{
	const struct interruption *const *x = a, *const *y = b;

	return ORDER((*y)->ns, (*x)->ns);
}

static int by_start(const void *a, const void *b)
{
	const struct interruption *const *x = a, *const *y = b;

	return ORDER(*x, *y); /* in order of the sample */
}

/* Adds the main cause, its name, and the number of others; then further causes; "moved": to
 * another CPU. */
static void why(struct columns *columns, const struct interruption *interruption)
{
	columns_left(columns, interruption_titles[interruption->cause], 11);
	if (*interruption->who) {
		columns_add(columns, " ");
		columns_foreign(columns, interruption->who, sizeof(interruption->who),
				sizeof(interruption->who));
	}
	if (interruption->who_tid)
		columns_print(columns, "[%d]", (int)interruption->who_tid);
	if (interruption->who_others)
		columns_print(columns, " and %u more", interruption->who_others);
	for (uint32_t i = 0; i < INTERRUPTION_CAUSES; i++) {
		if (i == interruption->cause || !interruption->by[i])
			continue;
		columns_print(columns, ", %s %s", interruption_titles[i],
			      GROUPED(interruption->by[i]));
	}
	if (interruption->tick_late)
		columns_print(columns, ", tick late by %s", GROUPED(interruption->tick_late));
	columns_add(columns, interruption->moved ? ", moved\n" : "\n");
}

static void interruption_row(struct columns *columns, const struct sample *sample,
			     const struct interruption *interruption)
{
	columns_gap_count(columns, interruption->since, 19);
	columns_gap_ns(columns, interruption->ns, 15);
	columns_print(columns, "%c%4u %10d ", interruption->open ? '+' : ' ', interruption->cpu,
		      (int)interruption->tid);
	text_thread_name(columns, sample, interruption->name, interruption->tid);
	columns_add(columns, " ");
	why(columns, interruption);
}

/* Picks the longest interruptions of matching threads, sorted by start. Returns *n of them;
 * *all: how many there were; *others_ns: time of the others. NULL without memory. */
static const struct interruption **chosen(const struct sample *sample, const char *names, size_t *n,
					  size_t *all, uint64_t *others_ns)
{
	const struct interruption **list = calloc(sample->n_interruptions + 1, sizeof(*list));

	*n = *all = 0;
	*others_ns = 0;
	for (size_t i = 0; list && i < sample->n_interruptions; i++)
		if (!names || names_match_comm(names, sample->interruptions[i].name))
			list[(*all)++] = &sample->interruptions[i];
	*n = *all;
	if (*all > LISTED) {
		qsort(list, *all, sizeof(const struct interruption *), by_length);
		*n = LISTED;
		for (size_t i = LISTED; i < *all; i++)
			*others_ns = u64_add(*others_ns, list[i]->ns);
		qsort(list, *n, sizeof(const struct interruption *), by_start);
	}
	return list;
}

/* List of interruptions; nothing if not asked for. Returns 0 or -ENOMEM. */
static int text_interruption_list(struct columns *columns, const struct sample *sample,
				  const struct report_options *options)
{
	const struct interruption **list;
	uint64_t others_ns;
	size_t n, all;

	if (!sample->has_interruptions)
		return 0;
	list = chosen(sample, options->threads, &n, &all, &others_ns);
	if (!list)
		return -ENOMEM;
	columns_print(columns,
		      "\n# INTERRUPTIONS of at least %s%s:\n"
		      "             START (ns)        LENGTH ns   CPU        TID COMM             "
		      "CAUSE       BY, AND WHAT ELSE (ns)\n"
		      "  ------------------- ---------------- ----- ---------- ---------------- "
		      "----------- ----------------------\n",
		      AS_TIME(sample->interruptions_from), n < all ? ", the longest" : "");
	for (size_t i = 0; i < n; i++)
		interruption_row(columns, sample, list[i]);
	if (n < all)
		columns_print(columns, "  and %zu others, not longer: %s ns\n", all - n,
			      GROUPED(others_ns));
	free(list);
	return 0;
}

/* --- How late softirqs ran --- */

#define DELAYS_BRIEF 8

static void softirq_delay_line(struct text *text, const struct softirq_delay *row)
{
	struct columns *columns = &text->columns;
	size_t begun;

	columns_gap_count(columns, row->cpu, 5);
	columns_add(columns, " ");
	columns_pad(columns, columns_foreign(columns, row->name, sizeof(row->name), 8), 8);
	columns_gap_count(columns, row->delays.count, 10);
	columns_gap_ns(columns, row->delays.total, 16);
	columns_gap_ns(columns, row->delays.max, 16);
	text_began(text, row->delays.began);
	columns_add(columns, "  ");
	begun = columns->width;
	cell_who(columns, row->raised.comm, (int32_t)row->raised.tid);
	columns_pad(columns, columns->width - begun, 26);
	columns_add(columns, " ");
	if (row->open)
		columns_add(columns, "(not yet)");
	else
		cell_who(columns, row->ran.comm, (int32_t)row->ran.tid);
	columns_add(columns, "\n");
}

/* Those with the longest delays; nothing if there were none, or they were not measured. */
static void text_softirq_delays(struct text *text)
{
	const struct sample *sample = text->sample;
	struct columns *columns = &text->columns;
	const size_t all = sample->n_softirq_delays, most = text->brief ? DELAYS_BRIEF : LISTED;
	const size_t n = all > most + 1 ? most : all;

	if (!all)
		return;
	columns_print(
		columns,
		"\n# SOFT IRQ DELAYS, from when they were raised until they ran, on all CPUs:\n"
		"    CPU VECTOR         COUNT          TOTAL ns            MAX ns%s"
		"  RAISED DURING              RAN DURING\n",
		text->brief ? "" : TEXT_BEGAN_TITLE);
	for (size_t i = 0; i < n; i++)
		softirq_delay_line(text, &sample->softirq_delays[i]);
	if (n < all)
		columns_print(columns, "  and %zu others, not longer\n", all - n);
}

/* --- Open vSwitch upcalls --- */

/* Results that a line counts. */
enum which { ALL, FAILED, OF_ERROR };

static bool counts(const struct upcall_row *row, enum which which, uint32_t error)
{
	return which == ALL || (which == FAILED && row->error) ||
	       (which == OF_ERROR && row->error == error);
}

/* Adds the sum, and those of CPUs with any. */
static void upcall_line(struct columns *columns, const struct sample *sample, const char *name,
			enum which which, uint32_t error)
{
	uint64_t total = 0, here = 0;
	const char *separator = "";

	for (size_t i = 0; i < sample->n_upcalls; i++)
		if (counts(&sample->upcalls[i], which, error))
			total += sample->upcalls[i].count;
	if (!total && which != ALL)
		return;
	columns_print(columns, "  %-20s: %" PRIu64 " [", name, total);
	for (size_t i = 0; i < sample->n_upcalls; i++) {
		const struct upcall_row *row = &sample->upcalls[i];

		if (counts(row, which, error))
			here += row->count;
		if (!here || (i + 1 < sample->n_upcalls && row[1].cpu == row->cpu))
			continue;
		columns_print(columns, "%s%u: %" PRIu64, separator, row->cpu, here);
		here = 0;
		separator = ", ";
	}
	columns_add(columns, "]\n");
}

/* Section on Open vSwitch upcalls, as in kernel_delay.py, including its spelling; nothing if
 * they were not counted. */
static void text_upcalls(struct columns *columns, const struct sample *sample)
{
	bool failed = false;

	if (!sample->has_upcalls)
		return;
	columns_add(columns, "\n# UPCALL STATISTICS (TOTAL [CPU_ID: N_UPCALLS_PER_CPU, ...]):\n");
	upcall_line(columns, sample, "Total upcalls", ALL, 0);
	for (size_t i = 0; i < sample->n_upcalls; i++)
		failed |= sample->upcalls[i].error != 0;
	if (!failed)
		return;
	upcall_line(columns, sample, "Successfull upcalls", OF_ERROR, 0);
	upcall_line(columns, sample, "Failed upcalls", FAILED, 0);
	for (uint32_t error = 1; error < KD_ERRNOS; error++) {
		const char *text = strerrorname_np((int)error);
		char name[32];

		snprintf(name, sizeof(name), "%5u, %s", error, text ? text : "?");
		upcall_line(columns, sample, name, OF_ERROR, error);
	}
}

/* --- The report --- */

int report_text(const struct sample *sample, const struct report_options *options, FILE *out)
{
	struct text text = {
		.sample = sample,
		.brief = options->extent != REPORT_FULL,
		.bold = options->bold,
	};
	int error = 0, failed;

	columns_begin(&text.columns, out);
	title(&text.columns, sample);
	if (options->extent == REPORT_FULL)
		error = full(&text, options);
	else
		error = text_short(&text, options);
	if (options->extent != REPORT_SUMMARY) {
		text_usages(&text, options->extent == REPORT_FULL ? SIZE_MAX : options->top);
		text_upcalls(&text.columns, sample);
		error = error ?: text_interruption_list(&text.columns, sample, options);
		text_softirq_delays(&text);
		text_traces(&text.columns, sample, options);
		text_footer(&text);
	}
	failed = columns_end(&text.columns);
	return error ? error : failed;
}

/* --- Sentences --- */

static struct text *begin(struct text *text, const struct sample *sample, FILE *out)
{
	text->sample = sample;
	columns_begin(&text->columns, out);
	return text;
}

int report_text_verdict(const struct sample *sample, FILE *out)
{
	struct text text = { 0 };

	text_sentences(begin(&text, sample, out));
	return columns_end(&text.columns);
}

int report_text_advice(const struct sample *sample, FILE *out)
{
	struct text text = { 0 };

	text_advice(begin(&text, sample, out));
	return columns_end(&text.columns);
}

int report_text_notes(const struct sample *sample, FILE *out)
{
	struct text text = { 0 };

	text_footer(begin(&text, sample, out));
	return columns_end(&text.columns);
}
