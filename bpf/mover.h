/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Included by kernel_delay.h: why threads change CPUs, and who moves them. */
#ifndef KERNEL_DELAY_MOVER_H
#define KERNEL_DELAY_MOVER_H

/* Why a thread changed CPUs. */
enum kd_move {
	KD_MOVE_OTHER,    /* no event reported it, as at its birth */
	KD_MOVE_WAKEUP,   /* decided at its wakeup */
	KD_MOVE_BALANCE,  /* moved between run queues, or in an execve */
	KD_MOVE_AFFINITY, /* it was no longer allowed where it was */
};

/* Last caller of sched_setaffinity(2) for a thread, and when. */
struct kd_mover {
	__u64 at;
	__u32 tid, tgid; /* 0: none */
	char comm[KD_COMM_LEN];
};

/* Forced moves of a thread by one caller, in a window. */
struct kd_moves_key {
	__u64 gen; /* as struct kd_row_key */
	__u32 slot;
	__u32 tid; /* of the caller */
};

struct kd_moves {
	__u64 count;
	struct kd_mover by;
};
#define KD_MOVERS 512 /* in all threads and unread windows */

_Static_assert(sizeof(struct kd_moves_key) == 16, "no padding in a key");

#endif
