/* SPDX-License-Identifier: Apache-2.0 */
/* How long a long run still takes, for people who wait for it at a terminal. Others see
 * nothing of it. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Times are CLOCK_MONOTONIC, all in ns. */
struct progress_config {
	uint64_t sample_time, sample_interval;
	uint64_t samples;  /* 0: until stopped */
	uint64_t deadline; /* of the run; UINT64_MAX: none */
	bool triggered;    /* who knows when samples begin and end */
	bool quiet;
};

/* The fields are its own business. */
struct progress {
	struct progress_config config;
	bool on;
	uint64_t sample; /* the one that is taken, from 1 on */
	uint64_t until;  /* the end of the run, or of the sample if the run has none */
	uint64_t shown;  /* seconds left */
};

/* The run begins. Says how long it will take, if that is long and somebody watches. */
void progress_begin(struct progress *progress, const struct progress_config *config);

/* The next sample begins; it will last until then, if nothing ends it before. */
void progress_sample(struct progress *progress, uint64_t end);

/* To be called often: rewrites the line that says what is left, once a second. */
void progress_tick(struct progress *progress);

#define PROGRESS_LENGTH 40

/* A length of time as people say it, such as "8 min 20 s"; what is less than a second
 * counts as one. Returns text. */
const char *progress_length(char text[static PROGRESS_LENGTH], uint64_t ns);

#endif
