/* SPDX-License-Identifier: Apache-2.0 */
/* Which options mean something in a run like this, and which exclude each other. */
#ifndef OPTIONS_RULES_H
#define OPTIONS_RULES_H

#include <stdbool.h>

#include "cli/base/exit_status.h"
#include "options.h"
#include "options_table.h"

/* Refuses given options, by row index, that are not valid in every mode of the options. Process
 * is one given without an option, or NULL. Returns 0, or an exit status after printing what is
 * wrong. */
exit_status options_check_modes(const struct options *options, const bool given[OPTIONS_MAX],
				const char *process);

/* Refuses what cannot be together, or needs more, by what all that was read means. Returns as
 * above. */
exit_status options_check_together(const struct options *options);

#endif
