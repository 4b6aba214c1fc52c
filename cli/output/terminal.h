/* SPDX-License-Identifier: Apache-2.0 */
/* What only people at a terminal see: bold text, a pager for what is longer than the screen, and
 * how long a long run still takes. */
#ifndef TERMINAL_H
#define TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- Standard output where it is a terminal --- */

enum color_when { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/* Whether a standard stream gets bold text; auto: if it is a terminal that has it, and
 * NO_COLOR does not forbid it. */
bool pager_color(enum color_when when, int fd);

/* Whether a pager can be used: standard output is a terminal of known size, and this process
 * is in its foreground. */
bool pager_is_usable(void);

/* Writes a text to standard output, through a pager if it is longer than the terminal, and
 * waits until that has ended. The pager has no privileges: under sudo, doas or pkexec it runs as
 * the user who called them, otherwise as this user without any capability. Returns 0 or a
 * negative errno of standard output; a pager that ends early is no error. */
int pager_show(const char *text, size_t length);

/* --- How long a long run still takes --- */

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
