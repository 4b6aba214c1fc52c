// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
/* What sections of the report share: words, sections of rows, and the order of threads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/escape.h"
#include "cli/base/names.h"
#include "cli/base/parse.h"
#include "cli/base/syscall_set.h"
#include "cli/base/texts.h"
#include "cli/model/rows.h"
#include "cli/model/words.h"
#include "text_parts.h"

/* --- Words --- */

/* Mode of a call; "" if native. */
static const char *call_mark(uint32_t call, char mark[static 16])
{
	const char *mode = syscall_mode_name(syscall_mode(call));

	*mark = '\0';
	if (*mode)
		snprintf(mark, 16, " [%s]", mode);
	return mark;
}

static const char *plain_name(const struct sample *sample, uint32_t call, char buffer[static 32])
{
	const char *name = sample->foreign_calls ? NULL : syscall_name(call);

	if (name)
		return name;
	snprintf(buffer, 32, "[unknown: %u]", syscall_plain(call));
	return buffer;
}

const char *text_call(const struct sample *sample, uint32_t call, char buffer[static TEXT_CALL])
{
	char unknown[32], mark[16];

	snprintf(buffer, TEXT_CALL, "%s%s", plain_name(sample, call, unknown),
		 call_mark(call, mark));
	return buffer;
}

void text_call_columns(struct columns *columns, const struct sample *sample, uint32_t call)
{
	char unknown[32], mark[16], cut[TEXT_CALL];
	size_t capacity = TEXT_NAME_WIDTH - strlen(call_mark(call, mark));
	const char *name = plain_name(sample, call, unknown);

	if (name == unknown && *mark)
		name = "[unknown]";
	if (*mark || strlen(name) > capacity) { /* rare: most rows skip the printf() */
		snprintf(cut, sizeof(cut), "%.*s%s", (int)capacity, name, mark);
		name = cut;
	}
	columns_left(columns, name, TEXT_NAME_WIDTH);
	columns_add(columns, " ");
	columns_count(columns, syscall_plain(call), 6);
}

void text_thread_name(struct columns *columns, const struct sample *sample,
		      const char name[static KD_COMM_LEN], pid_t tid)
{
	char unknown[64];

	if (name[0]) {
		columns_pad(columns, columns_foreign(columns, name, KD_COMM_LEN, SIZE_MAX), 16);
		return;
	}
	if (tid)
		snprintf(unknown, sizeof(unknown), "<unknown:%d/%d>", (int)sample->pid, (int)tid);
	else
		snprintf(unknown, sizeof(unknown), "<unknown:%d/*>", (int)sample->pid);
	columns_left(columns, unknown, 16);
}

void text_cpus(char *text, size_t size, const uint64_t cpus[static KD_CPU_WORDS], bool beyond)
{
	cpu_list_text(text, size, cpus, KD_CPU_WORDS * 64, beyond);
	if (!*text)
		snprintf(text, size, "-");
}

void text_bold(struct text *text, const char *bold)
{
	columns_add(&text->columns, text->bold ? TEXT_BOLD : "");
	columns_add(&text->columns, bold);
	columns_add(&text->columns, text->bold ? TEXT_PLAIN : "");
}

bool text_is_multiprocess(const struct sample *sample)
{
	return processes_count(sample) > 1;
}

/* --- Sections --- */

void text_section(struct text *text, const char *title, const char *header)
{
	struct columns *columns = &text->columns;

	if (text->brief) {
		columns_right(columns, title, sizeof(TEXT_INDENT) - 2);
		columns_add(columns, " ");
	} else {
		columns_add(columns, "\n" TEXT_INDENT);
		columns_add(columns, title);
		columns_add(columns, "\n" TEXT_INDENT);
	}
	columns_add(columns, header);
	columns_add(columns, "\n");
}

void text_times(struct columns *columns, uint64_t n, size_t width)
{
	char number[NUMBER_LEN + 1];

	strcpy(number + number_grouped(number, n), "x");
	columns_right(columns, number, width);
}

