// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "comparison.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "cli/base/clock.h"
#include "summary.h"

/* --- Series by name --- */

struct series *series_new(void)
{
	struct series *series = calloc(1, sizeof(*series));

	if (!series)
		return NULL;
	if (!measures_find(&series->measures))
		series->row = calloc(series->measures.n, sizeof(*series->row));
	if (series->row)
		return series;
	series_free(series);
	return NULL;
}

void series_free(struct series *series)
{
	if (!series)
		return;
	for (size_t i = 0; i < series->n; i++)
		free(series->subjects[i].values);
	free(series->subjects);
	free(series->row);
	measures_clear(&series->measures);
	free(series);
}

static bool is_same(const struct series_subject *a, const struct series_subject *b)
{
	return a->is_cause == b->is_cause && (!a->is_cause || a->cause == b->cause) &&
	       !strncmp(a->name, b->name, SERIES_NAME);
}

/* Finds the matching subject of another capture; NULL: none. */
static const struct series_subject *series_find(const struct series *series,
						const struct series_subject *like)
{
	for (size_t i = 0; i < series->n; i++)
		if (is_same(&series->subjects[i], like))
			return &series->subjects[i];
	return NULL;
}

static size_t width_of(const struct series *series, const struct series_subject *subject)
{
	return subject->is_cause ? 1 : series->measures.n;
}

/* Finds or adds a subject. Returns its values of the current sample, zero if new; NULL: limit
 * reached (counted), or no memory. */
static double *row_take(struct series *series, const struct series_subject *like, int *error)
{
	const struct series_subject *found = series_find(series, like);
	size_t width = width_of(series, like), needed = series->samples * width, had;
	size_t i = found ? (size_t)(found - series->subjects) : series->n;
	struct series_subject *subject;

	if (i == SERIES_SUBJECTS) {
		series->left_out++;
		return NULL;
	}
	if (!found) {
		*error = ARRAY_ADD(series->subjects, series->n, series->capacity, *like);
		if (*error)
			return NULL;
	}
	subject = &series->subjects[i];
	had = subject->rows * width;
	*error = array_reserve(&subject->values, needed, &subject->capacity, sizeof(double));
	if (*error)
		return NULL;
	memset(subject->values + had, 0, (needed - had) * sizeof(double));
	subject->rows = series->samples;
	return subject->values + needed - width;
}

static int thread_add(struct series *series, const struct verdict_thread *thread)
{
	struct series_subject like = { .is_cause = false };
	int error = 0;
	double *row;

	memcpy(like.name, thread->row->name, sizeof(thread->row->name));
	row = row_take(series, &like, &error);
	if (!row)
		return error;
	measures_read(&series->measures, thread, series->row);
	measures_merge(&series->measures, row, series->row);
	return 0;
}

static int cause_add(struct series *series, const struct verdict_row *cause, double seconds)
{
	struct series_subject like = { .is_cause = true, .cause = cause->cause };
	int error = 0;
	double *row;

	memcpy(like.name, cause->who.comm, sizeof(like.name));
	row = row_take(series, &like, &error);
	if (!row)
		return error;
	*row += (double)cause->ns / seconds;
	return 0;
}

/* Divides sums by the sample's time, once all rows of a name are added up. */
static void rates_set(struct series *series, double seconds)
{
	for (size_t i = 0; i < series->n; i++) {
		struct series_subject *subject = &series->subjects[i];
		double *row = subject->values + (series->samples - 1) * series->measures.n;

		if (subject->is_cause || subject->rows < series->samples)
			continue;
		for (size_t j = 0; j < series->measures.n; j++)
			if (series->measures.all[j].merge == MERGE_SUM)
				row[j] /= seconds;
	}
}

static void facts_add(struct series *series, const struct sample *sample)
{
	uint64_t took = sample->end > sample->start ? sample->end - sample->start : 0;

	if (!sample->target_exited && took && (!series->sample_time || took < series->sample_time))
		series->sample_time = took;
	series->with_resources += sample->has_resources;
	if (!series->with_interruptions)
		series->interruptions_from = sample->interruptions_from;
	series->with_interruptions += sample->has_interruptions &&
				      sample->interruptions_from == series->interruptions_from;
}

