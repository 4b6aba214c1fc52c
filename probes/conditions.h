/* SPDX-License-Identifier: Apache-2.0 */
/* The conditions of a trigger's sites. */
#ifndef CONDITIONS_H
#define CONDITIONS_H

#include "cli/base/exit_status.h"
#include "condition.h"
#include "resolve.h"

/* One trigger's. Its sites share one, except those of USDT probes, which may have the same
 * argument in different places: a site has the number of its own (struct site). */
struct conditions {
	size_t n;
	struct kd_condition all[KD_CONDITIONS];
};

/* Makes the conditions of sites that were found for a trigger, and adds those that are new; without
 * one nothing is done. The first call sets *conditions, which the caller frees. Returns 0, or after
 * printing what is wrong an exit status. */
exit_status conditions_add(struct conditions **conditions, const struct trigger *trigger,
			   struct sites *sites);

/* Prints what is wrong with a trigger's condition at a byte of the trigger's text, and the grammar;
 * returns the exit status. */
exit_status condition_refuse(const char *text, size_t at, const char *why);

#endif
