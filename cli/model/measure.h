/* SPDX-License-Identifier: Apache-2.0 */
/* Flat list of all figures of a thread: those of thread_fields[], nested objects included, and
 * those of the verdict. Names no row: new rows become measures by themselves. */
#ifndef MEASURE_H
#define MEASURE_H

#include <stdbool.h>
#include <stddef.h>

#include "field.h"
#include "sample.h"
#include "verdict.h"

#define MEASURE_KEY 64

/* Indexes of the first measures. */
enum { MEASURE_BUSY, MEASURE_DELAY, MEASURE_LONGEST };

struct measure {
	char key[MEASURE_KEY];   /* as in JSON, with a dot between two: "ready.max_ns" */
	enum field_merge merge;  /* MERGE_SUM, MERGE_MAX or MERGE_MIN */
	bool is_time;            /* in ns */
	bool of_verdict;         /* in struct verdict_thread, not struct thread_row */
	size_t at;               /* offset of the uint64_t, or offset in the structure that far
				  * points to: */
	const struct field *far; /* NULL: none */
	size_t valid;            /* offset of the bool that says whether it is valid; 0: always
				  * valid */
	size_t rate;             /* index among the rates, for sums; else SIZE_MAX */
};

struct measures {
	struct measure *all;
	size_t n, capacity;
	size_t rates;
};

/* Fills a zeroed list. Returns 0 or -ENOMEM; the caller clears it in either case. */
int measures_find(struct measures *measures);

void measures_clear(struct measures *measures);

/* Index of a key; SIZE_MAX: none. */
size_t measures_index(const struct measures *measures, const char *key);

/* Reads a figure of a thread; false: unknown. */
bool measure_figure(const struct measure *measure, const struct verdict_thread *thread,
		    uint64_t *figure);

/* Reads all figures of a thread into values, one per measure; NaN: unknown. */
void measures_read(const struct measures *measures, const struct verdict_thread *thread,
		   double *values);

/* Merges values of a thread into those of others: sums, maxima, or minima without zeros. */
void measures_merge(const struct measures *measures, double *into, const double *from);

/* The key as people read it: without the unit at its end. */
void measure_title(const struct measure *measure, char title[static MEASURE_KEY]);

#endif
