/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "text_screen.h"

#include <stdio.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/escape.h"
#include "cli/base/parse.h"
#include "cli/base/texts.h"
#include "cli/model/losses.h"
#include "cli/model/words.h"
#include "text_advice.h"
#include "text_parts.h"
#include "text_processes.h"
#include "text_verdict.h"
#include "text_who.h"

/* Lines of tables without headers. With headers, verdict, window and advice they are
 * SCREEN_LINES at most. */
#define STATES_MOST 6
#define CAUSES_MOST 4
#define FIXED_LINES (1 + VERDICT_LINES + 3 + 1) /* window, verdict, headers, advice */
_Static_assert(FIXED_LINES + STATES_MOST + CAUSES_MOST + SCREEN_THREADS / 2 <= SCREEN_LINES,
	       "the screen has room for all");

/* --- Cells --- */

#define NUMBERS 10000000 /* no TID is larger */

static void cell_left(struct columns *columns, const char *escaped, size_t width)
{
	columns_add(columns, escaped);
	columns_pad(columns, escape_width(escaped), width);
}

static void cell_time(struct columns *columns, uint64_t ns)
{
	columns_right(columns, AS_TIME(ns), 9);
}

static void cell_share(struct columns *columns, uint64_t part, uint64_t total)
{
	columns_right(columns, AS_SHARE(part, total), 8);
}

/* " 4711 worker", " 12x worker" in 7 + 1 + 15 columns; the name in width. */
static void cell_thread(struct columns *columns, const struct thread_row *thread, size_t width)
{
	uint64_t shown = thread->members > 1 ? thread->members : (uint64_t)thread->tid;
	char name[16], number[NUMBER_LEN + 1] = "?";
	size_t length = 1;

	if (shown < (thread->members > 1 ? NUMBERS / 10 : NUMBERS))
		length = number_plain(number, shown);
	if (thread->members > 1)
		strcpy(number + length, "x");
	escape_text(name, sizeof(name), thread->name, KD_COMM_LEN);
	columns_right(columns, number, 7);
	columns_add(columns, " ");
	cell_left(columns, *name ? name : "<unknown>", width);
}

/* --- Parts, from top to bottom --- */

/* "redis-server[4711]: 1.00 s, 5 threads, CPU 0-1, nothing lost" */
static void screen_window(struct text *text)
{
	const struct sample *sample = text->sample;
	uint64_t cpus[KD_CPU_WORDS] = { 0 }, threads = 0, lost = sample_lost(sample);
	char name[PROCESSES_LEN] = "", list[17], what[32] = "nothing", rest[160], target[48];
	bool beyond = false;

	for (size_t i = 0; i < sample->n_threads; i++) {
		for (size_t j = 0; j < KD_CPU_WORDS; j++)
			cpus[j] |= sample->threads[i].cpus[j];
		beyond |= sample->threads[i].cpus_beyond;
		threads += sample->threads[i].members;
	}
	if (text_is_multiprocess(sample))
		text_processes_name(name, sample);
	else if (sample->capture)
		escape_text(name, KD_COMM_LEN, sample->capture->process, KD_COMM_LEN);
	if (!*name)
		strcpy(name, "process");
	if (text_is_multiprocess(sample))
		snprintf(target, sizeof(target), ", %llu processes",
			 (unsigned long long)processes_count(sample));
	else
		snprintf(target, sizeof(target), "[%d]", (int)sample->pid);
	text_cpus(list, sizeof(list), cpus, beyond);
	if (lost)
		snprintf(what, sizeof(what), "%llu", (unsigned long long)lost);
	snprintf(rest, sizeof(rest), "%s: %s, %llu thread%s, CPU %s, %s lost", target,
		 AS_TIME(sample->end - sample->start), (unsigned long long)threads,
		 threads == 1 ? "" : "s", list, what);
	rest[SCREEN_WIDTH - escape_width(name)] = '\0';
	text_bold(text, name);
	columns_add(&text->columns, rest);
	columns_add(&text->columns, "\n");
}

#define PRESSURE "PRESSURE"
#define PRESSURE_WIDTH (SCREEN_WIDTH - sizeof(PRESSURE) + 1)
#define PRESSURE_LEAST 1 /* percent; less is not worth a line */

