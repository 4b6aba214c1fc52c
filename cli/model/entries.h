/* SPDX-License-Identifier: Apache-2.0 */
/* What entering and leaving the kernel costs goes from what was interrupted to what interrupted it.
 */
#ifndef ENTRIES_H
#define ENTRIES_H

#include <stdbool.h>
#include <stdint.h>

#include "sample.h"

/* Of a hard interrupt, which another CPU has sent or not, ns. */
uint64_t irq_entry(const struct entry_cost *cost, bool sent);

/* Moves to page faults what those that were not timed took, if they took as long as those
 * that were but for the timing, and what entering and leaving costs for each of the thread's calls
 * from running user to running kernel, for each of its page faults to those, and for each of its
 * hard interrupts from the states that they hit to hard irq, as far as there is such time. */
void thread_move_entries(struct thread_row *thread, const struct entry_cost *cost);

#endif
