/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the command line, and combines the options. */
#ifndef OPTIONS_PARSE_H
#define OPTIONS_PARSE_H

#include <stdbool.h>

#include "cli/base/exit_status.h"
#include "options.h"

/* Fills *options from the command line. Returns 0, or an exit status of <sysexits.h> after
 * printing one to three lines of what is wrong. --help and --version print and exit with status
 * 0. The caller clears the options in either case. */
exit_status options_parse(int argc, char **argv, struct options *options);

/* Frees what the options own. */
void options_clear(struct options *options);

#endif
