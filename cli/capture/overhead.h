/* SPDX-License-Identifier: Apache-2.0 */
/* Watching what the triggers' probes take from the threads that hit them.
 *
 * Each thread has an account: it earns a share of its own CPU time, and its hits
 * spend what they cost. */
#ifndef OVERHEAD_H
#define OVERHEAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/model/trigger_stats.h"
#include "session.h"

struct overhead;

/* Watches for more than a share of a thread's CPU time, in percent; 0: for nothing.
 * A thread that sleeps may lose a little even if that is much of the little that it
 * runs. Returns NULL without memory. The session must outlive it. */
struct overhead *overhead_new(struct session *session, uint64_t percent);
void overhead_free(struct overhead *overhead);

/* To be called often; looks every 50 ms, or at once if now. Returns true if it has
 * looked. */
bool overhead_look(struct overhead *overhead, bool now);

/* True if some thread's hits have cost more than it has earned so far. */
bool overhead_is_overdrawn(const struct overhead *overhead);

/* True if the one that is deepest in debt went deeper between the last two looks. */
bool overhead_is_growing(const struct overhead *overhead);

/* All debts are forgotten. */
void overhead_forgive(struct overhead *overhead);

/* The thread that has lost most: its TID, or 0 if those are threads of other
 * processes; and what it lost between the last two looks, in percent of its CPU time,
 * those of other processes of the CPUs'. */
uint64_t overhead_worst(const struct overhead *overhead, pid_t *tid);

/* The probes are on from now on, or off. They are on at first. */
void overhead_switch(struct overhead *overhead, bool on);

/* Fills in which thread paid most, and what share of the calls was seen. */
void overhead_tell(struct overhead *overhead, struct trigger_stats *stats);

#endif
