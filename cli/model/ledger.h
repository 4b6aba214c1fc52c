/* SPDX-License-Identifier: Apache-2.0 */
/* From what the kernel side keeps of a thread to its balanced books: pure
 * functions over copies of the shared structures. */
#ifndef LEDGER_H
#define LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"
#include "sample.h"

/* A closed window, or one that the thread's death has closed for it; in ns of
 * the maps' own clock. */
struct ledger_window {
	uint64_t start, end;
	uint64_t gen;
	bool has_readings; /* of the kernel's run times, at its edges */
};

/* Fills the ledger of a thread. The record counts only if it is of the window's
 * generation: a thread without one was in its present state throughout. Returns
 * 1; 0 if the thread did not live in the window; -EAGAIN if the two were not
 * read at one moment (the ledger is filled as well as can be). */
int ledger_fill(struct ledger *ledger, const struct kd_thread *thread,
		const struct kd_record *record, const struct ledger_window *window);

/* By how many points the share of user mode differs from what the ticks say, if that is more than
 * they can be wrong by, else 0: positive if it is larger. *percent: what the ticks say. */
int ledger_ticks_differ(const struct ledger *ledger, unsigned int *percent);

/* Sets both to the kernel's own counts of the thread's page faults in the window, if they were
 * read at its edges; else they stay. */
void ledger_faults(const struct kd_thread *thread, const struct ledger_window *window,
		   uint64_t *minor, uint64_t *major);

/* Lists what crosses the window's edges: at most two of each kind that can be open at
 * one. Returns how many. */
#define LEDGER_OPEN_ITEMS 6
size_t ledger_open_items(struct open_item items[LEDGER_OPEN_ITEMS], const struct kd_thread *thread,
			 const struct kd_record *record, const struct ledger_window *window);

/* --- What entering and leaving the kernel costs goes from what was interrupted to what interrupted
 * it --- */

/* Moves to page faults what those that were not timed took, if they took as long as those
 * that were but for the timing, and what entering and leaving costs for each of the thread's calls
 * from running user to running kernel, for each of its page faults to those, and for each of its
 * hard interrupts from the states that they hit to hard irq, as far as there is such time. */
void thread_move_entries(struct thread_row *thread, const struct entry_cost *cost);

#endif
