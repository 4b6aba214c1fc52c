/* SPDX-License-Identifier: Apache-2.0 */
/* What a row of options_table.c says of an option, and its readers: values from text. */
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

#define OPTIONS_SEE_HELP "`" PROGRAM " --help` lists the options"

/* A hint to the error before it. Returns the exit status of a wrong command line. */
exit_status options_see_help(void);

/* Prints "option --NAME: 'TEXT' WHAT" and a hint. Returns as above. */
__attribute__((format(printf, 4, 5))) int options_refuse_value(const struct option_row *row,
							       const char *text, const char *what,
							       const char *hint, ...);

/* The process, given without an option: a PID, several with commas between them, or a name.
 * To be called when all options are read, as it is refused beside --pid and --comm.
 * Returns as a reader. */
exit_status options_read_process(const char *text, struct options *options);

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
OPTION_READER(read_memory);   /* the same, as much as the recorder may have */
OPTION_READER(read_file);     /* its name */
OPTION_READER(read_glob);     /* a pattern, not empty */
OPTION_READER(read_choice);   /* one of the row's choices: its number */

/* Values of one option each. */
OPTION_READER(read_pids);     /* PID[,PID...] */
OPTION_READER(read_tids);     /* TID[,TID...] */
OPTION_READER(read_name);     /* of a process */
OPTION_READER(read_user);     /* a name or a number */
OPTION_READER(read_text);     /* any that is not empty */
OPTION_READER(read_wait);     /* a duration; none: without a limit */
OPTION_READER(read_at);       /* a time, or a period */
OPTION_READER(read_length);   /* of a sample: a duration */
OPTION_READER(read_trigger);  /* whose text is not looked at; only one of each role */
OPTION_READER(read_deltas);   /* DURATION[,GLOB:DURATION...] */
OPTION_READER(read_overhead); /* PERCENT[,stop] */
OPTION_READER(read_machine);  /* one of the row's choices */
OPTION_READER(read_listing);  /* GLOB, not looked at */
OPTION_READER(read_events);   /* a duration */
OPTION_READER(read_counters); /* names of events; only once */
OPTION_READER(read_calls);    /* which of them; only once */
OPTION_READER(read_waits);    /* which of them */
OPTION_READER(read_output);   /* FORMAT[:FILE] or FILE, in addition to those before */
OPTION_READER(read_mode);     /* of a file, octal */
OPTION_READER(read_fail_if);  /* not looked at; in addition to those before */
OPTION_READER(read_listen);   /* [ADDRESS:]PORT */

#endif