/* "14:03:07.123456" */
static void began_cell(struct text *text, uint64_t began)
{
	char clock[16] = "-";
	struct timespec when;
	struct tm local;

	if (began && sample_wall_at(text->sample, began, &when) &&
	    localtime_r(&when.tv_sec, &local))
		snprintf(clock, sizeof(clock), "%02u:%02u:%02u.%06u",
			 (unsigned int)local.tm_hour % 100, (unsigned int)local.tm_min % 100,
			 (unsigned int)local.tm_sec % 100,
			 (unsigned int)(when.tv_nsec / 1000) % 1000000);
	columns_right(&text->columns, clock, sizeof(clock) - 1);
}

void text_began(struct text *text, uint64_t began)
{
	if (text->brief)
		return;
	columns_add(&text->columns, "  ");
	began_cell(text, began);
}

void text_figures(struct text *text, const struct text_figure *figures, size_t n)
{
	struct columns *columns = &text->columns;

	for (size_t i = 0; i < n; i++) {
		if (figures[i].form == TEXT_IS_BEGAN) {
			text_began(text, figures[i].number);
			continue;
		}
		columns_add(columns, i ? "  " : "");
		(figures[i].form == TEXT_IS_NS ? columns_ns : columns_count)(
			columns, figures[i].number, figures[i].width);
	}
	columns_add(columns, "\n");
}

void text_line_section(struct text *text, const char *title, const char *header,
		       const struct text_figure *figures, size_t n)
{
	char titles[128];
	bool began = !text->brief && figures[n - 1].form == TEXT_IS_BEGAN;

	if (!figures->number)
		return;
	snprintf(titles, sizeof(titles), "%s%s", header, began ? TEXT_BEGAN_TITLE : "");
	text_section(text, title, titles);
	columns_add(&text->columns, TEXT_INDENT);
	text_figures(text, figures, n);
}

static struct kd_count counts_of(const struct text_list *list, size_t row)
{
	struct kd_count counts;

	memcpy(&counts, (const char *)list->rows + row * list->size + list->counts, sizeof(counts));
	return counts;
}

struct text_cut text_cut(const struct text *text, const struct text_list *list, size_t most)
{
	struct text_cut cut = { .shown = list->n };

	if (!text->brief)
		return cut;
	cut.shown = u64_min(list->n, most);
	while (cut.shown && u64_times(counts_of(list, cut.shown - 1).total, 100) < list->life)
		cut.shown--;
	/* A line for one other row is no shorter than the row itself. */
	if (list->n - cut.shown == 1 && cut.shown)
		cut.shown++;
	cut.others = list->n - cut.shown;
	for (size_t i = cut.shown; i < list->n; i++) {
		cut.count = u64_add(cut.count, counts_of(list, i).count);
		cut.total = u64_add(cut.total, counts_of(list, i).total);
	}
	return cut;
}

bool text_has_lines(const struct text_cut *cut, const struct text_list *list)
{
	return cut->shown || (cut->others && u64_times(cut->total, 100) >= list->life);
}

void text_others_label(struct columns *columns, size_t others, size_t width)
{
	char label[16 + NUMBER_LEN];

	snprintf(label, sizeof(label), "and %s others", GROUPED(others));
	columns_add(columns, TEXT_INDENT);
	columns_left(columns, label, width);
}

void text_others(struct text *text, const struct text_cut *cut, size_t width)
{
	struct columns *columns = &text->columns;

	if (!cut->others)
		return;
	text_others_label(columns, cut->others, width);
	columns_gap_count(columns, cut->count, 10);
	columns_gap_ns(columns, cut->total, 16);
	columns_add(columns, "\n");
}

static bool is_at_left(const struct column *column)
{
	return column->width <= 0;
}

/* Adds the two spaces before a column. */
static void column_begin(struct columns *columns, const struct column *all,
			 const struct column *column)
{
	if (column > all && !is_at_left(column - 1))
		columns_add(columns, "  ");
}

/* True of all but when the longest began, which brief blocks have not. */
static bool is_shown(const struct text *text, const struct column *column)
{
	return column->kind != COLUMN_BEGAN || !text->brief;
}

