/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of options_table.c, as argp reads and explains them. */
#ifndef OPTIONS_ARGP_H
#define OPTIONS_ARGP_H

#include "cli/base/exit_status.h"
#include "options_table.h"

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

/* Readers of rows: print help, the parts ARGP_HELP_* that are in min, or the version to
 * standard output, and end the process. */
int read_help(const struct option_row *row, const char *text, struct options *options);
int read_version(const struct option_row *row, const char *text, struct options *options);

#endif
