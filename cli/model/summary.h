/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics over several samples of a target: one per measure and thread. */
#ifndef SUMMARY_H
#define SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure.h"
#include "sample.h"

/* --- Statistic of one figure, in one pass and constant memory --- */

/* Zeroed: no samples, or only zeros. Sized to one cache line. */
struct statistic {
	double mean, squares; /* squares: sum of squared deviations, by Welford's method */
	double min, max;
	double last;   /* previous value */
	double steps;  /* sum of absolute differences between consecutive values */
	double ewma;   /* exponentially weighted moving average */
	uint64_t peak; /* first sample with the maximum */
};

/* Position of a new value: the n-th of the thread (from 1), its sample in the run, and its
 * weight in the moving average (0 to 1). */
struct statistic_step {
	uint64_t n, sample;
	double weight; /* 1 / n */
	double alpha;
};

/* Adds a value, at least 0. NaN: unknown, and the statistic stays unknown. Leading zeros may be
 * skipped. */
static inline void statistic_add(struct statistic *statistic, double value,
				 const struct statistic_step *step)
{
	double distance = value - statistic->mean, change = value - statistic->last;

	if (__builtin_expect(step->n == 1, 0)) {
		*statistic = (struct statistic){ value, 0, value, value,
						 value, 0, value, step->sample };
		return;
	}
	statistic->mean += distance * step->weight;
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

/* Over n values: standard deviation of the underlying population, and jitter, the mean step; 0
 * for a single value. */
double statistic_deviation(const struct statistic *statistic, uint64_t n);
double statistic_jitter(const struct statistic *statistic, uint64_t n);

/* --- Statistics of all threads --- */

/* Most threads with statistics of their own; others only count in the sum. */
#define SUMMARY_THREADS 4096

/* Points of the time series of time kept from running; each covers equally many samples. */
#define SUMMARY_POINTS 32

struct summary_thread {
	pid_t pid, tid;          /* 0: sum of all threads */
	char name[KD_COMM_LEN];  /* as in the last sample, not escaped */
	unsigned int members;    /* if above 1: idle threads of this name, each with these values */
	enum ledger_state state; /* state of those */
	uint64_t n;              /* samples with this thread */
	uint64_t first, last;    /* numbers of these samples, from 1 */
	bool ended;
	struct statistic *values;      /* per measure */
	struct statistic *rates;       /* NULL: derived from values, see below */
	bool *used;                    /* measures that were ever nonzero */
	double delays[SUMMARY_POINTS]; /* sums of window shares */
};

struct summary {
	struct measures measures;
	double alpha;
	uint64_t samples, ns;           /* ns: total length of the windows */
	struct summary_thread all;      /* sum of all threads */
	struct summary_thread *threads; /* in order of appearance */
	size_t n, capacity;
	uint64_t came, went; /* threads missing in the first sample, and in the last */
	uint64_t left_out;   /* sample rows dropped for lack of space */
	uint64_t span;       /* samples per point */
	/* While windows have equal length (within 0.1 %), rates are values divided by it. After
	 * the first other window, rates have their own statistics. */
	uint64_t window; /* length of the first one, ns */
	bool uneven;
	/* Values of one sample. */
	double *row, *sum;
	/* Hash by PID and TID: thread index + 1; 0: free. If a TID was reused, the last one. */
	uint32_t table[2 * SUMMARY_THREADS];
};

/* alpha: weight of the latest value in moving averages. Returns NULL without memory. */
struct summary *summary_new(double alpha);

/* Adds a finished sample. Process and TID identify a thread until it ends. Idle threads that
 * share a row in a sample each get its average. Returns 0 or -ENOMEM. */
int summary_add(struct summary *summary, const struct sample *sample);

/* Number of points, and a thread's share (0 to 1) at a point. */
size_t summary_points(const struct summary *summary);
double summary_point(const struct summary *summary, const struct summary_thread *thread,
		     size_t point);

/* Statistic of a measure; NULL: not known in every sample. And its rate per second; false:
 * unknown, or not a sum. */
const struct statistic *summary_value(const struct summary_thread *thread, size_t measure);
bool summary_rate(const struct summary *summary, const struct summary_thread *thread,
		  size_t measure, struct statistic *rate);

/* NULL is allowed. */
void summary_free(struct summary *summary);

/* --- Ranking of what to show first --- */

/* Ranks the known measures of a thread that were ever nonzero: by variation, then by size. Sums
 * of time and longest times weigh as their share of a window; counts come after them. Returns
 * their number; order has space for all measures. */
size_t summary_rank_measures(const struct summary *summary, const struct summary_thread *thread,
			     size_t *order);

/* True if a measure varies enough for a short report: by 1/1000 of the window. */
bool summary_varies(const struct summary *summary, const struct summary_thread *thread,
		    size_t measure);

/* Ranks threads by time kept from running, then by busy time. order has space for all. */
void summary_rank_threads(const struct summary *summary, const struct summary_thread **order);

#endif
