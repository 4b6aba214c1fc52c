/* SPDX-License-Identifier: Apache-2.0 */
/* Several samples of a target: what each measure of each thread was over them. */
#ifndef SUMMARY_H
#define SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure.h"
#include "sample.h"

/* --- A figure over samples, in one pass and so much memory however many there are --- */

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

/* --- All figures of all threads --- */

/* Threads that are told apart; of others there is only the sum over all. */
#define SUMMARY_THREADS 4096

/* The course of what kept a thread from running: at most so many points, each for so many
 * samples. */
#define SUMMARY_POINTS 32

struct summary_thread {
	pid_t pid, tid;         /* 0: all threads together */
	char name[KD_COMM_LEN]; /* as in the last sample, not escaped */
	unsigned int members;   /* more than 1: so many of this name that never ran, each of them */
	enum ledger_state state; /* in which those were */
	uint64_t n;              /* samples that it was in */
	uint64_t first, last;    /* of them, counted from 1 on */
	bool ended;
	struct statistic *values;    /* of each measure */
	struct statistic *rates;     /* NULL: as the values are, see below */
	bool *used;                  /* which measures were ever not 0 */
	double kept[SUMMARY_POINTS]; /* sums of shares of the window */
};

struct summary {
	struct measures measures;
	double alpha;
	uint64_t samples, ns;           /* ns: of all their windows */
	struct summary_thread all;      /* their sums, maxima and minima */
	struct summary_thread *threads; /* in the order in which they came */
	size_t n, room;
	uint64_t came, went; /* threads that the first sample, or the last one, does not have */
	uint64_t left_out;   /* rows of samples, for which there was no room */
	uint64_t span;       /* samples of a point */
	/* While all windows are equally long, but for 0.1 %, rates are values by that length; from
	 * the first on that is not they have statistics of their own. */
	uint64_t window; /* the first one's length, ns */
	bool uneven;
	/* Of one sample. */
	double *row, *sum;
	uint32_t *table; /* by PID and TID: index + 1 of the thread; a power of two of them */
	size_t n_table;
};

/* alpha: the weight of the last value in moving averages. NULL: no memory. */
struct summary *summary_new(double alpha);

/* Adds a finished sample. A thread is known by its process and TID until it ends. Threads that
 * never ran, of which a sample has only a row for all of a name, are their average. Returns 0 or
 * -ENOMEM. */
int summary_add(struct summary *summary, const struct sample *sample);

/* How many points there are, and a thread's share of a point, from 0 to 1. */
size_t summary_points(const struct summary *summary);
double summary_point(const struct summary *summary, const struct summary_thread *thread,
		     size_t point);

/* The statistic of a measure; NULL: it is not known of each sample. And that of its rate per
 * second; false: it is not known, or has none, being no sum. */
const struct statistic *summary_value(const struct summary_thread *thread, size_t measure);
bool summary_rate(const struct summary *summary, const struct summary_thread *thread,
		  size_t measure, struct statistic *rate);

/* NULL is allowed. */
void summary_free(struct summary *summary);

/* --- What of a summary is worth showing first --- */

/* The measures of a thread that were ever not 0 and are known, n of them: first those that vary
 * most, then those that are largest. Times that are sums count as their share of a window, longest
 * times as well, counts after them. Returns n; order has room for all measures. */
size_t summary_rank_measures(const struct summary *summary, const struct summary_thread *thread,
			     size_t *order);

/* Whether it varies enough to be told where there is little room: by a thousandth of the window. */
bool summary_varies(const struct summary *summary, const struct summary_thread *thread,
		    size_t measure);

/* Threads: first those that were kept from running for the longest time, then those that were
 * busy. order has room for all. */
void summary_rank_threads(const struct summary *summary, const struct summary_thread **order);

#endif