/* Adds "CPU 45 %, I/O 2.1 %" after a word, as far as the line has columns for it. */
static void pressure_add(char line[static PRESSURE_WIDTH + 1], const char *word,
			 const struct pressure_set *set, uint64_t ns)
{
	char part[32];

	for (size_t i = 0; i < PRESSURES; i++) {
		const uint64_t some = set->of[i].some;

		if (!some || u64_times(some, 100) < u64_times(ns, PRESSURE_LEAST))
			continue;
		snprintf(part, sizeof(part), "%s%s %s", word, pressure_titles[i],
			 AS_SHARE(some, ns));
		if (strlen(line) + strlen(part) <= PRESSURE_WIDTH)
			strcat(line, part);
		word = ", ";
	}
}

/* "PRESSURE machine CPU 45 %, I/O 2.1 %; group CPU 80 %", if any of that is worth it. Returns the
 * number of lines. */
static size_t screen_pressure(struct text *text)
{
	const struct pressures *pressures = &text->sample->pressures;
	char line[PRESSURE_WIDTH + 1] = "";

	pressure_add(line, " machine ", &pressures->machine, pressures->ns);
	pressure_add(line, *line ? "; group " : " group ", &pressures->group, pressures->ns);
	if (!*line)
		return 0;
	text_bold(text, PRESSURE);
	columns_add(&text->columns, line);
	columns_add(&text->columns, "\n");
	return 1;
}

/* A ledger state, summed over the threads of the verdict. */
struct state_sum {
	uint64_t ns, worst_ns;
	const struct thread_row *worst;
};

static void states_sum(const struct sample *sample, struct state_sum sums[static LEDGER_STATES])
{
	for (size_t i = 0; i < sample->n_threads; i++) {
		const struct thread_row *thread = &sample->threads[i];

		if (!verdict_is_about(sample->verdict, thread))
			continue;
		for (size_t state = 0; state < LEDGER_STATES; state++) {
			uint64_t ns = thread->ledger.ns[state];

			sums[state].ns = u64_add(sums[state].ns, ns);
			if (ns > sums[state].worst_ns) {
				sums[state].worst = thread;
				sums[state].worst_ns = ns;
			}
		}
	}
}

/* True if the state is among the most largest ones. */
static bool is_listed(const struct state_sum sums[static LEDGER_STATES], size_t state, size_t most)
{
	size_t larger = 0;

	for (size_t i = 0; i < LEDGER_STATES; i++)
		larger += sums[i].ns > sums[state].ns ||
			  (sums[i].ns == sums[state].ns && i < state);
	return sums[state].ns && larger < most;
}

static void state_line(struct text *text, const struct verdict *verdict, const char *title,
		       uint64_t ns, uint64_t busy)
{
	struct columns *columns = &text->columns;

	columns_add(columns, "  ");
	columns_left(columns, title, 22);
	cell_time(columns, ns);
	columns_add(columns, " ");
	cell_share(columns, ns, verdict->life);
	columns_add(columns, " ");
	cell_share(columns, busy, verdict->busy);
}

/* Lists the states. The state of waiting for work only counts with its busy part. If space runs
 * out, the last line sums up the rest. */
static size_t states(struct text *text, const struct verdict *verdict, size_t most)
{
	struct state_sum sums[LEDGER_STATES] = { 0 };
	struct columns *columns = &text->columns;
	uint64_t rest = 0, rest_busy = 0;
	size_t n = 0, shown;
	char title[32];

	states_sum(text->sample, sums);
	for (size_t state = 0; state < LEDGER_STATES; state++)
		n += sums[state].ns > 0;
	shown = n > most ? most - 1 : n;
	text_bold(text, "STATE                        TIME    SHARE  OF BUSY     MOST OF IT IN");
	columns_add(columns, "\n");
	for (size_t state = 0; state < LEDGER_STATES; state++) {
		const struct state_sum *sum = &sums[state];
		uint64_t busy = sum->ns;

		if (state == LEDGER_BLOCKED)
			busy -= u64_min(verdict->work, busy);
		if (!is_listed(sums, state, shown)) {
			rest = u64_add(rest, sum->ns);
			rest_busy = u64_add(rest_busy, busy);
			continue;
		}
		state_line(text, verdict, ledger_words[state].title, sum->ns, busy);
		columns_add(columns, " ");
		cell_thread(columns, sum->worst, 0);
		columns_add(columns, "\n");
	}
	if (shown == n)
		return n;
	snprintf(title, sizeof(title), "and %zu others", n - shown);
	state_line(text, verdict, title, rest, rest_busy);
	columns_add(columns, "\n");
	return most;
}

#define CAUSE_WIDTH 24
#define WHO_WIDTH 24 /* a name and a TID */

