/* SPDX-License-Identifier: Apache-2.0 */
/* What this program takes for itself, with its children, which resolve stacks,
 * open files for that and serve metrics. */
#ifndef OWN_COST_H
#define OWN_COST_H

#include <sys/types.h>

#include "cli/model/sample.h"

#define OWN_CHILDREN 3

/* Counts so far; zeroed: of nothing yet. */
struct own_cost_meter {
	struct own_cost self; /* period_ns: when they were read */
	struct own_cost children[OWN_CHILDREN];
	pid_t of[OWN_CHILDREN]; /* whose these are */
};

/* Counts from now on. children: 0 where there is none. */
void own_cost_begin(struct own_cost_meter *meter, const pid_t children[OWN_CHILDREN]);

/* Returns what there was since own_cost_begin() or the last call of this one. What a child that
 * has ended took since then is not in it. */
struct own_cost own_cost_take(struct own_cost_meter *meter, const pid_t children[OWN_CHILDREN]);

#endif
