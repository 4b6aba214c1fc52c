/* SPDX-License-Identifier: Apache-2.0 */
/* Triggers of a run: from options to sites, and their combination. */
#ifndef TRIGGER_SET_H
#define TRIGGER_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"
#include "cli/base/exit_status.h"
#include "cli/model/trigger_stats.h"
#include "cli/options/options.h"
#include "probes/sites.h"
#include "processes.h"

struct trigger_set {
	struct trigger_sites triggers[KD_ROLES]; /* by enum kd_role */
	bool same_probe; /* both are the same probe, attached once: windows last from hit to hit */
	bool target_only[KD_ROLES];
	bool same_thread;
	/* Probes in files of several processes, or of one without its first thread: any process
	 * that maps the files hits them. */
	bool everywhere;
	bool full_reported[KD_ROLES]; /* reported that there are too many programs */
	uint64_t *looked;             /* programs already checked, see objects_key() */
	size_t n_looked, capacity_looked;
	struct deltas deltas;    /* of windows that triggers open and close */
	struct signals *signals; /* see signals_wait(); NULL: they end this program at once */
};

/* Parses the triggers of the options into a zeroed set. Returns 0, or an exit status after printing
 * what is wrong. The caller clears the set in either case. */
exit_status trigger_set_read(struct trigger_set *set, const struct options *options);

/* True if a trigger is in a file that a program may have only after its loader ran. */
bool trigger_set_in_libraries(const struct trigger_set *set);

/* Finds the triggers of the set in the files of all processes, or those of --long-poll. Reports
 * processes without a trigger once; at least one must have it. Returns 0, or an exit status
 * after printing what is wrong. */
exit_status trigger_set_find(struct trigger_set *set, const struct options *options,
			     const struct processes *processes);

/* Looks for triggers in the files of one more process, unless a checked one maps the same files.
 * New sites become another set of their role. Returns 0, or silently -ESRCH if the process has
 * ended or is not accessible, or -ENOMEM. */
int trigger_set_add(struct trigger_set *set, pid_t pid);

/* Call after attaching: checks that the processes run the probed code (pid: if there is one),
 * and reports if not. Returns an exit status if a trigger cannot be hit at all. */
exit_status trigger_set_placed(const struct trigger_set *set, const struct processes *processes,
			       pid_t pid);

void trigger_set_clear(struct trigger_set *set);

static inline bool trigger_set_has(const struct trigger_set *set, enum kd_role role)
{
	return set->triggers[role].n_sets > 0;
}

/* True if there is a trigger, found or not, and its sites are in files. */
static inline bool trigger_set_in_files(const struct trigger_set *set, enum kd_role role)
{
	const struct trigger *trigger = &set->triggers[role].trigger;

	return trigger->text && trigger_is_user(trigger);
}

static inline bool trigger_set_is_empty(const struct trigger_set *set)
{
	return !trigger_set_has(set, KD_START) && !trigger_set_has(set, KD_STOP);
}

/* --- --check --- */

/* Prints the triggers. Costs are measured on this machine now. Returns 0, or an exit status
 * after printing what failed. */
exit_status check_triggers(const struct trigger_set *triggers, const struct processes *processes);

#endif