/* Adds the line of a cause, or of unexplained time; but for its end. */
static void cause_columns(struct text *text, const struct verdict *verdict, const char *title,
			  const char *who, uint64_t ns, uint64_t longest)
{
	struct columns *columns = &text->columns;

	columns_add(columns, "  ");
	columns_left(columns, title, CAUSE_WIDTH);
	columns_add(columns, " ");
	cell_left(columns, who, WHO_WIDTH);
	cell_time(columns, ns);
	cell_share(columns, ns, verdict->busy);
	if (longest)
		cell_time(columns, longest);
	else if (*who)
		columns_right(columns, "-", 9);
}

static void sum_line(struct text *text, const struct verdict *verdict, const char *title,
		     uint64_t ns)
{
	cause_columns(text, verdict, title, "", ns, 0);
	columns_add(&text->columns, "\n");
}

/* "CPU, lock, pipe/socket" of one culprit by several causes, or how many they are. */
static const char *cause_title(const struct verdict_row *row, char title[static CAUSE_WIDTH + 1])
{
	static const char *const words[CAUSES] = {
		[CAUSE_TASK] = "CPU",         [CAUSE_OWN_THREADS] = "CPU",
		[CAUSE_RT_LIMIT] = "CPU",     [CAUSE_SOFTIRQ] = "softirqs",
		[CAUSE_LOCK] = "lock",        [CAUSE_KERNEL_LOCK] = "kernel lock",
		[CAUSE_PEER] = "pipe/socket", [CAUSE_STOPPED] = "stopped",
	};
	char all[256] = "";

	if (!row->n_parts)
		return cause_words[row->cause].title;
	for (unsigned int i = 0; i < row->n_parts; i++)
		text_append(all, sizeof(all), "%s%s", i ? ", " : "",
			    words[row->parts[i].cause] ?: cause_words[row->parts[i].cause].title);
	if (strlen(all) > CAUSE_WIDTH)
		snprintf(all, sizeof(all), "%u causes", row->n_parts);
	snprintf(title, CAUSE_WIDTH + 1, "%.*s", CAUSE_WIDTH, all);
	return title;
}

static void row_line(struct text *text, const struct verdict *verdict,
		     const struct verdict_row *row)
{
	char who[WHO_LEN], title[CAUSE_WIDTH + 1];

	text_row_who_brief(who, row, WHO_WIDTH);
	cause_columns(text, verdict, cause_title(row, title), *who ? who : "-", row->ns,
		      row->longest);
	columns_add(&text->columns, row->before ? " *\n" : "\n");
}

static bool any_began_before(const struct verdict *verdict)
{
	for (size_t i = 0; i < verdict->n_told; i++)
		if (verdict->told[i].before)
			return true;
	return false;
}

/* Next row by descending rank, ties in order; NULL: no more. */
static const struct verdict_row *row_below(const struct verdict *verdict,
					   const struct verdict_row *before)
{
	const struct verdict_row *next = NULL;

	for (size_t i = 0; i < verdict->n_told; i++) {
		const struct verdict_row *row = &verdict->told[i];

		if (before &&
		    (row->rank > before->rank || (row->rank == before->rank && row <= before)))
			continue;
		if (!next || row->rank > next->rank)
			next = row;
	}
	return next;
}

/* Lists all causes, largest first. If space runs out, the last line sums up the rest. */
static void causes(struct text *text, const struct verdict *verdict, size_t most)
{
	/* Less is not worth a line. */
	bool is_much = u64_times(verdict->unexplained, 100) >= verdict->busy;
	uint64_t unexplained = is_much ? verdict->unexplained : 0, left = verdict->unexplained;
	/* A second culprit, idle CPUs and moved threads take extra lines of advice. */
	size_t taken = text_has_second(verdict) + text_has_cpus(text->sample) +
		       (verdict->moves > 0) + any_began_before(verdict),
	       n = verdict->n_told + is_much;
	bool before = false;
	const struct verdict_row *row = NULL, *next = row_below(verdict, NULL);
	char title[32];

	most = most > taken + 1 ? most - taken : 2;
	text_bold(text, "KEPT FROM RUNNING BY       WHO                          "
			"TIME OF BUSY  LONGEST");
	columns_add(&text->columns, "\n");
	for (size_t i = 0; i < verdict->n_told; i++)
		left = u64_add(left, verdict->told[i].ns);
	for (size_t i = 0; i < n && i < (n > most ? most - 1 : most); i++) {
		if (unexplained && (!next || unexplained > next->ns)) {
			sum_line(text, verdict, "unexplained", unexplained);
			left -= unexplained;
			unexplained = 0;
			continue;
		}
		row = next;
		row_line(text, verdict, row);
		before |= row->before;
		left -= u64_min(row->ns, left);
		next = row_below(verdict, row);
	}
	if (n > most) {
		snprintf(title, sizeof(title), "and %zu others", n - (most - 1));
		sum_line(text, verdict, title, left);
	}
	if (before)
		columns_add(&text->columns, "  * the longest began before the sample\n");
}

