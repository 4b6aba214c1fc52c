/* SPDX-License-Identifier: Apache-2.0 */
/* The triggers of a run: from the options to places, and what they mean
 * together. */
#ifndef TRIGGER_SET_H
#define TRIGGER_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../bpf/kernel_delay.h"
#include "../probes/resolve.h"
#include "options.h"

#define TRIGGER_SETS 8 /* of places, for one trigger */

struct trigger_set {
	struct trigger triggers[KD_ROLES]; /* by enum kd_role */
	struct places *sets[KD_ROLES][TRIGGER_SETS];
	size_t n_sets[KD_ROLES]; /* 0: there is no such trigger */
	bool same_probe;         /* for both: windows last from hit to hit */
	bool target_only[KD_ROLES];
	bool same_thread;
	uint64_t delta; /* ns */
};

/* Reads and looks up the triggers that the options name. Returns 0, or after
 * printing what is wrong an exit status. The caller clears the set either way. */
int trigger_set_find(struct trigger_set *set, const struct options *options, pid_t pid);

/* Releases what the set owns. */
void trigger_set_clear(struct trigger_set *set);

static inline bool trigger_set_has(const struct trigger_set *set, enum kd_role role)
{
	return set->n_sets[role] > 0;
}

static inline bool trigger_set_is_empty(const struct trigger_set *set)
{
	return !trigger_set_has(set, KD_START) && !trigger_set_has(set, KD_STOP);
}

#endif
