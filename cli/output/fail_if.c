/* SPDX-License-Identifier: Apache-2.0 */
#include "fail_if.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/base/names.h"
#include "cli/model/comparison.h"
#include "cli/model/thread_row.h"
#include "cli/model/verdict.h"
#include "cli/model/words.h"
#include "fail_if_condition.h"

/* --- Figures --- */

/* Counts and ns. */
struct fail_figures {
	uint64_t count, total, max;
	uint64_t shares[DISTRIBUTION_SHARES]; /* maximum over all labels */
	uint64_t bytes;
	uint64_t open; /* longest one still open at the window's end; 0: none */
};

static void figures_add(struct fail_figures *sum, const struct figures *figures)
{
	sum->count += figures->count;
	sum->total += figures->total;
	sum->bytes += figures->bytes;
	sum->max = u64_max(sum->max, figures->complete.max);
	sum->open = u64_max(sum->open, figures->complete.open);
	for (size_t i = 0; figures->complete.times.ended && i < DISTRIBUTION_SHARES; i++)
		sum->shares[i] = u64_max(sum->shares[i],
					 durations_permille(&figures->complete.times,
							    distribution_shares[i].permille));
}

/* Adds what the ledger knows: all time of a state, including what crosses the window's edges,
 * but not how often. */
static void states_read(const struct fail_metric *metric, const struct thread_row *thread,
			struct fail_figures *figures)
{
	enum ledger_state only;

	figures->total = 0;
	for (int state = 0; state < LEDGER_STATES; state++)
		if (metric->states & FAIL_HAS(state))
			figures->total += thread->ledger.ns[state];
	/* A single state throughout is missing in the tables of what began and ended. */
	if (!thread_is_silent(thread, &only))
		return;
	if (thread->members > 1)
		figures->total /= thread->members;
	figures->max = u64_max(figures->max, figures->total);
}

/* Only counts labels that match the pattern; "" matches all. A row of silent threads yields the
 * figures of one thread. */
static void thread_read(const struct fail_metric *metric, const char *label,
			const struct thread_row *thread, struct fail_figures *sum)
{
	const struct figures_source *source = *label || !metric->all.read ? &metric->figures
									  : &metric->all;
	struct figures figures;

	for (size_t i = 0; source->read && source->read(source, thread, i, &figures); i++)
		if (!*label || names_match(label, figures.name))
			figures_add(sum, &figures);
	if (metric->states && !*label)
		states_read(metric, thread, sum);
}

/* Value of a field; for quantiles and percentages, of what they are taken from. */
static uint64_t fail_figures_field(const struct fail_figures *figures, enum fail_field field)
{
	if (field == FAIL_TOTAL || fail_field_is_percentage(field))
		return figures->total;
	if (fail_field_is_share(field))
		return figures->shares[field - FAIL_SHARES];
	if (field == FAIL_BYTES)
		return figures->bytes;
	return field == FAIL_MAX ? figures->max : figures->count;
}

/* True if the value is the length so far of an item open at the window's end. */
static bool fail_figures_so_far(const struct fail_figures *figures, enum fail_field field)
{
	return figures->open && (field == FAIL_MAX || fail_field_is_share(field)) &&
	       fail_figures_field(figures, field) == figures->open;
}

/* --- Conditions on samples --- */

struct fail_if {
	size_t n;
	struct condition conditions[];
};

exit_status fail_if_new(struct fail_if **out, const char *option, const char *const *texts,
			size_t n, const struct fail_recorded *recorded)
{
	struct fail_if *fail_if = calloc(1, sizeof(*fail_if) + n * sizeof(fail_if->conditions[0]));
	exit_status status = 0;

	*out = fail_if;
	if (!fail_if)
		return log_no_memory();
	fail_if->n = n;
	for (size_t i = 0; i < n && !status; i++)
		status = condition_read(&fail_if->conditions[i], option, texts[i], recorded);
	return status;
}

/* -1, 0 or 1: part/total is less than, equal to, or greater than other/other_total. */
static int compare(uint64_t part, uint64_t total, uint64_t other, uint64_t other_total)
{
	__extension__ typedef unsigned __int128 wide;
	wide left = (wide)part * other_total, right = (wide)other * total;

	return left < right ? -1 : left > right;
}

