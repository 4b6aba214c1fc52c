/* SPDX-License-Identifier: Apache-2.0 */
/* What options there are: a row each, from which the command line is read, and help and
 * completion are made. */
#ifndef OPTIONS_TABLE_H
#define OPTIONS_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "cli/base/exit_status.h"
#include "options_read.h"

#define OPTIONS_ROOM 192 /* for all rows */

/* The row at an index, NULL behind the last one. */
const struct option_row *option_row_at(size_t index);

size_t option_row_index(const struct option_row *row);

/* The row of a key, NULL if there is none. */
const struct option_row *option_row_find(int key);

/* --- As argp reads and explains them --- */

/* Takes an option with its value, NULL if it is given without; row is NULL for a word
 * that is no option. What is not 0 ends the walk. */
typedef int options_found(void *context, const struct option_row *row, char *text);

/* Calls found() for the words of a command line, in their order, up to --. Returns 0; what
 * found() returned; or a negative errno: -EINVAL if argv[*at] cannot be read. *command is
 * set to the words after --, NULL if there is no --. */
int options_walk(int argc, char **argv, options_found *found, void *context, int *at,
		 char ***command);

/* Prints what is wrong with such a word. Returns an exit status. */
exit_status options_refuse_word(const char *word);

/* Readers of rows: print help, the parts ARGP_HELP_* that are in min, or the version to standard
 * output, and end the process. (So fuzz_options.c has others in their place.) */
OPTION_READER(read_help);
OPTION_READER(read_version);

/* Of this program. */
const char *options_version(void);

#endif
