/* SPDX-License-Identifier: Apache-2.0 */
/* The triggers' programs, their probes and what they report. */
#ifndef SESSION_TRIGGERS_H
#define SESSION_TRIGGERS_H

#include "bpf/kernel_delay.h"
#include "cli/base/exit_status.h"
#include "session_types.h"

struct triggers;

/* Of an event of the kernel side. Returns 0, or a negative errno, which ends the walk. */
typedef int trigger_event_fn(void *context, const struct kd_event *event);

/* Becomes readable when a trigger has opened a window that it does not close,
 * and when one has closed. -1 without triggers. */
int triggers_events_fd(const struct triggers *triggers);

/* Calls found() for each event since the last call. Returns 0 or a negative errno, which
 * may be found()'s. */
int triggers_events(struct triggers *triggers, trigger_event_fn *found, void *context);

/* What the triggers have done so far; the durations' histogram included. Returns
 * 0 or a negative errno. */
int triggers_tally(const struct triggers *triggers, struct kd_tally *sum);

/* How many hits found their program not run, as another one was busy. */
uint64_t triggers_skipped(const struct triggers *triggers);

/* How many hits of functions of the kernel it has dropped, as far as it says so. */
uint64_t triggers_dropped(const struct triggers *triggers);

/* About what a hit of a role's probe costs the thread that makes it, in ns; 0 if
 * there is none, or it is the start's. The first call measures it, which takes some
 * 10 ms. */
uint64_t triggers_hit_cost(struct triggers *triggers, enum kd_role role);

/* Measures it again: the machine's speed may have changed. */
void triggers_remeasure(struct triggers *triggers);

/* Takes over that there are more sites for a role, and attaches to them where probes are attached
 * at all. Returns 0, or after printing what failed an exit status. */
exit_status triggers_extend(struct triggers *triggers, enum kd_role role, size_t n_sets);

/* True if there are probes that are perf events; or of those only in files of processes. */
bool triggers_have_events(const struct triggers *triggers, bool in_files);

/* Detaches the probes, which may take some 0.1 s each. */
void triggers_detach(struct triggers *triggers);

/* From now on no hit counts, and the probes are detached in the background. Returns 0
 * or a negative errno. */
int triggers_detach_begin(struct triggers *triggers);

/* True if that has come to its end; the session's part of it is session_detach_end(). */
bool triggers_detach_end(struct triggers *triggers);

/* Attaches the probes again; hits count from the end of this on. Returns 0, or after
 * printing what failed an exit status. */
exit_status triggers_attach_again(struct triggers *triggers);

#endif
