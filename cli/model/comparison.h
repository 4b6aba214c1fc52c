/* SPDX-License-Identifier: Apache-2.0 */
/* What is different in one capture from another one, beyond how their samples differ. */
#ifndef COMPARISON_H
#define COMPARISON_H

#include <stddef.h>
#include <stdint.h>

#include "measure.h"
#include "verdict.h"

/* --- All samples of a capture as series that can be compared with those of another one: of threads
 * by their names, as PIDs and TIDs differ from run to run, and of what kept them from running ---
 */

/* Bounds of memory: later samples and names are counted only. */
#define COURSE_SAMPLES 400
#define COURSE_SUBJECTS 256

#define COURSE_NAME (KD_COMM_LEN + 16)

struct course_subject {
	bool is_cause;
	enum cause cause;       /* and who, as verdict_who has it */
	char name[COURSE_NAME]; /* of threads, or of who; not escaped */
	/* Of each sample each measure, of a cause one value: sums per second, else as they are. */
	double *values;
	size_t rows, room; /* samples that it has, the others are zeros */
};

struct course {
	struct measures measures;
	size_t samples;
	size_t unusable;      /* samples that are not added: see course_add() */
	uint64_t sample_time; /* ns; see course_sample_time() */
	/* What not all captures have: whether all samples do, and from which length on, ns. */
	size_t with_resources, with_interruptions;
	uint64_t interruptions_from;
	uint64_t left_out;
	struct course_subject *subjects;
	size_t n, room;
	double *row;
};

/* NULL: no memory. */
struct course *course_new(void);

/* Adds a finished sample, but not a window of triggers, nor one that was ended before its time.
 * Returns 0 or -ENOMEM. */
int course_add(struct course *course, const struct sample *sample);

/* How long a sample was meant to be, ns: as the shortest that the target did not end, as a busy
 * machine ends them late. 0: they lasted as long as the target did. */
uint64_t course_sample_time(const struct course *course);

/* Whether both have figures of a key, taken alike. */
bool course_is_held(const struct course *course, const struct course *other, const char *key);

/* NULL is allowed. */
void course_free(struct course *course);

/* --- What differs between two captures --- */

/* How often chance alone may find anything, whatever the number of measures: the limit of the rank
 * test is this by their number. Of few samples it cannot be reached; then a difference counts if no
 * two samples of both captures overlap, and the means are so many deviations apart, which is as
 * improbable (of two times 8 samples that is a t of 6). */
#define COMPARISON_CHANCE 0.01
#define COMPARISON_APART 3
#define COMPARISON_SAMPLES 8 /* of each, at least */

/* Samples are as long if they do not differ by more than this part and so many ns. What crosses
 * their edges is not the same in longer ones, and maxima are larger. */
#define COMPARISON_TIME 0.25
#define COMPARISON_TIME_NS 10000000

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

/* Whether samples of both are as long. */
bool comparison_is_fair(const struct course *before, const struct course *now);

/* Fills zeroed *comparison, which points into both. Returns 0 or -ENOMEM; the caller clears it in
 * any case. */
int comparison_find(struct comparison *comparison, const struct course *before,
		    const struct course *now);

void comparison_clear(struct comparison *comparison);

/* The change in percent of the value before, negative if it is less; of 0 as of 1. */
double difference_percent(const struct difference *difference);

/* --- Whether two sets of values differ by more than chance: Mann and Whitney's rank test --- */

/* Up to so many values in all every way to divide them is counted, with middle ranks for those that
 * are equal; beyond, a normal distribution, corrected for these and by 0.5 for continuity. */
#define RANK_TEST_EXACT 20

/* The probability that two sets which chance has divided differ at least as much, in either
 * direction; 1 if one is empty. -1: no memory. */
double rank_test(const double *a, size_t n, const double *b, size_t m);

#endif
