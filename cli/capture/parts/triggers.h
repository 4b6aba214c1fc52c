/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of the triggers, their probes and their events. */
#ifndef PART_TRIGGERS_H
#define PART_TRIGGERS_H

#include "bpf/kernel_delay.h"
#include "cli/base/exit_status.h"
#include "cli/capture/session/config.h"

struct triggers;

/* Sums what the triggers have done so far, including the histogram of durations. Returns 0 or a
 * negative errno. */
int triggers_tally(const struct triggers *triggers, struct kd_tally *sum);

/* Returns how many hits did not run their program, because another program was running. */
uint64_t triggers_skipped(const struct triggers *triggers);

/* Returns how many hits of kernel functions the kernel dropped, as far as it counts them; after
 * attached_drop(), how many there were at the last call. */
uint64_t triggers_dropped(struct triggers *triggers);

/* Returns the approximate cost of a hit of a role's probe to its thread, ns. 0 if the role has no
 * probe of its own. The first call measures, which takes about 10 ms. */
uint64_t triggers_hit_cost(struct triggers *triggers, enum kd_role role);

/* Measures again: the machine's speed may have changed. */
void triggers_remeasure(struct triggers *triggers);

/* Attaches to the sets that a role has beyond those before, if its probes are attached. Returns 0,
 * or an exit status after printing what failed. */
exit_status triggers_extend(struct triggers *triggers, enum kd_role role, size_t before);

/* True if any probe is a perf event; in_files: only probes in files of processes. */
bool triggers_have_events(const struct triggers *triggers, bool in_files);

/* Detaches the probes, which may take about 0.1 s each. */
void triggers_detach(struct triggers *triggers);

/* Stops counting hits, and detaches the probes in the background. Returns 0 or a negative errno. */
int triggers_detach_begin(struct triggers *triggers);

/* True if the background has finished detaching. session_detach_end() does the rest. */
bool triggers_detach_end(struct triggers *triggers);

/* Attaches the probes again; hits count when that is done. Returns 0, or an exit status after
 * printing what failed. */
exit_status triggers_attach_again(struct triggers *triggers);

/* Returns the map with the token for setting edges; -1: no token is needed. */
int triggers_token(const struct triggers *triggers);

#endif
