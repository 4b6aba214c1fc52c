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

/* Without our programs, ns. */
struct entry_bare {
	uint64_t call_ns, fault_ns;
};

/* Measures a call that does next to nothing, and a page fault. To be called before the programs are
 * attached. */
struct entry_bare entry_bare(void);

/* Measures the rest on calls, page faults and interrupts of this thread, which takes 2 to 3 ms:
 * the programs, attached, are told that this process is the target, and record a window of
 * it. To be called before they are told the real one. thread and record: those of a slot
 * that is to be freed afterwards.
 *
 * The last part of leaving a call stays with the user: there interrupts are off, so a tick
 * or a sample that falls into it hits user mode, and utime has it as well. It is taken for
 * a third of a bare call. */
struct entry_cost entry_measure(const struct entry_bare *bare, struct kernel_delay *skel,
				uint32_t slot, struct kd_thread *thread,
				const struct kd_record *record);

#endif
