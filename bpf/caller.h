/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Part of kernel_delay.h: which functions of the program waited for a lock. */
#ifndef KERNEL_DELAY_CALLER_H
#define KERNEL_DELAY_CALLER_H

#include "trace_records.h"

/* The user's side of a call in which a thread waited for a lock: of its longest wait for that in
 * the window. */
struct kd_caller_key {
	__u64 gen;
	__u32 slot, pad;
	__u64 address;
};
#define KD_CALLER_BYTES 2048 /* some frames: the C library's, and a few of those that call it */
struct kd_caller {
	__u64 ns; /* how long the wait was */
	__u64 regs[KD_REGS];
	__u64 size; /* bytes of the stack from its pointer on; 0: it could not be read */
	__u8 stack[KD_CALLER_BYTES];
};
#define KD_CALLERS 256      /* of all threads and windows that have not been read */
#define KD_CALLER_NS 100000 /* of shorter waits nobody wants to know */

#endif
