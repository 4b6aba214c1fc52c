/* SPDX-License-Identifier: Apache-2.0 */
/* What a row says of an option, and the readers of the kinds of values that several have. */
#ifndef OPTIONS_READ_H
#define OPTIONS_READ_H

#include <stddef.h>
#include <stdint.h>

#include "cli/base/exit_status.h"
#include "options.h"

#define PROGRAM "kernel_delay"

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

/* Modes in which options mean something. That --sample-time means nothing with a stop trigger, nor
 * --trigger-delta without two triggers, is no error: scripts for kernel_delay.py may give them. */
#define PAIRS (IN_PAIR | IN_LONG_POLL | IN_COMMAND)
#define TRIGGERED (IN_ONE | PAIRS)
#define SAMPLES (IN_CLOCKED | IN_RECORD_ON | IN_LIVE | TRIGGERED)
#define REPORT (SAMPLES | IN_REPLAY)
#define PROCESS ((SAMPLES & ~IN_COMMAND) | IN_CHECK | IN_LIST_PROBES | IN_MACHINE)
#define EVERYWHERE (~0U)

struct option_row {
	const char *name; /* NULL: help is a title, or with a letter the row has no help */
	char letter;      /* 0: none */
	enum option_takes takes;
	const char *value; /* as the help names it; of a title: its topic, see --help=TOPIC */
	const char *help;
	const char *brief; /* one line on the first screen of the help; NULL: it is not there */

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

#define OPTIONS_SEE_HELP "`" PROGRAM " --help=all` lists the options"

/* A hint to the error before it. Returns the exit status of a wrong command line. */
exit_status options_see_help(void);

/* Prints "option --NAME: 'TEXT' WHAT" and a hint. Returns as above. */
__attribute__((format(printf, 4, 5))) int options_refuse_value(const struct option_row *row,
							       const char *text, const char *what,
							       const char *hint, ...);

#define OPTION_READER(name)                                                                        \
	int name(const struct option_row *row, const char *text, struct options *options)

/* Kinds of values. */
OPTION_READER(read_flag);
OPTION_READER(read_number);   /* whole, from min to max */
OPTION_READER(read_duration); /* at least min; as unit says */
OPTION_READER(read_percent);  /* up to 100, with a fraction: millionths */
OPTION_READER(read_alpha);    /* more than 0, up to 1: millionths */
OPTION_READER(read_bytes);    /* or with K, up to max */
OPTION_READER(read_size);     /* bytes, at least 1, or with K, M or G */
OPTION_READER(read_file);     /* its name */
OPTION_READER(read_glob);     /* a pattern, not empty */
OPTION_READER(read_choice);   /* one of the row's choices: its number */
OPTION_READER(read_text);     /* any that is not empty */

/* What rows say of them. */
#define FIELD(member)                                                                              \
	.field = offsetof(struct options, member), .size = sizeof(((struct options *)NULL)->member)
#define FLAG(member) .read = read_flag, FIELD(member)
#define NUMBER(member, least, most)                                                                \
	.read = read_number, FIELD(member), .min = (least), .max = (most)
#define DURATION(member, least, bare)                                                              \
	.read = read_duration, FIELD(member), .min = (least), .unit = (bare)

/* --- What readers of other values need --- */

#define OPTIONS_DURATION_MAX (365 * 24 * 3600 * NSEC_PER_SEC)

/* Where the row's value goes. */
static inline void *option_field(const struct option_row *row, struct options *options)
{
	return (char *)options + row->field;
}

/* Sets a number: fields of them have 4 or 8 bytes, and room for the row's maximum. Returns 0. */
int option_store(const struct option_row *row, uint64_t number, struct options *options);

/* Right after an option whose value is optional a number may be meant as the process. */
exit_status options_refuse_bare(const struct option_row *row, const char *text);

/* --- Groups of rows, each with the readers of its own --- */

#define OPTIONS_OF_GROUP 48

struct option_group {
	const struct option_row *rows;
	size_t n;
};

#define OPTION_GROUP(name, all)                                                                    \
	const struct option_group name = { all, sizeof(all) / sizeof(*(all)) };                    \
	_Static_assert(sizeof(all) / sizeof(*(all)) <= OPTIONS_OF_GROUP, "room for each option")

/* The process, given without an option: a PID, several with commas between them, or a name.
 * To be called when all options are read, as it is refused beside --pid and --comm.
 * Returns as a reader. */
exit_status options_read_process(const char *text, struct options *options);

extern const struct option_group options_of_target, options_of_samples, options_of_outputs;

#endif
