/* SPDX-License-Identifier: Apache-2.0 */
/* A target of several processes: its members, and when they come and end. */
#ifndef SESSION_PROCESSES_H
#define SESSION_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/model/sample.h"
#include "session_types.h"

struct several;

/* Reads which processes began and ended. Returns 0 or a negative errno. */
int several_look(struct several *several);

/* True if processes moved into the cgroup since the last call: the iterator should visit their
 * threads (KD_VISIT_JOIN). True again when those too young for that are old enough. */
bool several_joined(struct several *several);

/* Takes up to room PIDs of new processes of the target that are no children of its processes;
 * execve is not reported. Returns how many. Only in runs with triggers in files. */
size_t several_newcomers(struct several *several, pid_t *pids, size_t room);

/* False if the target is one process: then none of these does anything. */
bool several_are(const struct several *several);

/* False if the target has ended. */
bool several_go_on(const struct several *several);

/* Processes may come and go by the thousand in a window. True if so many have ended that they
 * should be folded, which then takes some steps: those of which a thread has not been read yet are
 * kept, and those that a thread of the window is of are used. Then those that have ended are taken
 * out, and the used ones of them are moved into the sample, which has none, with what was folded
 * before. Without a window (its generation is 0) none may be used. The caller adds their
 * threads, calls processes_fold_open() and takes the threads back; the processes are then kept as
 * they are. several_fold_begin() returns 0 or -ENOMEM; in any case the caller clears the sample. */
bool several_fold_due(const struct several *several);
void several_keep(struct several *several, const struct kd_thread *thread);
void several_use(struct several *several, const struct thread_row *thread);
int several_fold_begin(struct several *several, const struct session_view *view,
		       struct sample *sample);
void several_fold_end(struct several *several, struct sample *sample);

/* Forgets what was folded, as its window is not read. */
void several_fold_forget(struct several *several);

/* Adds the processes of a sample's threads to it, and forgets those that ended before a time, as
 * no window has them any more. Returns 0 or -ENOMEM. */
int several_collect(struct several *several, const struct session_view *view, uint64_t since,
		    struct sample *sample);

#endif