/* Checks one figure, out of total for percentages. */
static void figure_check(struct condition *condition, uint64_t value, uint64_t total,
			 const struct excess *whose)
{
	bool share = fail_field_is_percentage(condition->field);
	struct excess *excess = &condition->excess;
	uint64_t times = excess->times;
	int order;

	if (share && !total)
		return; /* the thread did not live */
	order = share ? compare(value, total, condition->threshold, 100 * FAIL_PERCENT)
		      : compare(value, 1, condition->threshold, 1);
	if (condition->below)
		order = -order;
	if (order < 0 || (!order && !condition->equal))
		return;
	order = times ? compare(value, share ? total : 1, excess->value, share ? excess->total : 1)
		      : 1;
	if (!times || (condition->below ? order < 0 : order > 0)) {
		*excess = *whose;
		excess->value = value;
		excess->total = share ? total : 0;
		excess->is_time = fail_field_is_time(condition->field);
	}
	excess->times = times + 1;
}

static bool wants_thread(const struct condition *condition, const char name[static KD_COMM_LEN])
{
	return !*condition->threads || names_match_comm(condition->threads, name);
}

static void condition_check_threads(struct condition *condition, const struct sample *sample,
				    uint64_t number)
{
	for (size_t i = 0; i < sample->n_threads; i++) {
		const struct thread_row *thread = &sample->threads[i];
		uint64_t life = thread->ledger.life;
		struct excess whose = {
			.tid = thread->tid,
			.members = thread->members,
			.sample = number,
		};
		struct fail_figures figures = { 0 };
		enum ledger_state only;

		if (!wants_thread(condition, thread->name))
			continue;
		memcpy(whose.name, thread->name, sizeof(whose.name));
		if (thread->members > 1 && thread_is_silent(thread, &only))
			life /= thread->members;
		thread_read(condition->metric, condition->glob, thread, &figures);
		whose.so_far = fail_figures_so_far(&figures, condition->field);
		figure_check(condition, fail_figures_field(&figures, condition->field), life,
			     &whose);
	}
}

/* Number and sum cover all threads; the longest is of one. */
static void waits_check(struct condition *condition, const struct sample *sample, uint64_t number)
{
	const struct trace_list *list = &sample->traces;
	struct excess whose = { .sample = number };
	struct fail_figures sum = { 0 };

	for (size_t i = 0; i < list->n; i++) {
		const struct trace_row *row = &list->rows[i];
		uint64_t length = trace_duration(list, row, sample->end);

		if (row->kind != TRACE_WAIT || !wants_thread(condition, row->name))
			continue;
		sum.count++;
		sum.total += length;
		if (condition->field != FAIL_MAX)
			continue;
		whose.tid = row->tid;
		memcpy(whose.name, row->name, sizeof(whose.name));
		figure_check(condition, length, 0, &whose);
	}
	if (condition->field != FAIL_MAX)
		figure_check(condition, fail_figures_field(&sum, condition->field), 0, &whose);
}

/* Checks each blamed culprit. */
static void verdict_check(struct condition *condition, const struct sample *sample, uint64_t number)
{
	struct excess whose = { .sample = number };
	const struct verdict *verdict = sample->verdict;
	bool any = false;

	for (size_t i = 0; i < verdict->n_blamed; i++) {
		const struct verdict_row *row = &verdict->rows[i];
		const struct fail_figures figures = { .count = row->count,
						      .total = row->ns,
						      .max = row->longest,
						      .open = row->so_far };

		if (*condition->glob && !names_match(condition->glob, cause_words[row->cause].key))
			continue;
		any = true;
		whose.so_far = fail_figures_so_far(&figures, condition->field);
		figure_check(condition, fail_figures_field(&figures, condition->field),
			     verdict->busy, &whose);
	}
	whose.so_far = false;
	if (!any) /* no culprit: a share of 0 */
		figure_check(condition, 0, 1, &whose);
}

/* Checks each that is known, of those with the name. */
static void pressure_check(struct condition *condition, const struct sample *sample,
			   uint64_t number)
{
	const struct pressure_set *set = condition->metric->pressure(sample);
	const struct excess whose = { .sample = number };
	uint64_t ns;

	for (size_t i = 0; i < PRESSURE_FIGURES; i++)
		if ((!*condition->glob || names_match(condition->glob, pressure_figures[i])) &&
		    pressure_figure(set, i, &ns))
			figure_check(condition, ns, sample->pressures.ns, &whose);
}

/* Of all CPUs together. */
static void softirqs_check(struct condition *condition, const struct sample *sample,
			   uint64_t number)
{
	struct excess whose = { .sample = number };
	struct fail_figures sum = { 0 };

	for (size_t i = 0; i < sample->n_softirq_delays; i++) {
		const struct softirq_delay *row = &sample->softirq_delays[i];

		if (*condition->glob && !names_match_comm(condition->glob, row->name))
			continue;
		sum.count += row->delays.count;
		sum.total = u64_add(sum.total, row->delays.total);
		sum.max = u64_max(sum.max, row->delays.max);
		sum.open = u64_max(sum.open, row->open ? row->delays.max : 0);
	}
	whose.so_far = fail_figures_so_far(&sum, condition->field);
	figure_check(condition, fail_figures_field(&sum, condition->field), 0, &whose);
}

