/* SPDX-License-Identifier: Apache-2.0 */
/* Every single figure that a sample has of a thread, in one list: what thread_fields[] has in
 * objects and objects in these, and what the verdict has of it. No row is named here: a new one is
 * a measure by itself. */
#ifndef MEASURE_H
#define MEASURE_H

#include <stdbool.h>
#include <stddef.h>

#include "field.h"
#include "sample.h"
#include "verdict.h"

#define MEASURE_KEY 64

/* The first measures. */
enum { MEASURE_BUSY, MEASURE_KEPT, MEASURE_LONGEST };

struct measure {
	char key[MEASURE_KEY];   /* as in JSON, with a dot between two: "ready.max_ns" */
	enum field_merge merge;  /* MERGE_SUM, MERGE_MAX or MERGE_MIN */
	bool is_time;            /* in ns */
	bool of_verdict;         /* it is in struct verdict_thread, not in struct thread_row */
	size_t at;               /* in that, uint64_t; or in what is far from it: */
	const struct field *far; /* NULL: it is not */
	size_t known;            /* where a bool says whether it is known; 0: it always is */
	size_t rate; /* of sums, which have rates: its index among the rates; else SIZE_MAX */
};

struct measures {
	struct measure *all;
	size_t n, room;
	size_t rates;
};

/* Fills zeroed *measures. Returns 0 or -ENOMEM; the caller clears it in any case. */
int measures_find(struct measures *measures);

void measures_clear(struct measures *measures);

/* The index of a key; SIZE_MAX if there is none. */
size_t measures_index(const struct measures *measures, const char *key);

/* One of a thread's; false: it is not known. */
bool measure_figure(const struct measure *measure, const struct verdict_thread *thread,
		    uint64_t *figure);

/* Reads all of a thread into values, as many as there are measures; NaN: not known. */
void measures_read(const struct measures *measures, const struct verdict_thread *thread,
		   double *values);

/* Adds those of one thread to those of others: sums, maxima, or minima without zeros. */
void measures_merge(const struct measures *measures, double *into, const double *from);

/* What people read of the key: without the unit at its end. */
void measure_title(const struct measure *measure, char title[static MEASURE_KEY]);

#endif
