/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Included by kernel_delay.h: functions of the program that waited for a lock. */
#ifndef KERNEL_DELAY_CALLER_H
#define KERNEL_DELAY_CALLER_H

#include "trace_records.h"

/* User registers and stack at the end of a call with a wait for a lock: the longest such wait in
 * the window. */
struct kd_caller_key {
	__u64 gen;
	__u32 slot, pad;
	__u64 address;
};
#define KD_CALLER_BYTES 2048 /* some frames: the C library's and a few callers */
struct kd_caller {
	__u64 ns; /* length of the wait */
	__u64 regs[KD_REGS];
	__u64 size; /* bytes of the stack from its pointer on; 0: unreadable */
	__u8 stack[KD_CALLER_BYTES];
};
#define KD_CALLERS 256      /* in all threads and unread windows */
#define KD_CALLER_NS 100000 /* shorter waits do not matter */

#endif
