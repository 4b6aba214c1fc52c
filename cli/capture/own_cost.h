/* SPDX-License-Identifier: Apache-2.0 */
/* What this program and its child, which resolves stacks, take for themselves. */
#ifndef OWN_COST_H
#define OWN_COST_H

#include <sys/types.h>

#include "cli/model/sample.h"

/* Counts so far; zeroed: of nothing yet. */
struct own_cost_meter {
	struct own_cost self, child; /* period_ns: when they were read */
	pid_t of;                    /* whose the child's are */
};

/* Counts from now on. child: 0 if there is none. */
void own_cost_begin(struct own_cost_meter *meter, pid_t child);

/* Returns what there was since own_cost_begin() or the last call of this one. What a child that
 * has ended took since then is not in it. */
struct own_cost own_cost_take(struct own_cost_meter *meter, pid_t child);

#endif
