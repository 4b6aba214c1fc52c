/* SPDX-License-Identifier: Apache-2.0 */
/* Turns what the kernel side collected for a thread into a balanced ledger. Pure functions over
 * copies of the shared structures. */
#ifndef LEDGER_H
#define LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"
#include "sample.h"

/* A closed window, possibly closed early by the thread's death; ns on the clock of the maps. */
struct ledger_window {
	uint64_t start, end;
	uint64_t gen;
	bool has_readings; /* run times were read at both edges */
};

/* Fills the ledger of a thread. A record counts only if it is of the window's generation:
 * without one, the thread stayed in its current state throughout. Returns 1; 0 if the thread did
 * not live in the window; -EAGAIN if thread and record do not match (the ledger is then a best
 * effort). */
int ledger_fill(struct ledger *ledger, const struct kd_thread *thread,
		const struct kd_record *record, const struct ledger_window *window);

/* Sets both to the kernel's own page fault counts of the window. Leaves them unchanged if these
 * were not read at its edges. */
void ledger_faults(const struct kd_thread *thread, const struct ledger_window *window,
		   uint64_t *minor, uint64_t *major);

/* Lists what crosses the window's edges: at most two items per kind. Returns their number. */
#define LEDGER_OPEN_ITEMS 6
size_t ledger_open_items(struct open_item items[LEDGER_OPEN_ITEMS], const struct kd_thread *thread,
			 const struct kd_record *record, const struct ledger_window *window);

/* --- Moves the cost of kernel entry and exit from what was interrupted to what interrupted it,
 * and from running user what ticks found in the kernel --- */

/* Moves estimated times within the ledger, as far as there is time to move. Untimed page faults
 * move to page faults, at the mean of timed ones without the cost of timing. Entry and exit
 * costs move for each system call (user to kernel), page fault (to page faults) and hardirq
 * (from the states it hit to hardirq). Then moves what else of running user was in the kernel, by
 * the kernel's ticks, if that is no chance: outside_calls. */
void thread_move_entries(struct thread_row *thread, const struct entry_cost *cost);

/* Adds rows named "others" for sleeps, and waits for locks, that are in the states, but in no list,
 * as their wakeups were not reported. Returns 0 or -ENOMEM. */
int thread_add_unlisted(struct thread_row *thread);

/* The same of locks only, of which their table had no space for some. */
int thread_add_unlisted_locks(struct thread_row *thread);

#endif
