// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "summary.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "cli/base/clock.h"

/* Shared by all threads of a sample. */
struct adding {
	struct summary *summary;
	const struct sample *sample;
	double seconds; /* length of the window */
};

/* Allocates a thread's arrays; rates only if they have their own statistics. */
static int memory_get(const struct summary *summary, struct summary_thread *thread)
{
	thread->values = calloc(summary->measures.n, sizeof(*thread->values));
	thread->used = calloc(summary->measures.n, sizeof(*thread->used));
	if (summary->uneven)
		thread->rates = calloc(summary->measures.rates, sizeof(*thread->rates));
	return thread->values && thread->used && (thread->rates || !summary->uneven) ? 0 : -ENOMEM;
}

static void memory_free(struct summary_thread *thread)
{
	free(thread->values);
	free(thread->rates);
	free(thread->used);
}

struct summary *summary_new(double alpha)
{
	struct summary *summary = calloc(1, sizeof(*summary));

	if (!summary)
		return NULL;
	summary->alpha = alpha;
	summary->span = 1;
	if (!measures_find(&summary->measures) && !memory_get(summary, &summary->all))
		summary->row = calloc(2 * summary->measures.n, sizeof(*summary->row));
	if (summary->row) {
		summary->sum = summary->row + summary->measures.n;
		return summary;
	}
	summary_free(summary);
	return NULL;
}

void summary_free(struct summary *summary)
{
	if (!summary)
		return;
	for (size_t i = 0; i < summary->n; i++)
		memory_free(&summary->threads[i]);
	memory_free(&summary->all);
	free(summary->threads);
	free(summary->row);
	measures_clear(&summary->measures);
	free(summary);
}

/* --- Finding threads --- */

/* Slot of a thread in the hash table, or a free one. */
static uint32_t *table_entry(struct summary *summary, pid_t pid, pid_t tid)
{
	uint32_t hash = ((uint32_t)pid * 31 + (uint32_t)tid) * 2654435761U;

	for (size_t at = hash;; at++) {
		uint32_t *entry = &summary->table[at % (2 * SUMMARY_THREADS)];
		const struct summary_thread *thread = *entry ? &summary->threads[*entry - 1] : NULL;

		if (!thread || (thread->pid == pid && thread->tid == tid))
			return entry;
	}
}

/* Adds a thread for a row. NULL: limit reached (counted), or no memory. */
static struct summary_thread *thread_make(struct summary *summary, const struct thread_row *row,
					  int *error)
{
	struct summary_thread *thread;

	if (summary->n == SUMMARY_THREADS) {
		summary->left_out++;
		return NULL;
	}
	*error = ARRAY_GROW(summary->threads, summary->n, summary->capacity);
	if (*error)
		return NULL;
	thread = &summary->threads[summary->n];
	*thread = (struct summary_thread){
		.pid = row->pid,
		.tid = row->tid,
		.members = row->members,
		.first = summary->samples,
	};
	summary->n++; /* counted first, so that its memory is freed */
	*error = memory_get(summary, thread);
	return *error ? NULL : thread;
}

/* Finds idle threads that share a name, in this state. */
static struct summary_thread *silent_find(struct summary *summary, const struct thread_row *row,
					  enum ledger_state state)
{
	for (size_t i = 0; i < summary->n; i++) {
		struct summary_thread *thread = &summary->threads[i];

		if (thread->members > 1 && thread->pid == row->pid && thread->state == state &&
		    !strncmp(thread->name, row->name, KD_COMM_LEN))
			return thread;
	}
	return NULL;
}

/* Largest group of idle threads of a process and name in a sample; NULL: none. */
static struct summary_thread *silent_in(struct summary *summary, pid_t pid, const char *name,
					uint64_t sample)
{
	struct summary_thread *found = NULL;

	for (size_t i = 0; i < summary->n; i++) {
		struct summary_thread *thread = &summary->threads[i];

		if (thread->members > 1 && thread->pid == pid && thread->last == sample &&
		    !strncmp(thread->name, name, KD_COMM_LEN) &&
		    (!found || thread->members > found->members))
			found = thread;
	}
	return found;
}

/* --- Adding a sample --- */

