/* SPDX-License-Identifier: Apache-2.0 */
/* A figure over samples, in one pass and so much memory however many there are. */
#ifndef STATISTIC_H
#define STATISTIC_H

#include <stdint.h>

/* Zeroed: of no sample, or of any number in which it was 0. As large as a line of a cache. */
struct statistic {
	double mean, squares; /* the sum of the squared distances to the mean: Welford's method */
	double min, max;
	double last;   /* the value before */
	double steps;  /* the sum of the absolute differences of consecutive values */
	double ewma;   /* the exponentially weighted moving average */
	uint64_t peak; /* the sample that had the maximum first */
};

/* Which value it is: the n-th (from 1 on) of the thread, of a sample of the run; and the weight of
 * a new value in the moving average, from 0 to 1. */
struct statistic_step {
	uint64_t n, sample;
	double part; /* 1 / n */
	double alpha;
};

/* Adds a value, at least 0; NaN: it is not known, nor is anything then. Of zeros there need not
 * be a call until the first other value. */
static inline void statistic_add(struct statistic *statistic, double value,
				 const struct statistic_step *step)
{
	double distance = value - statistic->mean, change = value - statistic->last;

	if (__builtin_expect(step->n == 1, 0)) {
		*statistic = (struct statistic){ value, 0, value, value,
						 value, 0, value, step->sample };
		return;
	}
	statistic->mean += distance * step->part;
	statistic->squares += distance * (value - statistic->mean);
	statistic->min = value < statistic->min ? value : statistic->min;
	if (value > statistic->max) {
		statistic->max = value;
		statistic->peak = step->sample;
	}
	statistic->steps += change < 0 ? -change : change;
	statistic->last = value;
	statistic->ewma += step->alpha * (value - statistic->ewma);
}

/* Of n values: the standard deviation of the values that these are a sample of, and the jitter, the
 * mean of the steps; 0 if there is one value. */
double statistic_deviation(const struct statistic *statistic, uint64_t n);
double statistic_jitter(const struct statistic *statistic, uint64_t n);

#endif
