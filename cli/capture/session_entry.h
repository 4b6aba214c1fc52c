/* SPDX-License-Identifier: Apache-2.0 */
/* What entering and leaving the kernel costs beyond what the programs see of it: the
 * tracepoints of system calls and interrupts are behind the entry and before the exit, and
 * the programs themselves read the clock in their middle. */
#ifndef SESSION_ENTRY_H
#define SESSION_ENTRY_H

#include <stdint.h>

#include "bpf/kernel_delay.h"
#include "cli/model/sample.h"

struct kernel_delay;

/* Zeroed: nothing is known. */
struct entry_estimate {
	struct entry_cost at_start;
	uint64_t bare, bare_fault; /* a call, and a page fault, without our programs, ns */
	uint64_t price;            /* of a call then, see entry_follow() */
	uint64_t prices;           /* the sum of so many readings since entry_renew() */
	uint64_t n_readings;
	uint64_t next; /* reading, ns of CLOCK_MONOTONIC */
};

/* Measures a call that does next to nothing, and a page fault. To be called before the programs are
 * attached. */
void entry_bare(struct entry_estimate *entry);

/* Measures the rest on calls, page faults and interrupts of this thread, which takes 2 to 3 ms:
 * the programs, attached, are told that this process is the target, and record a window of
 * it. To be called before they are told the real one. thread and record: those of a slot
 * that is to be freed afterwards.
 *
 * The last part of leaving a call stays with the user: there interrupts are off, so a tick
 * or a sample that falls into it hits user mode, and utime has it as well. It is taken for
 * a third of a bare call. */
void entry_measure(struct entry_estimate *entry, struct kernel_delay *skel, uint32_t slot,
		   struct kd_thread *thread, const struct kd_record *record);

/* Looks now and then what a call of this thread costs in comparison with the start, as that
 * changes where a processor's core is shared. It is put in relation to a chain of
 * multiplications, and so does not depend on the frequency of a CPU that has just slept. */
void entry_follow(struct entry_estimate *entry);

/* The costs at the mean of what entry_follow() has read since entry_renew(); 0: not known. */
struct entry_cost session_entry_cost(const struct entry_estimate *entry);

/* The next readings are of the next sample. */
void entry_renew(struct entry_estimate *entry);

#endif
