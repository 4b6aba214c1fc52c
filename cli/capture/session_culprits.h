/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel side's tables of who had the CPU while threads waited. Part of the session. */
#ifndef SESSION_CULPRITS_H
#define SESSION_CULPRITS_H

#include <stdint.h>

#include "cli/base/exit_status.h"
#include "cli/model/sample.h"
#include "session_types.h"

struct kernel_delay;

struct culprits {
	struct kernel_delay *skel;
	struct kd_runqueue *runqueues; /* by CPU */
	struct kd_blame *blames;       /* by slot; slots of them for each bank */
	struct kd_culprit *tasks;      /* KD_CULPRITS of them */
	uint32_t cpus, slots, banks;
	char group[CULPRIT_GROUP_LEN]; /* its control group */
	struct culprit_group *groups;  /* those of others, by their index in tasks */
};

/* Before loading: makes room for them. Returns 0, or after printing what failed an exit
 * status. */
exit_status culprits_select(struct culprits *culprits, struct kernel_delay *skel, pid_t tgid,
			    uint32_t cpus, uint32_t slots, uint32_t banks);

/* After loading. Returns as above. */
exit_status culprits_map(struct culprits *culprits);

/* True if a thread waited for a CPU at the window's end and has not been charged up to
 * there, as there has been no switch since: the task iterator has to visit it. */
bool culprits_pending(const struct culprits *culprits, const struct session_view *view);

/* Sets the row's culprits, which then add up to its waits for a CPU, and moves what limits
 * took to their line of the ledger. The thread is a copy that was read with the ledger. Returns
 * 0 or -ENOMEM. */
int culprits_read(const struct culprits *culprits, const struct session_view *view, uint32_t slot,
		  const struct kd_thread *thread, struct thread_row *row);

/* Says which task a key is of: its IDs, names, class and priority. Returns false if the tables do
 * not know it any more. */
bool culprits_task(const struct culprits *culprits, uint32_t key, struct culprit *culprit);

/* All tasks that the tables know, by key. rows has room for KD_CULPRITS. Returns how many. */
size_t culprits_all(const struct culprits *culprits, struct recorded_culprit *rows);

/* Who has CPUs on which threads wait and where there has been no switch since, after a visit that
 * culprits_pending() asked for: a row for each such CPU, from when on somebody has waited, with
 * times since the epoch and no end. rows has room for one of each CPU. Returns how many. */
size_t culprits_running(const struct culprits *culprits, const struct session_view *view,
			struct recorded_run *rows);

/* Nobody's are those of a slot whose thread has ended. */
void culprits_free_slot(struct culprits *culprits, uint32_t slot);

void culprits_close(struct culprits *culprits);

/* --- What the hypervisor takes --- */

struct programs;

/* Before loading: the programs look at the clock if there is one. Returns 0 or a negative errno. */
int steal_select(struct kernel_delay *skel, uint32_t cpus);

/* After the first visit of the iterator: says if the report lacks what is stolen. On a machine
 * without a hypervisor there is nothing to say. */
void steal_tell(const struct kernel_delay *skel, struct programs *programs);

#endif
