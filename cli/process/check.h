/* SPDX-License-Identifier: Apache-2.0 */
/* --check: what triggers mean, where their probes would be, and what they cost. */
#ifndef CHECK_H
#define CHECK_H

#include "cli/base/exit_status.h"
#include "trigger_set.h"

/* Prints it. Costs are measured on this machine now. Returns 0, or after printing what
 * failed an exit status. */
exit_status check_triggers(const struct trigger_set *triggers, const struct processes *processes);

#endif