static void rows_header(const struct text *text, char *header, size_t size,
			const struct column *all)
{
	*header = '\0';
	for (const struct column *column = all; column->title; column++)
		if (is_shown(text, column))
			text_append(header, size, "%s%*s",
				    column > all && !is_at_left(column - 1) ? "  " : "",
				    column->width, column->title);
}

static void row_cell(struct text *text, const struct column *column, const void *row)
{
	struct columns *columns = &text->columns;
	const size_t begun = columns->width;

	switch (column->kind) {
	case COLUMN_CELL:
		column->cell(columns, row);
		if (is_at_left(column))
			columns_pad(columns, columns->width - begun, (size_t)-column->width);
		break;
	case COLUMN_COUNT:
		columns_count(columns, row_figure(row, column->at), (size_t)column->width);
		break;
	case COLUMN_SUM:
	case COLUMN_MAX:
		columns_ns(columns, row_figure(row, column->at), (size_t)column->width);
		break;
	case COLUMN_BEGAN:
		began_cell(text, row_figure(row, column->at));
		break;
	}
}

/* Sums up rows in one line, after a label. */
static void rows_sum(struct text *text, const struct row_list *list, const char *rows, size_t n,
		     const char *label)
{
	struct columns *columns = &text->columns;
	const struct column *column = list->columns;
	size_t width = 0;

	for (; column->kind == COLUMN_CELL; column++)
		width += (column > list->columns && !is_at_left(column - 1) ? 2U : 0) +
			 (size_t)abs(column->width);
	columns_add(columns, TEXT_INDENT);
	columns_left(columns, label, width);
	for (; column->kind == COLUMN_COUNT || column->kind == COLUMN_SUM; column++) {
		uint64_t sum = 0;

		for (size_t i = 0; i < n; i++)
			sum = u64_add(sum, row_figure(rows + i * list->size, column->at));
		column_begin(columns, list->columns, column);
		(column->kind == COLUMN_COUNT ? columns_count : columns_ns)(columns, sum,
									    (size_t)column->width);
	}
	columns_add(columns, "\n");
}

static bool is_counted(const struct row_list *list, const char *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (row_figure(rows + i * list->size, list->count))
			return true;
	return false;
}

bool text_rows(struct text *text, const struct row_list *list, const void *rows, size_t n,
	       uint64_t life, void (*below)(struct text *text, const void *row))
{
	const struct text_list counts = {
		.rows = rows, .n = n, .size = list->size, .counts = list->count, .life = life
	};
	const struct text_cut cut =
		list->total ? text_cut(text, &counts, list->brief ?: TEXT_BRIEF_ROWS)
			    : (struct text_cut){ .shown = n }; /* without figures, no row is
								* small */
	struct columns *columns = &text->columns;
	char header[256], label[16 + NUMBER_LEN];

	if (!text_has_lines(&cut, &counts))
		return false;
	rows_header(text, header, sizeof(header), list->columns);
	text_section(text, list->title, header);
	for (size_t i = 0; i < cut.shown; i++) {
		const char *row = (const char *)rows + i * list->size;

		columns_add(columns, TEXT_INDENT);
		for (const struct column *column = list->columns; column->title; column++) {
			if (!is_shown(text, column))
				continue;
			column_begin(columns, list->columns, column);
			row_cell(text, column, row);
		}
		columns_add(columns, "\n");
		if (below)
			below(text, row);
	}
	snprintf(label, sizeof(label), "and %s others", GROUPED(cut.others));
	if (cut.others)
		rows_sum(text, list, (const char *)rows + cut.shown * list->size, cut.others,
			 label);
	if (list->sums && !text->brief && is_counted(list, rows, n))
		rows_sum(text, list, rows, n, "TOTAL:");
	return true;
}

/* --- Order of threads, and their states in a line --- */

int text_is_trigger(const struct sample *sample, const struct thread_row *thread)
{
	bool one = thread->members == 1;

	return one && sample->start_triggered && thread->tid == sample->started_on  ? 2
	       : one && sample->stop_triggered && thread->tid == sample->stopped_on ? 1
										    : 0;
}

