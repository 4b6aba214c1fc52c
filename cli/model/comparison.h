/* SPDX-License-Identifier: Apache-2.0 */
/* What is different in one capture from another one, beyond how their samples differ. */
#ifndef COMPARISON_H
#define COMPARISON_H

#include "course.h"

/* How often chance alone may find anything, whatever the number of measures: the limit of the rank
 * test is this by their number. Of few samples it cannot be reached; then a difference counts if no
 * two samples of both captures overlap, if that has at most the other probability. So of few
 * samples and many measures chance finds some: as many as there are measures, times the limit. */
#define COMPARISON_CHANCE 0.05
#define COMPARISON_FEW 0.01

/* Times that are sums have to differ by this part of what all threads were busy, all else by this
 * part of the larger value. */
#define COMPARISON_LEAST_BUSY 0.01
#define COMPARISON_LEAST 0.1

struct comparison_side {
	double mean, deviation;
};

struct difference {
	const struct course_subject *subject; /* of one of the courses */
	const struct measure *measure;        /* NULL: of a cause; in ns per second */
	struct comparison_side before, now;   /* sums are per second */
	double p;                             /* of the rank test */
};

struct comparison {
	const struct course *before, *now;
	double limit;           /* of p */
	bool few;               /* there are too few samples to tell */
	size_t tested;          /* measures that are not 0 in all samples */
	struct difference *all; /* the largest first: causes, what threads were kept from, */
	size_t n, room;         /* other times that are sums, other times, counts */
};

/* Fills zeroed *comparison, which points into both. Returns 0 or -ENOMEM; the caller clears it in
 * any case. */
int comparison_find(struct comparison *comparison, const struct course *before,
		    const struct course *now);

void comparison_clear(struct comparison *comparison);

/* The change in percent of the value before, negative if it is less; of 0 as of 1. */
double difference_percent(const struct difference *difference);

#endif
