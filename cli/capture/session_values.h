/* SPDX-License-Identifier: Apache-2.0 */
/* What decides by values: which hits of triggers count, and how long windows must be. Part of
 * the session. */
#ifndef SESSION_VALUES_H
#define SESSION_VALUES_H

#include "cli/base/exit_status.h"
#include "cli/model/deltas.h"
#include "session.h"

struct kernel_delay;

/* Before loading: says which triggers have conditions, and whether there are deltas by name. */
void values_select(struct kernel_delay *skel, const struct session_config *config);

/* Hands the conditions of a role's sites to the kernel side: before they are attached to. Returns
 * 0, or an exit status after printing what failed. */
exit_status values_conditions(struct kernel_delay *skel, enum kd_role role,
			      const struct trigger_sites *sites);

/* The same of deltas by name, once. */
exit_status values_deltas(struct kernel_delay *skel, const struct deltas *deltas);

#endif