/* Halves the points; each covers twice as many samples. */
static void points_halve(struct summary_thread *thread)
{
	for (size_t i = 0; i < SUMMARY_POINTS; i++)
		thread->delays[i] = i < SUMMARY_POINTS / 2
					    ? thread->delays[2 * i] + thread->delays[2 * i + 1]
					    : 0;
}

static void span_grow(struct summary *summary)
{
	if (summary->samples <= SUMMARY_POINTS * summary->span)
		return;
	summary->span *= 2;
	points_halve(&summary->all);
	for (size_t i = 0; i < summary->n; i++)
		points_halve(&summary->threads[i]);
}

/* Turns statistics of a measure over equally long windows into those of its rate. */
static struct statistic rate_of(const struct statistic *value, double seconds)
{
	struct statistic rate = *value;

	rate.mean /= seconds;
	rate.squares /= seconds * seconds;
	rate.min /= seconds;
	rate.max /= seconds;
	rate.last /= seconds;
	rate.steps /= seconds;
	rate.ewma /= seconds;
	return rate;
}

static int rates_begin(const struct summary *summary, struct summary_thread *thread)
{
	const struct measures *measures = &summary->measures;

	thread->rates = calloc(measures->rates, sizeof(*thread->rates));
	if (!thread->rates)
		return -ENOMEM;
	for (size_t i = 0; i < measures->n; i++)
		if (measures->all[i].rate != SIZE_MAX)
			thread->rates[measures->all[i].rate] = rate_of(
				&thread->values[i], (double)summary->window / (double)NSEC_PER_SEC);
	return 0;
}

/* Checks the length of a window. */
static int window_add(struct summary *summary, uint64_t ns)
{
	uint64_t differs = ns > summary->window ? ns - summary->window : summary->window - ns;
	int error;

	if (summary->samples == 1)
		summary->window = ns;
	if (summary->samples == 1 || summary->uneven || differs <= summary->window / 1000)
		return 0;
	error = rates_begin(summary, &summary->all);
	for (size_t i = 0; i < summary->n && !error; i++)
		error = rates_begin(summary, &summary->threads[i]);
	summary->uneven = true;
	return error;
}

/* Adds the values of a thread, or equal shares for a group. */
static void thread_add(const struct adding *adding, struct summary_thread *thread,
		       const double *values, double members)
{
	const struct measures *measures = &adding->summary->measures;
	const struct statistic_step step = {
		.n = ++thread->n,
		.sample = adding->summary->samples,
		.weight = 1 / (double)thread->n,
		.alpha = adding->summary->alpha,
	};

	thread->last = adding->summary->samples;
	for (size_t i = 0; i < measures->n; i++) {
		size_t rate = measures->all[i].rate;
		double value = values[i];

		if (value == 0 && !thread->used[i])
			continue;
		thread->used[i] = true;
		if (rate != SIZE_MAX && members != 1)
			value /= members;
		statistic_add(&thread->values[i], value, &step);
		if (thread->rates && rate != SIZE_MAX)
			statistic_add(&thread->rates[rate], value / adding->seconds, &step);
	}
	thread->delays[(adding->summary->samples - 1) / adding->summary->span] +=
		values[MEASURE_DELAY] / members / (adding->seconds * (double)NSEC_PER_SEC);
}

/* A thread without events was part of a group of idle threads. Copy the group's history when the
 * thread first gets its own row. */
static void thread_inherit(struct summary *summary, struct summary_thread *thread,
			   const struct thread_row *row)
{
	const struct summary_thread *silent = silent_in(summary, row->pid, row->name,
							summary->samples - 1);
	const struct measures *measures = &summary->measures;

	if (!silent)
		return;
	memcpy(thread->values, silent->values, measures->n * sizeof(*thread->values));
	memcpy(thread->used, silent->used, measures->n * sizeof(*thread->used));
	memcpy(thread->delays, silent->delays, sizeof(thread->delays));
	if (thread->rates)
		memcpy(thread->rates, silent->rates, measures->rates * sizeof(*thread->rates));
	thread->n = silent->n;
	thread->first = silent->first;
}

