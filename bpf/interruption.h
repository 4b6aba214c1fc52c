/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What keeps a running or runnable thread from its code (--interruptions). Included by
 * kernel_delay.h. */
#ifndef KERNEL_DELAY_INTERRUPTION_H
#define KERNEL_DELAY_INTERRUPTION_H

enum kd_interrupted_by {
	KD_BY_HARDIRQ,
	KD_BY_SOFTIRQ,
	KD_BY_TASK,       /* another task got its CPU, or none */
	KD_BY_FAULT,      /* a page fault from user mode, including sleeps in it */
	KD_BY_HYPERVISOR, /* some time between two looks at steal time, see steal.bpf.h */
	KD_INTERRUPTED_BY,
};

/* Excludes interrupts, which are pieces of their own, and limits, which are in taken. */
static inline __attribute__((always_inline, unused)) int kd_taker_counts(__u32 key)
{
	return key >= KD_WHO_TASK ? !(key & KD_WHO_LIMIT)
				  : key != KD_WHO_HARDIRQ && key != KD_WHO_SOFTIRQ &&
					    key != KD_WHO_THROTTLED && key != KD_WHO_HYPERVISOR;
}

/* Key of the culprit with the most CPU time; *others: number of other tasks. */
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

/* A piece of an interruption, sent when it ends. Nested ones, such as a hardirq in a softirq,
 * were sent before. */
struct kd_interruption {
	__u64 since, until;
	__u64 taken; /* KD_BY_TASK: by the quota; KD_BY_HYPERVISOR: stolen time */
	__u32 slot, tid;
	__u32 from, cpu; /* the thread's CPU before and after */
	__u32 by;
	/* Interrupt, by its index in struct kd_record; key of the task with the most CPU time;
	 * 1: a major fault. */
	__u32 who;
	__u32 others; /* KD_BY_TASK: number of other tasks that had the CPU */
	__u32 lost;   /* 1: the thread was off its CPU, from since to until */
	/* Local timer interrupt: since when the thread had been in user mode on this CPU,
	 * without such an interrupt; KD_NEVER: it was not. */
	__u64 unticked;
};

#endif
