/* SPDX-License-Identifier: Apache-2.0 */
/* Which options mean something in a run like this. */
#ifndef OPTIONS_MODES_H
#define OPTIONS_MODES_H

#include "cli/base/exit_status.h"
#include "options_table.h"

/* Refuses what was given, by the index of its row, and is not valid in each mode that the options
 * make; process is one that was given without an option, NULL: none was. Returns 0, or after
 * printing what is wrong an exit status. */
exit_status options_modes_check(const struct options *options, const bool given[OPTIONS_ROOM],
				const char *process);

#endif
