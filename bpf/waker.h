/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Part of kernel_delay.h: who woke a task, and from what context. */
#ifndef KERNEL_DELAY_WAKER_H
#define KERNEL_DELAY_WAKER_H

#define KD_COMM_LEN 16

/* What the CPU was doing that woke a task. */
enum kd_from {
	KD_FROM_UNKNOWN,
	KD_FROM_TASK,
	KD_FROM_TIMER,   /* a high-resolution timer, or a softirq of timers */
	KD_FROM_NETWORK, /* a softirq of the network, NET_RX nearly always */
	KD_FROM_DISK,    /* a softirq of block devices, or an interrupt that completed a request */
	KD_FROM_INTERRUPT, /* another one */
	KD_FROM_CONTEXTS,
};

struct kd_waker {
	__u64 at;   /* when it woke the other */
	__u32 tid;  /* of the task, or of the one that sent the packet; 0: none */
	__u32 from; /* enum kd_from */
	char comm[KD_COMM_LEN];
};

/* Who woke a task last, who had woken that one by then, and so on; behind the last one
 * there is one of KD_FROM_UNKNOWN. */
#define KD_WAKERS 3
struct kd_wakers {
	__u64 start; /* when that task started, its identity; 0: this is being written */
	struct kd_waker by[KD_WAKERS];
	__u64 pad[3];
};
_Static_assert(sizeof(struct kd_wakers) == 128, "whole cache lines");

/* Tasks of other processes have an entry by their TID, which they may lose to another one. */
#define KD_WAKERS_OF_OTHERS 8192 /* a power of two */

/* What interrupt a CPU is in: beside struct kd_runqueue's hard_since and soft_since, which
 * say whether it is in one. */
struct kd_context {
	__u32 soft_tid; /* of the task on which the softirq runs */
	__u32 sender;   /* TID of the task that put a packet on the CPU's own queue; 0: none */
	__u8 hard;      /* enum kd_vector, or KD_HARDIRQ_OTHER */
	__u8 soft;      /* its vector */
	__u8 marks;     /* since the last interrupt began */
	__u8 pad;
};
enum kd_mark {
	KD_MARK_TIMER = 1, /* a high-resolution timer expires */
	KD_MARK_DISK = 2,  /* a request to a block device was completed */
};

#endif
