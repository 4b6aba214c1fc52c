/* SPDX-License-Identifier: Apache-2.0 */
/* From what the kernel side keeps of a thread to its balanced books: pure
 * functions over copies of the shared structures. */
#ifndef LEDGER_H
#define LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "../bpf/kernel_delay.h"
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

/* Lists the system calls that were open at the window's edges, at most two.
 * Returns how many. */
size_t ledger_open_calls(struct open_call calls[2], const struct kd_thread *thread,
			 const struct kd_record *record, const struct ledger_window *window);

#endif
