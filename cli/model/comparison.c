// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "comparison.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "rank_test.h"
#include "statistic.h"

/* What is the same for all measures. */
struct comparing {
	struct comparison *comparison;
	double *before, *now; /* room for a series each */
	double busy;          /* of all threads, ns per second */
};

static struct comparison_side side_of(const double *values, size_t n, double *largest)
{
	struct statistic statistic = { 0 };

	for (size_t i = 0; i < n; i++) {
		const struct statistic_step step = { .n = i + 1, .part = 1 / (double)(i + 1) };

		statistic_add(&statistic, values[i], &step);
	}
	*largest = fmax(*largest, statistic.max);
	return (struct comparison_side){ statistic.mean, statistic_deviation(&statistic, n) };
}

/* Whether it matters, however sure it is. */
static bool is_large(const struct comparing *comparing, const struct difference *difference)
{
	const struct measure *measure = difference->measure;
	double change = fabs(difference->now.mean - difference->before.mean);

	if (!measure || (measure->is_time && measure->merge == MERGE_SUM))
		return change >= COMPARISON_LEAST_BUSY * comparing->busy && change > 0;
	return change >= COMPARISON_LEAST * fmax(difference->now.mean, difference->before.mean);
}

/* Whether the means are further apart than so many of the larger deviation. */
static bool is_apart(const struct difference *difference, double deviations)
{
	return fabs(difference->now.mean - difference->before.mean) >
	       deviations * fmax(difference->now.deviation, difference->before.deviation);
}

/* Looks at a subject that is in one of the courses, or in both. */
static int series_compare(const struct comparing *comparing, const struct course_subject *before,
			  const struct course_subject *now, size_t index)
{
	struct comparison *comparison = comparing->comparison;
	const struct course *from = comparison->before, *to = comparison->now;
	struct difference difference = { .subject = now ? now : before };
	double largest = 0;

	if (!difference.subject->is_cause) {
		difference.measure = &to->measures.all[index];
		if (!course_is_held(from, to, difference.measure->key))
			return 0;
	}
	course_series(from, before, index, comparing->before);
	course_series(to, now, index, comparing->now);
	difference.before = side_of(comparing->before, from->samples, &largest);
	difference.now = side_of(comparing->now, to->samples, &largest);
	if (!(largest > 0)) /* or it is not known */
		return 0;
	comparison->tested++;
	if (!is_large(comparing, &difference) || !is_apart(&difference, 1))
		return 0;
	difference.p = rank_test(comparing->before, from->samples, comparing->now, to->samples);
	if (difference.p < 0 || ARRAY_GROW(comparison->all, comparison->n, comparison->room))
		return -ENOMEM;
	comparison->all[comparison->n++] = difference;
	return 0;
}

static int subject_compare(const struct comparing *comparing, const struct course_subject *before,
			   const struct course_subject *now)
{
	const struct course_subject *any = now ? now : before;
	size_t n = any->is_cause ? 1 : comparing->comparison->now->measures.n;
	int error = 0;

	for (size_t i = 0; i < n && !error; i++)
		error = series_compare(comparing, before, now, i);
	return error;
}

static double busy_of(const struct course *course, double *values)
{
	double sum = 0, largest = 0;

	for (size_t i = 0; i < course->n; i++) {
		if (course->subjects[i].is_cause)
			continue;
		course_series(course, &course->subjects[i], MEASURE_BUSY, values);
		sum += side_of(values, course->samples, &largest).mean;
	}
	return sum;
}

/* The least p that so many samples can have: all of one are below all of the other. */
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
	int order = strncmp(x->subject->name, y->subject->name, COURSE_NAME);

	if (class_of(x) != class_of(y))
		return class_of(x) < class_of(y) ? -1 : 1;
	if (effect_of(x) != effect_of(y))
		return effect_of(x) < effect_of(y) ? 1 : -1;
	return order ? order : (x->measure > y->measure) - (x->measure < y->measure);
}

/* Keeps those that chance does not explain. */
static void limit_apply(struct comparison *comparison, double least)
{
	double deviations = 1;
	size_t kept = 0;

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
			comparison->all[kept++] = comparison->all[i];
	comparison->n = kept;
	if (kept)
		qsort(comparison->all, kept, sizeof(*comparison->all), difference_compare);
}

static int subjects_compare(const struct comparing *comparing)
{
	const struct course *before = comparing->comparison->before;
	const struct course *now = comparing->comparison->now;
	int error = 0;

	for (size_t i = 0; i < now->n && !error; i++)
		error = subject_compare(comparing, course_find(before, &now->subjects[i]),
					&now->subjects[i]);
	for (size_t i = 0; i < before->n && !error; i++)
		if (!course_find(now, &before->subjects[i]))
			error = subject_compare(comparing, &before->subjects[i], NULL);
	return error;
}

bool comparison_is_fair(const struct course *before, const struct course *now)
{
	uint64_t a = course_sample_time(before), b = course_sample_time(now);
	uint64_t longer = a > b ? a : b, shorter = a > b ? b : a;

	return !shorter || longer - shorter <= COMPARISON_TIME_NS ||
	       (double)longer <= (1 + COMPARISON_TIME) * (double)shorter;
}

int comparison_find(struct comparison *comparison, const struct course *before,
		    const struct course *now)
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

double difference_percent(const struct difference *difference)
{
	double before = difference->before.mean;

	return 100 * (difference->now.mean - before) / (before > 0 ? before : 1);
}
