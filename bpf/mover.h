/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Part of kernel_delay.h: why threads are put on other CPUs, and by whom. */
#ifndef KERNEL_DELAY_MOVER_H
#define KERNEL_DELAY_MOVER_H

/* Why a thread was put on another CPU. */
enum kd_move {
	KD_MOVE_OTHER,    /* no event said so, as at its birth */
	KD_MOVE_WAKEUP,   /* where it was to run was decided when it was woken */
	KD_MOVE_BALANCE,  /* it was taken from a run queue for another one, or in an execve */
	KD_MOVE_AFFINITY, /* it may not run where it was any more */
};

/* Who called sched_setaffinity(2) for a thread last, and when. */
struct kd_mover {
	__u64 at;
	__u32 tid, tgid; /* 0: nobody has */
	char comm[KD_COMM_LEN];
};

/* How often a thread had to leave a CPU for that, in a window. */
struct kd_moves_key {
	__u64 gen; /* as struct kd_row_key */
	__u32 slot;
	__u32 tid; /* of the caller */
};

struct kd_moves {
	__u64 count;
	struct kd_mover by;
};
#define KD_MOVERS 512 /* of all threads and windows that have not been read */

_Static_assert(sizeof(struct kd_moves_key) == 16, "no padding in a key");

#endif
