/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks that had the CPU while threads waited. */
#ifndef PART_CULPRITS_H
#define PART_CULPRITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/capture/session/types.h"
#include "cli/model/sample.h"

struct culprits;
struct thread_row;

/* Forgets who waits for which CPU. Only while no thread is the target's. */
void culprits_rest(struct culprits *culprits, uint32_t cpus);

/* True if a thread waited for a CPU at the window's end and is not charged up to there, for lack
 * of a switch since: the task iterator must visit it. */
bool culprits_pending(const struct culprits *culprits, const struct session_view *view);

/* Sets the row's culprits, which then add up to its waits for a CPU, and moves time taken by
 * limits to their ledger line. The thread is a copy read with the ledger. Returns 0 or -ENOMEM. */
int culprits_read(const struct culprits *culprits, const struct session_view *view, uint32_t slot,
		  const struct kd_thread *thread, struct thread_row *row);

/* Resolves a key to a task: its IDs, names, class and priority. Returns false if the tables no
 * longer have it. */
bool culprits_task(const struct culprits *culprits, uint32_t key, struct culprit *culprit);

/* Lists all tasks in the tables, by key. rows must hold KD_CULPRITS. Returns how many. */
size_t culprits_all(const struct culprits *culprits, struct recorded_culprit *rows);

/* Lists tasks on CPUs for which threads wait, without a switch since, after a visit for
 * culprits_pending(). Fills a row per such CPU, from the beginning of a wait on, with times
 * since the epoch and no end. rows must hold one per CPU. Returns how many. */
size_t culprits_running(const struct culprits *culprits, const struct session_view *view,
			struct span *rows);

#endif