void text_screen_thread(struct columns *columns, const struct verdict_thread *thread)
{
	cell_thread(columns, thread->row, 15);
	cell_time(columns, thread->delay);
	cell_share(columns, thread->delay, thread->busy);
}

/* Sums of threads without space on the screen. */
struct thread_rest {
	uint64_t members, delay, busy;
};

static void thread_rest_add(struct thread_rest *rest, const struct verdict_thread *thread)
{
	rest->members = u64_add(rest->members, thread->row->members);
	rest->delay = u64_add(rest->delay, thread->delay);
	rest->busy = u64_add(rest->busy, thread->busy);
}

static void rest_cell(struct columns *columns, const struct thread_rest *rest)
{
	char title[16 + NUMBER_LEN];

	snprintf(title, sizeof(title), "and %s others", GROUPED(rest->members));
	columns_right(columns, "", 3);
	cell_left(columns, title, 20);
	cell_time(columns, rest->delay);
	cell_share(columns, rest->delay, rest->busy);
}

/* Lists threads that lost time, after those whose probes made the sample, two per line. If space
 * runs out, the last cell sums up the rest. */
static void threads(struct text *text, const struct verdict_thread *const *order, size_t n)
{
	struct columns *columns = &text->columns;
	const struct verdict_thread *listed[SCREEN_THREADS];
	struct thread_rest rest = { 0 };
	size_t n_listed = 0;

	for (size_t i = 0; i < n; i++) {
		if (!order[i]->delay && !text_is_trigger(text->sample, order[i]->row))
			continue;
		if (n_listed < SCREEN_THREADS)
			listed[n_listed] = order[i];
		if (n_listed++ >= SCREEN_THREADS)
			thread_rest_add(&rest, order[i]);
	}
	if (!n_listed)
		return;
	if (n_listed > SCREEN_THREADS) {
		n_listed = SCREEN_THREADS;
		thread_rest_add(&rest, listed[SCREEN_THREADS - 1]);
	}
	text_bold(text, TEXT_SCREEN_THREADS);
	if (n_listed > 1) {
		columns_add(columns, " ");
		text_bold(text, TEXT_SCREEN_THREADS);
	}
	columns_add(columns, "\n");
	for (size_t i = 0; i < n_listed; i++) {
		if (rest.members && i + 1 == n_listed)
			rest_cell(columns, &rest);
		else
			text_screen_thread(columns, listed[i]);
		columns_add(columns, i % 2 || i + 1 == n_listed ? "\n" : "");
	}
}

/* Gives spare lines to the causes; spare: those of the threads. */
static void full_top(struct text *text, size_t spare)
{
	const struct verdict *verdict = text->sample->verdict;
	size_t left = VERDICT_LINES + CAUSES_MOST + spare, used;

	screen_window(text);
	used = screen_pressure(text);
	used += text_verdict(text);
	if (verdict->life)
		left += STATES_MOST - states(text, verdict, STATES_MOST);
	if (verdict->n_told || verdict->unexplained)
		causes(text, verdict, left > used ? left - used : 0);
}

void text_screen_top(struct text *text, size_t lines)
{
	const struct verdict *verdict = text->sample->verdict;
	size_t used, rows, n_causes;

	screen_window(text);
	used = 1 + screen_pressure(text);
	used += text_verdict(text);
	rows = lines > used + 2 ? lines - used - 2 : 0; /* without headers */
	n_causes = u64_min(u64_min(verdict->n_told + 1, CAUSES_MOST), rows / 2);
	if (verdict->life && rows)
		states(text, verdict, u64_min(rows - n_causes, STATES_MOST));
	if ((verdict->n_told || verdict->unexplained) && n_causes)
		causes(text, verdict, n_causes);
}

int text_screen(struct text *text, const struct verdict_thread *const *order, size_t n)
{
	bool multiple = text_is_multiprocess(text->sample);
	size_t threads_at_most = u64_min(multiple ? SIZE_MAX : n, SCREEN_THREADS);
	int error = 0;

	full_top(text, (SCREEN_THREADS - threads_at_most) / 2);
	if (multiple)
		error = text_screen_processes(text);
	else
		threads(text, order, n);
	text_advice(text);
	return error;
}