bool series_is_held(const struct series *series, const struct series *other, const char *key)
{
	if (!strncmp(key, "io", 2) || /* "io.network.read_bytes", "io_uring_calls" */
	    !strcmp(key, "forks") || !strcmp(key, "execs"))
		return series->with_resources == series->samples &&
		       other->with_resources == other->samples;
	if (!strncmp(key, "interruptions.", 14) || !strncmp(key, "late_ticks.", 11))
		return series->with_interruptions == series->samples &&
		       other->with_interruptions == other->samples &&
		       series->interruptions_from == other->interruptions_from;
	return true;
}

int series_add(struct series *series, const struct sample *sample)
{
	double seconds = (double)(sample->end > sample->start ? sample->end - sample->start : 1) /
			 (double)NSEC_PER_SEC;
	const struct verdict *verdict = sample->verdict;
	int error = 0;

	if (sample_is_triggered(sample) || sample->interrupted || sample->expired ||
	    sample->overloaded || sample->pressed) {
		series->unusable++;
		return 0;
	}
	if (series->samples == SERIES_SAMPLES) {
		series->left_out++;
		return 0;
	}
	series->samples++;
	facts_add(series, sample);
	for (size_t i = 0; i < verdict->n_threads && !error; i++)
		error = thread_add(series, &verdict->threads[i]);
	for (size_t i = 0; i < verdict->n_rows && !error; i++)
		error = cause_add(series, &verdict->rows[i], seconds);
	if (!error)
		rates_set(series, seconds);
	return error;
}

/* Copies a subject's series into values, one per sample; measure is 0 for causes. Zeros if
 * subject is NULL. */
static void series_values(const struct series *series, const struct series_subject *subject,
			  size_t measure, double *values)
{
	size_t width = subject ? width_of(series, subject) : 0;

	for (size_t i = 0; i < series->samples; i++)
		values[i] = subject && i < subject->rows ? subject->values[i * width + measure] : 0;
}

/* --- Differences --- */

/* Shared by all measures. */
struct comparing {
	struct comparison *comparison;
	double *before, *now; /* one series each */
	double busy;          /* of all threads, ns per second */
};

static struct comparison_side side_of(const double *values, size_t n, double *largest)
{
	struct statistic statistic = { 0 };

	for (size_t i = 0; i < n; i++) {
		const struct statistic_step step = { .n = i + 1, .weight = 1 / (double)(i + 1) };

		statistic_add(&statistic, values[i], &step);
	}
	*largest = fmax(*largest, statistic.max);
	return (struct comparison_side){ statistic.mean, statistic_deviation(&statistic, n) };
}

/* True if the difference matters, however significant it is. */
static bool is_large(const struct comparing *comparing, const struct difference *difference)
{
	const struct measure *measure = difference->measure;
	double change = fabs(difference->now.mean - difference->before.mean);

	if (!measure || (measure->is_time && measure->merge == MERGE_SUM))
		return change >= COMPARISON_LEAST_BUSY * comparing->busy && change > 0;
	return change >= COMPARISON_LEAST * fmax(difference->now.mean, difference->before.mean);
}

/* True if the means are more than this many of the larger deviation apart. */
static bool is_apart(const struct difference *difference, double deviations)
{
	return fabs(difference->now.mean - difference->before.mean) >
	       deviations * fmax(difference->now.deviation, difference->before.deviation);
}

/* Compares one measure of a subject that is in either capture, or in both. */
static int series_compare(const struct comparing *comparing, const struct series_subject *before,
			  const struct series_subject *now, size_t index)
{
	struct comparison *comparison = comparing->comparison;
	const struct series *from = comparison->before, *to = comparison->now;
	struct difference difference = { .subject = now ? now : before };
	double largest = 0;

	if (!difference.subject->is_cause) {
		difference.measure = &to->measures.all[index];
		if (!series_is_held(from, to, difference.measure->key))
			return 0;
	}
	series_values(from, before, index, comparing->before);
	series_values(to, now, index, comparing->now);
	difference.before = side_of(comparing->before, from->samples, &largest);
	difference.now = side_of(comparing->now, to->samples, &largest);
	if (!(largest > 0)) /* or unknown */
		return 0;
	comparison->tested++;
	if (!is_large(comparing, &difference) || !is_apart(&difference, 1))
		return 0;
	difference.p = rank_test(comparing->before, from->samples, comparing->now, to->samples);
	if (difference.p < 0)
		return -ENOMEM;
	return ARRAY_ADD(comparison->all, comparison->n, comparison->capacity, difference);
}

