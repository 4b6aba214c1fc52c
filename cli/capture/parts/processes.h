/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of the target: which there are, and when they come and end. */
#ifndef PART_PROCESSES_H
#define PART_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/base/exit_status.h"
#include "cli/capture/session/config.h"
#include "cli/capture/session/types.h"
#include "cli/model/sample.h"
#include "cli/process/container.h"
#include "cli/process/group.h"

struct process_set;

/* Reads which processes began and ended. Returns 0 or a negative errno. */
int process_set_look(struct process_set *set);

/* True if processes moved into the cgroup since the last call: the iterator should visit their
 * threads (KD_VISIT_JOIN). True once more when threads that were too young then are old enough. */
bool process_set_joined(struct process_set *set);

/* Takes up to that many PIDs of new processes of the target that are no children of its processes.
 * Does not report execve. Returns how many. Only in runs with triggers in files. */
size_t process_set_newcomers(struct process_set *set, pid_t *pids, size_t capacity);

/* False if the target is one process: the other functions then do nothing. */
bool process_set_is_used(const struct process_set *set);

/* False if the target has ended. */
bool process_set_go_on(const struct process_set *set);

/* Folding: processes may come and go by the thousand in a window. Once process_set_fold_due() is
 * true, the caller passes each thread that is not read yet to process_set_keep(), which keeps its
 * process. It passes each row of the window to process_set_use(); without a window (generation 0)
 * there are none.
 *
 * process_set_fold_begin() then removes the other ended processes. It moves the used ones of these,
 * and what was folded before, into the empty sample, which the caller clears in any case. Returns 0
 * or -ENOMEM. The caller adds the threads, calls processes_fold_open(), and takes the threads back.
 * process_set_fold_end() keeps the processes of the sample. */
bool process_set_fold_due(const struct process_set *set);
void process_set_keep(struct process_set *set, const struct kd_thread *thread);
void process_set_use(struct process_set *set, const struct thread_row *thread);
int process_set_fold_begin(struct process_set *set, const struct session_view *view,
			   struct sample *sample);
void process_set_fold_end(struct process_set *set, struct sample *sample);

/* Forgets what was folded, if its window is not read. */
void process_set_fold_forget(struct process_set *set);

/* Adds the processes of a sample's threads to it. Forgets processes that ended before that time: no
 * window has them any more. Returns 0 or -ENOMEM. */
int process_set_collect(struct process_set *set, const struct session_view *view, uint64_t since,
			struct sample *sample);

/* Returns the process whose threads iterators visit; 0: all. Only while the session is being
 * opened. */
pid_t session_visited(const struct session *session);

#endif
