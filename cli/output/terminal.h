/* SPDX-License-Identifier: Apache-2.0 */
/* Terminal features: bold text, a pager for what exceeds the screen, and the remaining time of a
 * long run. */
#ifndef TERMINAL_H
#define TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- Standard output on a terminal --- */

enum color_when { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/* True if a standard stream gets bold text; auto: if it is a capable terminal, and NO_COLOR is
 * not set. */
bool pager_color(enum color_when when, int fd);

/* True if a pager can be used: standard output is a terminal of known size, and this process is
 * in its foreground. */
bool pager_is_usable(void);

/* Writes a text to standard output, through a pager if it exceeds the terminal, and waits for
 * the pager to exit. The pager is unprivileged: it runs as the user who called sudo, doas or
 * pkexec, otherwise as this user without capabilities. Returns 0 or a negative errno of standard
 * output; a pager that exits early is no error. */
int pager_show(const char *text, size_t length);

/* --- Remaining time of a long run --- */

/* Times are CLOCK_MONOTONIC, all in ns. */
struct progress_config {
	uint64_t sample_time, sample_interval;
	uint64_t samples;  /* 0: until stopped */
	uint64_t deadline; /* of the run; UINT64_MAX: none */
	bool triggered;    /* start and end of samples are unpredictable */
	bool quiet;
};

/* Fields are private. */
struct progress {
	struct progress_config config;
	bool on;
	uint64_t sample; /* current sample, from 1 */
	uint64_t until;  /* end of the run, or of the sample if the run has none */
	uint64_t shown;  /* seconds left */
};

/* Begins the run. Prints its expected duration if it is long and on a terminal. */
void progress_begin(struct progress *progress, const struct progress_config *config);

/* Begins the next sample, which will last until end unless stopped earlier. */
void progress_sample(struct progress *progress, uint64_t end);

/* Call often: updates the line with the remaining time once a second. */
void progress_tick(struct progress *progress);

#define PROGRESS_LENGTH 40

/* Formats a duration for people, such as "8 min 20 s"; below a second counts as one. Returns
 * text. */
const char *progress_length(char text[static PROGRESS_LENGTH], uint64_t ns);

#endif
