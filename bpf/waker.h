/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Included by kernel_delay.h: what woke a task, and from what context. */
#ifndef KERNEL_DELAY_WAKER_H
#define KERNEL_DELAY_WAKER_H

#define KD_COMM_LEN 16

/* Context of the CPU that woke a task. */
enum kd_from {
	KD_FROM_UNKNOWN,
	KD_FROM_TASK,
	KD_FROM_TIMER,     /* a high-resolution timer, or a timer softirq */
	KD_FROM_NETWORK,   /* a network softirq, nearly always NET_RX */
	KD_FROM_DISK,      /* a block softirq, or an interrupt that completed a request */
	KD_FROM_INTERRUPT, /* another one */
	KD_FROM_CONTEXTS,
};

struct kd_waker {
	__u64 at;   /* time of the wakeup */
	__u32 tid;  /* of the task, or of the packet's sender; 0: none */
	__u32 from; /* enum kd_from */
	char comm[KD_COMM_LEN];
};

/* Last waker of a task, that one's waker by then, and so on; ended by one of KD_FROM_UNKNOWN. */
#define KD_WAKERS 3
struct kd_wakers {
	__u64 start; /* start time of that task, its identity; 0: being written */
	struct kd_waker by[KD_WAKERS];
	__u64 pad[3];
};
_Static_assert(sizeof(struct kd_wakers) == 128, "whole cache lines");

/* Tasks of other processes have an entry by TID, which may be lost to another task. */
#define KD_WAKERS_OF_OTHERS 8192 /* a power of two */

/* Interrupt context of a CPU: complements hard_since and soft_since of struct kd_runqueue, which
 * tell if it is in one. */
struct kd_context {
	__u32 soft_tid; /* of the task with the softirq on top */
	__u32 sender;   /* TID of the task that queued a packet on this CPU; 0: none */
	__u8 hard;      /* enum kd_vector, or KD_HARDIRQ_OTHER */
	__u8 soft;      /* vector */
	__u8 marks;     /* since the last interrupt began */
	__u8 pad;
};
enum kd_mark {
	KD_MARK_TIMER = 1, /* a high-resolution timer expired */
	KD_MARK_DISK = 2,  /* a request to a block device was completed */
};

#endif