static int row_add(const struct adding *adding, const struct thread_row *row)
{
	struct summary *summary = adding->summary;
	uint64_t window = adding->sample->end - adding->sample->start;
	uint32_t *entry = table_entry(summary, row->pid, row->tid);
	struct summary_thread *thread = *entry ? &summary->threads[*entry - 1] : NULL;
	int error = 0;

	if (!thread || thread->ended) {
		thread = thread_make(summary, row, &error);
		if (!thread)
			return error;
		*entry = (uint32_t)summary->n;
		if (row->ledger.life >= window)
			thread_inherit(summary, thread, row);
		summary->came += thread->first > 1;
	}
	memcpy(thread->name, row->name, sizeof(thread->name));
	thread->members = 1;
	thread->ended = row->ended;
	summary->went += row->ended;
	thread_add(adding, thread, summary->row, 1);
	return 0;
}

/* Adds a group of idle threads, which are all alike. Ended threads are only counted. */
static int folded_add(const struct adding *adding, const struct thread_row *row)
{
	struct summary *summary = adding->summary;
	enum ledger_state state = LEDGER_STATES;
	struct summary_thread *thread;
	int error = 0;

	if (row->ended) {
		summary->went += row->members;
		return 0;
	}
	thread_is_silent(row, &state);
	thread = silent_find(summary, row, state);
	if (!thread)
		thread = thread_make(summary, row, &error);
	if (!thread)
		return error;
	memcpy(thread->name, row->name, sizeof(thread->name));
	thread->state = state;
	thread->members = row->members;
	thread->tid = row->tid;
	thread_add(adding, thread, summary->row, row->members);
	return 0;
}

/* True if a row of ended threads may include the thread. */
static bool ended_has(const struct sample *sample, const struct summary_thread *thread)
{
	for (size_t i = 0; i < sample->n_threads; i++) {
		const struct thread_row *row = &sample->threads[i];

		if (row->members > 1 && row->ended && row->pid == thread->pid &&
		    !strncmp(row->name, thread->name, KD_COMM_LEN))
			return true;
	}
	return false;
}

/* Adds a thread that has no row of its own in the sample: it was idle, or is gone. */
static void absent_add(const struct adding *adding, struct summary_thread *thread)
{
	struct summary *summary = adding->summary;
	const struct summary_thread *silent;
	double *row = summary->row;

	if (thread->ended || thread->members > 1 || thread->last == summary->samples)
		return;
	silent = silent_in(summary, thread->pid, thread->name, summary->samples);
	if (!silent) {
		thread->ended = true;
		summary->went += !ended_has(adding->sample, thread);
		return;
	}
	for (size_t i = 0; i < summary->measures.n; i++)
		row[i] = silent->values[i].last;
	thread_add(adding, thread, row, 1);
}

/* Adds the sum of all threads. */
static void all_add(const struct adding *adding)
{
	const struct sample *sample = adding->sample;
	struct summary *summary = adding->summary;
	unsigned int members = 0;

	for (size_t i = 0; i < sample->n_threads; i++)
		members += sample->threads[i].members;
	summary->all.members = members;
	summary->all.first = 1;
	thread_add(adding, &summary->all, summary->sum, 1);
}

int summary_add(struct summary *summary, const struct sample *sample)
{
	const struct adding adding = {
		summary, sample,
		(double)(sample->end > sample->start ? sample->end - sample->start : 1) /
			(double)NSEC_PER_SEC
	};
	const struct verdict *verdict = sample->verdict;
	int error;

	summary->samples++;
	summary->ns += sample->end - sample->start;
	error = window_add(summary, sample->end - sample->start);
	span_grow(summary);
	memset(summary->sum, 0, summary->measures.n * sizeof(*summary->sum));
	for (size_t i = 0; i < verdict->n_threads && !error; i++) {
		const struct verdict_thread *thread = &verdict->threads[i];

		measures_read(&summary->measures, thread, summary->row);
		measures_merge(&summary->measures, summary->sum, summary->row);
		error = thread->row->members > 1 ? folded_add(&adding, thread->row)
						 : row_add(&adding, thread->row);
	}
	for (size_t i = 0; i < summary->n && !error; i++)
		absent_add(&adding, &summary->threads[i]);
	if (!error)
		all_add(&adding);
	return error;
}

