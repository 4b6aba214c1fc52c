/* SPDX-License-Identifier: Apache-2.0 */
/* Watches what the triggers' probes take from the threads that hit them.
 *
 * Each thread has an account: it earns a share of its own CPU time, and its hits spend what they
 * cost. */
#ifndef OVERHEAD_H
#define OVERHEAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/base/exit_status.h"
#include "cli/capture/session/config.h"
#include "cli/model/sample.h"
#include "cli/model/trigger_stats.h"

struct overhead;
struct session;

/* Starts with attached probes. percent: the limit, a share of a thread's CPU time; 0: none. A
 * mostly sleeping thread may lose a little, even if that is much of its CPU time. Returns NULL
 * without memory. The session must outlive the result. */
struct overhead *overhead_new(struct session *session, uint64_t percent);
void overhead_free(struct overhead *overhead);

/* Call it often; looks every 50 ms, or at once if now. Returns true if it has looked. */
bool overhead_look(struct overhead *overhead, bool now);

/* True if some thread's hits cost more than it has earned so far. */
bool overhead_is_overdrawn(const struct overhead *overhead);

/* Sets *tid to the thread deepest in debt; 0: threads of other processes. Returns what it lost
 * between the last two looks, in percent of its CPU time; for other processes, in percent of the
 * time of all CPUs. */
uint64_t overhead_worst(const struct overhead *overhead, pid_t *tid);

/* Fills in which thread paid most, how long the probes were off, and the CPU time of threads with
 * the probes on and off. */
void overhead_tell(struct overhead *overhead, struct trigger_stats *stats);

/* --- Keeps the cost below the limit: probes are detached for some of the time --- */

/* Call it often, instead of overhead_look(). drop: whether to drop windows that are open when the
 * probes are detached, as their stop may come meanwhile. Returns 0, or an exit status after
 * printing what failed. */
exit_status overhead_tick(struct overhead *overhead, bool drop);

/* True if hits count now. */
bool overhead_is_on(const struct overhead *overhead);

/* --- This program's own cost --- */

#define OWN_CHILDREN 3

/* Counts so far; zeroed: none yet. */
struct own_cost_meter {
	struct own_cost self; /* period_ns: time of the reading */
	struct own_cost children[OWN_CHILDREN];
	pid_t of[OWN_CHILDREN]; /* their PIDs */
};

/* Starts counting. children: 0 where there is none. */
void own_cost_begin(struct own_cost_meter *meter, const pid_t children[OWN_CHILDREN]);

/* Returns the cost since own_cost_begin() or the last call. Lacks the cost of a child that ended
 * since then. */
struct own_cost own_cost_take(struct own_cost_meter *meter, const pid_t children[OWN_CHILDREN]);

#endif
