/* SPDX-License-Identifier: Apache-2.0 */
/* Table of options, a row for each: used to parse the command line, and for help and completion. */
#ifndef OPTIONS_TABLE_H
#define OPTIONS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/base/exit_status.h"
#include "options.h"
#include "options_read.h"

#define OPTIONS_MAX 192 /* for all rows */

/* Returns the row at an index; NULL past the last one. */
const struct option_row *option_row_at(size_t index);

size_t option_row_index(const struct option_row *row);

/* Returns the row of a key; NULL: none. */
const struct option_row *option_row_find(int key);

/* The row of a name, length bytes long, or of its beginning if that is no other's; NULL if there is
 * none. *similar is how many begin so. */
const struct option_row *option_row_named(const char *name, size_t length, size_t *similar);

/* --- What may stand behind the value of an option: VALUE,NAME,NAME=VALUE --- */

/* The attribute of an option whose name is at the text's beginning, NULL if there is none. */
const struct option_row *attribute_find(const struct option_row *option, const char *text);

/* How an attribute is given: "--record=DURATION,memory=SIZE". Returns text. */
typedef char attribute_text[128];
const char *attribute_spelled(const struct option_row *row, attribute_text text);

/* --- Parsing and help by argp --- */

/* Takes an option with its value, or NULL without one; row is NULL for a word that is no option.
 * A result other than 0 ends the walk. */
typedef int options_found(void *context, const struct option_row *row, char *text);

/* Calls found() for the words of a command line in order, up to --. Returns 0; the result of
 * found(); or a negative errno: -EINVAL if argv[*at] cannot be parsed. *command is set to the
 * words after --; NULL without a --. */
int options_walk(int argc, char **argv, options_found *found, void *context, int *at,
		 char ***command);

/* Prints what is wrong with such a word. Returns an exit status. */
exit_status options_refuse_word(const char *word);

/* Readers of rows: print help (the ARGP_HELP_* sections in min) or the version to standard
 * output, and exit. fuzz_options.c replaces them. */
OPTION_READER(read_help);
OPTION_READER(read_version);

/* Returns this program's version. */
const char *options_version(void);

/* --- Rules --- */

/* Which options mean something in a run like this, and which exclude each other. */

/* Refuses given options, by row index, that are not valid in every mode of the options. Process
 * is one given without an option, or NULL. Returns 0, or an exit status after printing what is
 * wrong. */
exit_status options_check_modes(const struct options *options, const bool given[OPTIONS_MAX],
				const char *process);

/* Refuses what cannot be together, or needs more, by what all that was read means. Returns as
 * above. */
exit_status options_check_together(const struct options *options);

#endif
