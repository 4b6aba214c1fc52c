/* SPDX-License-Identifier: Apache-2.0 */
/* Options from the command line, and what they mean together. */
#ifndef OPTIONS_PARSE_H
#define OPTIONS_PARSE_H

#include <stdbool.h>

#include "cli/base/exit_status.h"
#include "options.h"

/* True if slow calls, waits or samples of running code are asked for. */
bool options_want_traces(const struct options *options);

/* Fills *options from the command line. Returns 0; or, after printing one to
 * three lines of what is wrong, an exit status of <sysexits.h>. --help and
 * --version print and end the process with status 0. The caller clears the options either way. */
exit_status options_parse(int argc, char **argv, struct options *options);

/* Releases what the options own. */
void options_clear(struct options *options);

#endif