static int subject_compare(const struct comparing *comparing, const struct series_subject *before,
			   const struct series_subject *now)
{
	const struct series_subject *any = now ? now : before;
	size_t n = any->is_cause ? 1 : comparing->comparison->now->measures.n;
	int error = 0;

	for (size_t i = 0; i < n && !error; i++)
		error = series_compare(comparing, before, now, i);
	return error;
}

static double busy_of(const struct series *series, double *values)
{
	double sum = 0, largest = 0;

	for (size_t i = 0; i < series->n; i++) {
		if (series->subjects[i].is_cause)
			continue;
		series_values(series, &series->subjects[i], MEASURE_BUSY, values);
		sum += side_of(values, series->samples, &largest).mean;
	}
	return sum;
}

/* Smallest p for these numbers of samples: all values of one side are below all of the other. */
static double least_of(const struct comparing *comparing)
{
	const struct comparison *comparison = comparing->comparison;
	size_t n = comparison->before->samples, m = comparison->now->samples;

	for (size_t i = 0; i < n; i++)
		comparing->before[i] = (double)i;
	for (size_t i = 0; i < m; i++)
		comparing->now[i] = (double)(n + i);
	return rank_test(comparing->before, n, comparing->now, m);
}

/* --- The order --- */

static unsigned int class_of(const struct difference *difference)
{
	const struct measure *measure = difference->measure;

	if (!measure)
		return 0;
	if (measure->of_verdict && measure->merge == MERGE_SUM && strncmp(measure->key, "busy", 4))
		return 1;
	if (measure->is_time)
		return measure->merge == MERGE_SUM ? 2 : 3;
	return 4;
}

static double effect_of(const struct difference *difference)
{
	double change = fabs(difference->now.mean - difference->before.mean);

	if (class_of(difference) < 4)
		return change;
	return change / fmax(difference->now.mean, difference->before.mean);
}

static int difference_compare(const void *a, const void *b)
{
	const struct difference *x = a, *y = b;

	return ORDER(class_of(x), class_of(y)) ?: ORDER(effect_of(y), effect_of(x))
		       ?: strncmp(x->subject->name, y->subject->name, SERIES_NAME)
		       ?: ORDER(x->measure, y->measure);
}

/* Drops differences that chance may explain. */
static void limit_apply(struct comparison *comparison, double least)
{
	double deviations = 1;
	size_t n = 0;

	comparison->few = comparison->before->samples < COMPARISON_SAMPLES ||
			  comparison->now->samples < COMPARISON_SAMPLES;
	comparison->limit = COMPARISON_CHANCE /
			    (double)(comparison->tested ? comparison->tested : 1);
	if (comparison->limit < least) {
		/* Sums of the same counts in another order may differ in the last digit. */
		comparison->limit = least * (1 + 1e-9);
		deviations = COMPARISON_APART;
	}
	for (size_t i = 0; i < comparison->n; i++)
		if (!comparison->few && comparison->all[i].p <= comparison->limit &&
		    is_apart(&comparison->all[i], deviations))
			comparison->all[n++] = comparison->all[i];
	comparison->n = n;
	ARRAY_SORT(comparison->all, n, difference_compare);
}

static int subjects_compare(const struct comparing *comparing)
{
	const struct series *before = comparing->comparison->before;
	const struct series *now = comparing->comparison->now;
	int error = 0;

	for (size_t i = 0; i < now->n && !error; i++)
		error = subject_compare(comparing, series_find(before, &now->subjects[i]),
					&now->subjects[i]);
	for (size_t i = 0; i < before->n && !error; i++)
		if (!series_find(now, &before->subjects[i]))
			error = subject_compare(comparing, &before->subjects[i], NULL);
	return error;
}

