/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What keeps a thread that runs, or could, from its code (--interruptions). Part of
 * kernel_delay.h. */
#ifndef KERNEL_DELAY_INTERRUPTION_H
#define KERNEL_DELAY_INTERRUPTION_H

enum kd_interrupted_by {
	KD_BY_HARDIRQ,
	KD_BY_SOFTIRQ,
	KD_BY_TASK,       /* another task got its CPU, or nobody */
	KD_BY_FAULT,      /* a page fault from user mode, also what it slept in it */
	KD_BY_HYPERVISOR, /* at some time between two looks at its clock, see steal.bpf.h */
	KD_INTERRUPTED_BY,
};

/* Interrupts are interruptions of their own, and limits are in what was taken. */
static inline __attribute__((always_inline, unused)) int kd_taker_counts(__u32 key)
{
	return key >= KD_WHO_TASK ? !(key & KD_WHO_LIMIT)
				  : key != KD_WHO_HARDIRQ && key != KD_WHO_SOFTIRQ &&
					    key != KD_WHO_THROTTLED && key != KD_WHO_HYPERVISOR;
}

/* The key of who had the CPU longest; *others: how many tasks there are beside it. */
static inline __attribute__((always_inline, unused)) __u32
kd_taker_longest(const struct kd_takers *takers, __u32 *others)
{
	__u32 key = KD_WHO_UNKNOWN, tasks = takers->gone;
	__u64 ns = 0;

	for (__u32 i = 0; i < KD_TAKERS && i < takers->n; i++) {
		const struct kd_taker *taker = &takers->of[i];

		if (!kd_taker_counts(taker->key))
			continue;
		tasks += taker->key >= KD_WHO_TASK;
		if (taker->ns > ns) {
			ns = taker->ns;
			key = taker->key;
		}
	}
	*others = tasks - (key >= KD_WHO_TASK);
	return key;
}

/* One part of an interruption, sent when it is over. Those that it contains, such as a hard
 * interrupt in a soft one, have been sent before. */
struct kd_interruption {
	__u64 since, until;
	__u64 taken; /* KD_BY_TASK: by the quota; KD_BY_HYPERVISOR: by that */
	__u32 slot, tid;
	__u32 from, cpu; /* the thread's CPU before and after */
	__u32 by;
	/* Which interrupt, by its index in struct kd_record; the key of the task that had the
	 * CPU longest; 1: a major fault. */
	__u32 who;
	__u32 others; /* KD_BY_TASK: how many other tasks had the CPU */
	__u32 lost;   /* 1: the thread was off its CPU, from since to until */
	/* An interrupt of the local timer: since when the thread had been in user mode on this CPU,
	 * without such an interrupt, when it came; KD_NEVER: it was not. */
	__u64 unticked;
};

#endif
