/* SPDX-License-Identifier: Apache-2.0 */
/* What options there are: a row each, from which the command line is read, and help and
 * completion are made. */
#ifndef OPTIONS_TABLE_H
#define OPTIONS_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "options.h"

#define PROGRAM "kernel_delay"
#define OPTIONS_ROOM 96 /* for all rows */

/* Where a value is looked for. */
enum option_takes {
	TAKES_NONE,
	TAKES_VALUE,
	TAKES_ATTACHED,  /* or none: --list-probes=GLOB */
	TAKES_FOLLOWING, /* or none: attached, or the next word if it begins with a digit */
};

/* What can be a value, for completion. */
enum option_words {
	WORDS_NONE,
	WORDS_PIDS,
	WORDS_NAMES, /* of processes */
	WORDS_USERS,
	WORDS_TRIGGERS,
	WORDS_CALLS,
	WORDS_WAITS,
	WORDS_OUTPUTS,
	WORDS_CONDITIONS,
	WORDS_FILES,
	WORDS_CHOICES, /* of the row */
};

/* What a run is. Several may hold, and an option has to have a meaning in each. */
enum option_mode {
	IN_CLOCKED = 1 << 0, /* no trigger begins or ends samples */
	IN_ONE = 1 << 1,     /* only a start or a stop trigger */
	IN_PAIR = 1 << 2,
	IN_LONG_POLL = 1 << 3,
	IN_RECORD_ON = 1 << 4,
	IN_LIVE = 1 << 5,
	IN_CHECK = 1 << 6,
	IN_COMMAND = 1 << 7,
	IN_REPLAY = 1 << 8,
	IN_LIST_PROBES = 1 << 9,
	IN_LIST_METRICS = 1 << 10,
	IN_MACHINE = 1 << 11,
};

struct option_row {
	const char *name; /* NULL: help is a title, or with a letter the row has no help */
	char letter;      /* 0: none */
	enum option_takes takes;
	const char *value; /* as the help names it */
	const char *help;

	/* Reads a value into the options; of an option without one text is NULL. Returns 0,
	 * or after printing what is wrong an exit status. */
	int (*read)(const struct option_row *row, const char *text, struct options *options);
	size_t field, size; /* where in struct options */
	uint64_t min, max;
	uint64_t unit; /* of a duration without one, ns; 0: it has to have one */

	const char *const *choices; /* up to NULL; in the order of an enumeration */

	const char *preset;  /* the value if the option is not given; NULL: 0 */
	const char *implied; /* the value if it is given without one */
	enum option_words words;
	unsigned int in; /* the modes in which it is valid */
};

/* The row at an index, NULL behind the last one. */
const struct option_row *option_row_at(size_t index);

size_t option_row_index(const struct option_row *row);

/* What argp knows a row by: its letter or a number of its own. */
int option_row_key(size_t index);

/* The row of a key, NULL if there is none. */
const struct option_row *option_row_find(int key);

#endif