bool text_wants_thread(const struct report_options *options, const struct thread_row *thread)
{
	return !options->threads || names_match_comm(options->threads, thread->name);
}

static uint64_t sum_of(const struct thread_row *row, size_t from, size_t to)
{
	uint64_t sum = 0;

	for (size_t i = from; i <= to; i++)
		sum = u64_add(sum, row->ledger.ns[i]);
	return sum;
}

static uint64_t sort_key(const struct verdict_thread *thread, enum report_sort sort)
{
	switch (sort) {
	case SORT_DELAY:
		return thread->delay;
	case SORT_LONGEST:
		return thread->longest;
	case SORT_RUNNING:
		return ledger_running(&thread->row->ledger);
	case SORT_READY:
		return sum_of(thread->row, LEDGER_READY_WOKEN, LEDGER_READY_PREEMPTED);
	case SORT_BLOCKED:
		return sum_of(thread->row, LEDGER_BLOCKED, LEDGER_BLOCKED_UNINT);
	default:
		return 0;
	}
}

struct order {
	const struct sample *sample;
	enum report_sort sort;
};

static int threads_compare(const void *a, const void *b, void *context)
{
	const struct verdict_thread *x = *(const struct verdict_thread *const *)a;
	const struct verdict_thread *y = *(const struct verdict_thread *const *)b;
	const struct order *order = context;
	uint64_t key_x = sort_key(x, order->sort), key_y = sort_key(y, order->sort);

	return (text_is_trigger(order->sample, y->row) - text_is_trigger(order->sample, x->row))
		       ?: ORDER(key_y, key_x)
		       ?: (order->sort == SORT_TID ? ORDER(x->row->tid, y->row->tid) : 0)
		       ?: ORDER(x->row, y->row); /* by name, then TID */
}

const struct verdict_thread **text_threads_order(const struct sample *sample,
						 const struct report_options *options, size_t *n)
{
	const struct verdict *verdict = sample->verdict;
	struct order order = { sample, options->sort };
	const struct verdict_thread **threads = calloc(verdict->n_threads ?: 1, sizeof(*threads));

	*n = 0;
	for (size_t i = 0; threads && i < verdict->n_threads; i++)
		if (text_wants_thread(options, verdict->threads[i].row))
			threads[(*n)++] = &verdict->threads[i];
	if (threads)
		qsort_r(threads, *n, sizeof(*threads), threads_compare, &order);
	return threads;
}

void text_thread_states(struct columns *columns, const struct ledger *ledger)
{
	bool written[LEDGER_STATES] = { false };
	uint64_t rest = ledger_sum(ledger);
	size_t left = 0;

	for (size_t state = 0; state < LEDGER_STATES; state++)
		left += ledger->ns[state] > 0;
	for (unsigned int i = 0; left && (i < 3 || left == 1); i++) {
		size_t most = LEDGER_STATES;

		for (size_t state = 0; state < LEDGER_STATES; state++)
			if (ledger->ns[state] && !written[state] &&
			    (most == LEDGER_STATES || ledger->ns[state] > ledger->ns[most]))
				most = state;
		written[most] = true;
		rest = u64_sub(rest, ledger->ns[most]);
		left--;
		columns_add(columns, i ? ", " : "");
		columns_add(columns, ledger_words[most].title);
		columns_add(columns, " ");
		columns_add(columns, AS_SHARE(ledger->ns[most], ledger->life));
	}
	if (left)
		columns_print(columns, ", %zu others %s", left, AS_SHARE(rest, ledger->life));
}

void text_path_cut(char *out, size_t size, const char *path, size_t length, size_t width)
{
	static const char cut[] = "...";
	const char *tail = out;

	escape_text(out, size, path, length);
	if (escape_width(out) <= width)
		return;
	while (escape_width(tail) + strlen(cut) > width || tail < out + strlen(cut))
		for (tail++; (*tail & 0xc0) == 0x80;) /* not inside a character */
			tail++;
	tail = strchr(tail, '/') ?: tail;
	memmove(out + strlen(cut), tail, strlen(tail) + 1);
	memcpy(out, cut, strlen(cut));
}
