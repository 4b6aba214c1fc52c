/* SPDX-License-Identifier: Apache-2.0 */
/* A row describes an option; readers for values of several options. */
#ifndef OPTIONS_READ_H
#define OPTIONS_READ_H

#include <stddef.h>
#include <stdint.h>

#include "cli/base/exit_status.h"
#include "options.h"

#define PROGRAM "kernel_delay"

/* Where to find a value. */
enum option_takes {
	TAKES_NONE,
	TAKES_VALUE,
	TAKES_ATTACHED,  /* or none: --list-probes=GLOB */
	TAKES_FOLLOWING, /* or none: attached, or a next word that begins with a digit */
};

/* Completions for a value. */
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
	WORDS_CHOICES, /* from the row */
};

/* Kinds of run. Several may hold, and an option must make sense in each. */
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

/* Modes in which options make sense. --sample-time with a stop trigger, or --trigger-delta without
 * two triggers, has no effect but is accepted: scripts for kernel_delay.py may pass them. */
#define PAIRS (IN_PAIR | IN_LONG_POLL | IN_COMMAND)
#define TRIGGERED (IN_ONE | PAIRS)
#define SAMPLES (IN_CLOCKED | IN_RECORD_ON | IN_LIVE | TRIGGERED)
#define REPORT (SAMPLES | IN_REPLAY)
#define PROCESS ((SAMPLES & ~IN_COMMAND) | IN_CHECK | IN_LIST_PROBES | IN_MACHINE)
#define EVERYWHERE (~0U)

struct option_row {
	const char *name; /* NULL: help is a title, unless there is a letter or .of */
	char letter;      /* 0: none */
	enum option_takes takes;
	const char *value; /* name in the help; for a title: its topic, see --help=TOPIC */
	const char *help;
	const char *brief; /* line on the first help screen; NULL: not there */

	/* Parses a value into the options; text is NULL for an option without one. Returns 0, or
	 * an exit status after printing what is wrong. */
	int (*read)(const struct option_row *row, const char *text, struct options *options);
	size_t field, size; /* of the member in struct options */
	uint64_t min, max;
	uint64_t unit; /* of a duration without one, ns; 0: a unit is required */

	const char *const *choices; /* up to NULL; in the order of the enum */

	const char *preset;  /* default value; NULL: 0 */
	const char *implied; /* value of an option given without one */
	enum option_words words;
	unsigned int in; /* modes in which it is valid */

	/* Lists of names have blanks between them. */
	const char *of;        /* an attribute of these options, and name, if there is one, was an
				  option once; "": is nothing now; NULL: an option */
	const char *attribute; /* its name there; NULL: the same */
	const char *formats;   /* of --output in which it means something; NULL: all */
	const char *needs;     /* one of these options has to be given, too */
	const char *not_with;  /* none of these may be */
	const char *why;       /* a hint if that is not so; of not_with NULL: give one of them */
};

#define OPTIONS_SEE_HELP "`" PROGRAM " --help=all` lists the options"

/* Whether a list has a name, length bytes long. */
bool option_list_has(const char *list, const char *name, size_t length);

static inline const char *attribute_name(const struct option_row *row)
{
	return row->attribute ? row->attribute : row->name;
}

/* What messages call a row: "option --record", "attribute memory". Returns text. */
const char *option_called(const struct option_row *row, char text[static 64]);

/* Prints a hint after an error. Returns the exit status for a bad command line. */
exit_status options_see_help(void);

/* Prints "option --NAME: 'TEXT' WHAT", or of an attribute, and a hint. Returns as above. */
__attribute__((format(printf, 4, 5))) int options_refuse_value(const struct option_row *row,
							       const char *text, const char *what,
							       const char *hint, ...);

#define OPTION_READER(name)                                                                        \
	int name(const struct option_row *row, const char *text, struct options *options)

/* Kinds of values. */
OPTION_READER(read_flag);
OPTION_READER(read_number);   /* an integer from min to max */
OPTION_READER(read_duration); /* at least min; the unit is as in unit */
OPTION_READER(read_percent);  /* up to 100, with a fraction: millionths */
OPTION_READER(read_bytes);    /* or with K, up to max */
OPTION_READER(read_size);     /* bytes, at least 1, or with K, M or G */
OPTION_READER(read_file);     /* its name */
OPTION_READER(read_glob);     /* a pattern, not empty */
OPTION_READER(read_choice);   /* index of one of the row's choices */
OPTION_READER(read_text);     /* not empty */

/* Initializers for rows. */
#define INTO(member)                                                                               \
	.field = offsetof(struct options, member), .size = sizeof(((struct options *)NULL)->member)
#define FLAG(member) .read = read_flag, INTO(member)
#define NUMBER(member, least, most) .read = read_number, INTO(member), .min = (least), .max = (most)
#define DURATION(member, least, bare)                                                              \
	.read = read_duration, INTO(member), .min = (least), .unit = (bare)

/* --- For readers of other values --- */

#define OPTIONS_DURATION_MAX (365 * 24 * 3600 * NSEC_PER_SEC)

/* Returns the row's member in the options. */
static inline void *option_field(const struct option_row *row, struct options *options)
{
	return (char *)options + row->field;
}

/* Stores a number in a member of 4 or 8 bytes, which can hold the row's maximum. Returns 0. */
int option_store(const struct option_row *row, uint64_t number, struct options *options);

/* Refuses a number without a unit. After an option with optional value it may mean a process. */
exit_status options_refuse_bare(const struct option_row *row, const char *text);

/* --- Groups of rows, each with its own readers --- */

#define OPTIONS_OF_GROUP 48

struct option_group {
	const struct option_row *rows;
	size_t n;
};

#define OPTION_GROUP(name, all)                                                                    \
	const struct option_group name = { all, sizeof(all) / sizeof(*(all)) };                    \
	_Static_assert(sizeof(all) / sizeof(*(all)) <= OPTIONS_OF_GROUP, "room for each option")

/* Parses a process given without an option: a PID, several separated by commas, or a name. Call it
 * after all options are read, as it conflicts with --pid and --comm. Returns as a reader does. */
exit_status options_read_process(const char *text, struct options *options);

extern const struct option_group options_of_target, options_of_samples, options_of_outputs;

#endif