exit_status fail_if_check(struct fail_if *fail_if, const struct sample *sample, uint64_t number)
{
	for (size_t i = 0; i < fail_if->n; i++) {
		struct condition *condition = &fail_if->conditions[i];
		struct excess whose = { .sample = number };

		if (condition->metric->kind == FAIL_CHANGED)
			continue; /* checked after the last sample */
		if (condition_find(condition, sample, number))
			return EX_DATAERR;
		if (condition->metric->kind == FAIL_WAITS) {
			waits_check(condition, sample, number);
		} else if (condition->metric->kind == FAIL_VERDICT) {
			verdict_check(condition, sample, number);
		} else if (condition->metric->kind == FAIL_PRESSURE) {
			pressure_check(condition, sample, number);
		} else if (condition->metric->kind == FAIL_SOFTIRQS) {
			softirqs_check(condition, sample, number);
		} else if (fail_metric_of_threads(condition->metric)) {
			condition_check_threads(condition, sample, number);
		} else {
			figure_check(condition, condition->metric->value(sample), 0, &whose);
		}
	}
	return 0;
}

/* In millionths: rates may be below one per second. */
static uint64_t millionths_of(double value)
{
	return value < 1.8e13 ? (uint64_t)(value * 1e6 + 0.5) : UINT64_MAX;
}

/* Checks the number of differences, or the increase of one. */
static void changed_look(struct condition *condition, const struct comparison *comparison)
{
	struct excess whose = { .sample = 0 };
	uint64_t count = 0;

	for (size_t i = 0; i < comparison->n; i++) {
		const struct difference *difference = &comparison->all[i];
		double before = difference->before.mean, more = difference->now.mean - before;
		const struct series_subject *subject = difference->subject;
		const char *key = difference->measure ? difference->measure->key
						      : cause_words[subject->cause].key;

		if ((subject->is_cause && *condition->threads) ||
		    (*condition->glob && !names_match(condition->glob, key)) ||
		    !wants_thread(condition, subject->name))
			continue;
		count++;
		memcpy(whose.name, subject->name, sizeof(whose.name));
		if (condition->field == FAIL_PCT && more > 0)
			figure_check(condition, millionths_of(more),
				     before > 0 ? u64_max(millionths_of(before), 1) : 1000000,
				     &whose);
	}
	if (condition->field == FAIL_COUNT)
		figure_check(condition, count, 0, &(struct excess){ .sample = 0 });
}

exit_status fail_if_compare(struct fail_if *fail_if, const struct comparison *comparison)
{
	for (size_t i = 0; comparison && i < fail_if->n; i++) {
		struct condition *condition = &fail_if->conditions[i];

		if (condition->metric->kind != FAIL_CHANGED)
			continue;
		if (comparison->few) {
			log_error("option %s: '%s': there are too few samples to tell",
				  condition->option, condition->text);
			log_hint("take at least eight in each capture");
			return EX_DATAERR;
		}
		if (!series_is_held(comparison->before, comparison->now, condition->glob)) {
			log_error("option %s: '%s': not both captures have it, taken alike",
				  condition->option, condition->text);
			log_hint("take both with the same options");
			return EX_DATAERR;
		}
		changed_look(condition, comparison);
	}
	return 0;
}

void fail_if_reset(struct fail_if *fail_if)
{
	for (size_t i = 0; i < fail_if->n; i++)
		fail_if->conditions[i].excess = (struct excess){ 0 };
}

const struct excess *fail_if_excess(const struct fail_if *fail_if, size_t index)
{
	return index < fail_if->n ? &fail_if->conditions[index].excess : NULL;
}

static void excess_tell(const struct condition *condition)
{
	const struct excess *excess = &condition->excess;
	char words[EXCESS_WORDS_LEN], times[64] = "", where[64] = "the comparison";

	excess_words(words, excess);
	if (excess->times > 1)
		snprintf(times, sizeof(times), ", and %llu more",
			 (unsigned long long)excess->times - 1);
	if (excess->sample)
		snprintf(where, sizeof(where), "sample %llu", (unsigned long long)excess->sample);
	log_error("%s '%s': %s in %s%s", condition->option, condition->text, words, where, times);
}

bool fail_if_tell(const struct fail_if *fail_if)
{
	bool any = false;

	for (size_t i = 0; i < fail_if->n; i++) {
		if (!fail_if->conditions[i].excess.times)
			continue;
		excess_tell(&fail_if->conditions[i]);
		any = true;
	}
	return any;
}

void fail_if_free(struct fail_if *fail_if)
{
	free(fail_if);
}
