/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel side's tables of who had the CPU while threads waited. */
#ifndef SESSION_CULPRITS_H
#define SESSION_CULPRITS_H

#include <stdint.h>

#include "cli/model/sample.h"
#include "session_types.h"

struct culprits;

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

#endif
