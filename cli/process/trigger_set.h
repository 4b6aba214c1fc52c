/* SPDX-License-Identifier: Apache-2.0 */
/* The triggers of a run: from the options to sites, and what they mean
 * together. */
#ifndef TRIGGER_SET_H
#define TRIGGER_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"
#include "cli/base/exit_status.h"
#include "cli/model/deltas.h"
#include "cli/options/options.h"
#include "probes/resolve.h"
#include "processes.h"

#define TRIGGER_SETS 64 /* of sites, for one trigger: of calls, or of programs */

struct trigger_set {
	struct trigger triggers[KD_ROLES]; /* by enum kd_role */
	struct sites *sets[KD_ROLES][TRIGGER_SETS];
	size_t n_sets[KD_ROLES];                 /* 0: there is no such trigger */
	struct conditions *conditions[KD_ROLES]; /* NULL: all hits count */
	bool same_probe;                         /* for both: windows last from hit to hit */
	bool target_only[KD_ROLES];
	bool same_thread;
	/* Of several processes, or one without its first thread, with probes in files: these are
	 * hit by whoever has them mapped. */
	bool everywhere;
	bool full_told[KD_ROLES]; /* that there are too many programs */
	uint64_t *looked; /* the programs that have been looked through, see objects_key() */
	size_t n_looked, room_looked;
	struct deltas deltas;
	struct signals *signals; /* see signals_wait(); NULL: they end this program at once */
};

/* Reads and looks up the triggers that the options name; what is in files, in those of all
 * processes. Those that do not have a trigger are told of once; one at least must. Returns 0, or
 * after printing what is wrong an exit status. The caller clears the set either way. */
exit_status trigger_set_find(struct trigger_set *set, const struct options *options,
			     const struct processes *processes);

/* Looks for triggers in the files of one more process, if none was looked at that has the same
 * mapped. New sites are one more set of their role. Returns 0, or without a word -ESRCH if the
 * process has ended or may not be looked at, or -ENOMEM. */
int trigger_set_add(struct trigger_set *set, pid_t pid);

/* Where the probes are attached: looks whether the processes run the code that they are at (pid: if
 * it is one), and says so if not. Returns an exit status if a trigger cannot be hit at all. */
exit_status trigger_set_placed(const struct trigger_set *set, const struct processes *processes,
			       pid_t pid);

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

/* --- --check --- */

/* Prints it. Costs are measured on this machine now. Returns 0, or after printing what
 * failed an exit status. */
exit_status check_triggers(const struct trigger_set *triggers, const struct processes *processes);

#endif