/* --- Reading --- */

size_t summary_points(const struct summary *summary)
{
	return (size_t)((summary->samples + summary->span - 1) / summary->span);
}

double summary_point(const struct summary *summary, const struct summary_thread *thread,
		     size_t point)
{
	uint64_t left = summary->samples - point * summary->span;

	return thread->delays[point] / (double)(left < summary->span ? left : summary->span);
}

const struct statistic *summary_value(const struct summary_thread *thread, size_t measure)
{
	const struct statistic *statistic = &thread->values[measure];

	return isnan(statistic->mean) ? NULL : statistic;
}

bool summary_rate(const struct summary *summary, const struct summary_thread *thread,
		  size_t measure, struct statistic *rate)
{
	size_t index = summary->measures.all[measure].rate;
	double mean = (double)summary->ns / (double)(summary->samples * NSEC_PER_SEC);

	if (index == SIZE_MAX || !summary_value(thread, measure) || !summary->ns)
		return false;
	*rate = thread->rates ? thread->rates[index] : rate_of(&thread->values[measure], mean);
	return true;
}

/* --- Ranking --- */

/* A count that varies by its own mean weighs as much as a time that varies by 1/1000 of the
 * window: people look for times first. */
#define COUNT_WEIGHT 0.001

#define LEAST 0.001

struct ranking {
	const struct summary *summary;
	const struct summary_thread *thread;
};

/* Weight of a measure by variation, or by size. */
static double weight(const struct ranking *ranking, size_t index, bool size)
{
	const struct summary *summary = ranking->summary;
	const struct statistic *value = summary_value(ranking->thread, index);
	double window = (double)summary->ns / (double)summary->samples;
	double amount = size ? value->mean : statistic_deviation(value, ranking->thread->n);

	if (summary->measures.all[index].is_time)
		return window > 0 ? amount / window : 0;
	return COUNT_WEIGHT * (value->mean > 1 ? amount / value->mean : amount);
}

static int measure_compare(const void *a, const void *b, void *context)
{
	const size_t *x = a, *y = b;

	return ORDER(weight(context, *y, false), weight(context, *x, false))
		       ?: ORDER(weight(context, *y, true), weight(context, *x, true))
		       ?: ORDER(*x, *y);
}

size_t summary_rank_measures(const struct summary *summary, const struct summary_thread *thread,
			     size_t *order)
{
	struct ranking ranking = { summary, thread };
	size_t n = 0;

	for (size_t i = 0; i < summary->measures.n; i++) {
		const struct statistic *value = summary_value(thread, i);

		if (value && value->max > 0)
			order[n++] = i;
	}
	qsort_r(order, n, sizeof(*order), measure_compare, &ranking);
	return n;
}

bool summary_varies(const struct summary *summary, const struct summary_thread *thread,
		    size_t measure)
{
	const struct ranking ranking = { summary, thread };

	return summary_value(thread, measure) && weight(&ranking, measure, false) >= LEAST;
}

static double mean_of(const struct summary_thread *thread, size_t index)
{
	const struct statistic *value = summary_value(thread, index);

	return value ? value->mean : 0;
}

static int thread_compare(const void *a, const void *b)
{
	const struct summary_thread *const *x = a, *const *y = b;

	return ORDER(mean_of(*y, MEASURE_DELAY), mean_of(*x, MEASURE_DELAY))
		       ?: ORDER(mean_of(*y, MEASURE_BUSY), mean_of(*x, MEASURE_BUSY))
		       ?: ORDER(*x, *y); /* in order of appearance */
}

void summary_rank_threads(const struct summary *summary, const struct summary_thread **order)
{
	for (size_t i = 0; i < summary->n; i++)
		order[i] = &summary->threads[i];
	ARRAY_SORT(order, summary->n, thread_compare);
}

/* --- Statistic of one figure --- */

double statistic_deviation(const struct statistic *statistic, uint64_t n)
{
	return n > 1 ? sqrt(statistic->squares / (double)(n - 1)) : 0;
}

double statistic_jitter(const struct statistic *statistic, uint64_t n)
{
	return n > 1 ? statistic->steps / (double)(n - 1) : 0;
}
