/* SPDX-License-Identifier: Apache-2.0 */
/* All samples of a capture as series that can be compared with those of another one: of threads by
 * their names, as PIDs and TIDs differ from run to run, and of what kept them from running. */
#ifndef COURSE_H
#define COURSE_H

#include <stddef.h>
#include <stdint.h>

#include "measure.h"
#include "verdict.h"

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

/* Copies the series of a subject's measure, of a cause measure 0, into values, as many as there are
 * samples; zeros if subject is NULL. */
void course_series(const struct course *course, const struct course_subject *subject,
		   size_t measure, double *values);

/* The same subject as one of another course; NULL: there is none. */
const struct course_subject *course_find(const struct course *course,
					 const struct course_subject *like);

/* NULL is allowed. */
void course_free(struct course *course);

#endif