bool comparison_is_fair(const struct series *before, const struct series *now)
{
	uint64_t a = before->sample_time, b = now->sample_time;
	uint64_t longer = a > b ? a : b, shorter = a > b ? b : a;

	return !shorter || longer - shorter <= COMPARISON_TIME_NS ||
	       (double)longer <= (1 + COMPARISON_TIME) * (double)shorter;
}

int comparison_find(struct comparison *comparison, const struct series *before,
		    const struct series *now)
{
	struct comparing comparing = {
		.comparison = comparison,
		.before = calloc(before->samples + 1, sizeof(double)),
		.now = calloc(now->samples + 1, sizeof(double)),
	};
	int error = comparing.before && comparing.now ? 0 : -ENOMEM;
	double least = 1;

	comparison->before = before;
	comparison->now = now;
	if (!error) {
		comparing.busy = fmax(busy_of(before, comparing.before),
				      busy_of(now, comparing.now));
		least = least_of(&comparing);
		error = least < 0 ? -ENOMEM : subjects_compare(&comparing);
	}
	if (!error)
		limit_apply(comparison, least);
	free(comparing.before);
	free(comparing.now);
	return error;
}

void comparison_clear(struct comparison *comparison)
{
	free(comparison->all);
	memset(comparison, 0, sizeof(*comparison));
}

/* --- Rank test --- */

#define SUMS (RANK_TEST_EXACT * (RANK_TEST_EXACT + 1) + 1) /* of doubled ranks */

struct ranked {
	double value;
	bool first;  /* in the first set */
	size_t rank; /* doubled, because middle ranks end in .5 */
};

static int by_value(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return ORDER(x->value, y->value);
}

/* Ranks sorted values. Returns the sum of t^3 - t over groups of t ties. */
static double ranks_set(struct ranked *all, size_t n)
{
	double ties = 0;

	for (size_t i = 0, next; i < n; i = next) {
		double t;

		for (next = i + 1; next < n && all[next].value == all[i].value;)
			next++;
		for (size_t j = i; j < next; j++)
			all[j].rank = i + 1 + next;
		t = (double)(next - i);
		ties += t * t * t - t;
	}
	return ties;
}

/* Share of the ways to choose n values whose rank sum is at least as far from the mean; -1: no
 * memory. */
static double exact(const struct ranked *all, size_t count, size_t n, size_t sum)
{
	double(*ways)[SUMS] = calloc(RANK_TEST_EXACT + 1, sizeof(*ways)), far = 0, total = 0;
	double mean = (double)(n * (count + 1)), distance = fabs((double)sum - mean);

	if (!ways)
		return -1;
	ways[0][0] = 1;
	for (size_t i = 0; i < count; i++)
		for (size_t chosen = i < n ? i + 1 : n; chosen > 0; chosen--)
			for (size_t s = all[i].rank; s < SUMS; s++)
				ways[chosen][s] += ways[chosen - 1][s - all[i].rank];
	for (size_t s = 0; s < SUMS; s++) {
		total += ways[n][s];
		if (fabs((double)s - mean) >= distance)
			far += ways[n][s];
	}
	free(ways);
	return far / total;
}

static double normal(size_t n, size_t m, size_t sum, double ties)
{
	double count = (double)(n + m), product = (double)n * (double)m;
	double u = (double)sum / 2 - (double)n * (double)(n + 1) / 2;
	double variance = product / 12 * (count + 1 - ties / (count * (count - 1)));
	double distance = fabs(u - product / 2) - 0.5;

	return variance > 0 && distance > 0 ? erfc(distance / sqrt(2 * variance)) : 1;
}

double rank_test(const double *a, size_t n, const double *b, size_t m)
{
	struct ranked *all = calloc(n + m ? n + m : 1, sizeof(*all));
	size_t sum = 0;
	double ties, p = 1;

	if (!all)
		return -1;
	for (size_t i = 0; i < n + m; i++)
		all[i] = (struct ranked){ .value = i < n ? a[i] : b[i - n], .first = i < n };
	ARRAY_SORT(all, n + m, by_value);
	ties = ranks_set(all, n + m);
	for (size_t i = 0; i < n + m; i++)
		sum += all[i].first ? all[i].rank : 0;
	if (n && m)
		p = n + m <= RANK_TEST_EXACT ? exact(all, n + m, n, sum) : normal(n, m, sum, ties);
	free(all);
	return p;
}
