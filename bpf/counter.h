/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Included by kernel_delay.h: perf events, counted per thread. */
#ifndef KERNEL_DELAY_COUNTER_H
#define KERNEL_DELAY_COUNTER_H

#define KD_COUNTERS 16 /* limit; a power of two */

/* Like struct bpf_perf_event_value: value of an event, and ns it was wanted, and counted. */
struct kd_counted {
	__u64 value, enabled, running;
};

/* Counters of a CPU at the last reading, and the thread of that run. */
struct kd_counter_cpu {
	__u64 at;
	__u32 slot, pad; /* 0: none */
	struct kd_counted last[KD_COUNTERS];
	struct kd_counted grown[KD_COUNTERS]; /* since the reading before */
};

/* Counters when a thread hit a window edge: read as the window's first action, or as the last
 * one before it. */
struct kd_counter_mark {
	__u64 at; /* time of the reading; 0: none, or incomplete */
	__u64 values[KD_COUNTERS];
};

enum kd_mark_edge { KD_MARK_START, KD_MARK_END, KD_MARK_EDGES };

/* Of a thread, per bank. */
struct kd_counter_marks {
	__u64 gen; /* of the window */
	struct kd_counter_mark edges[KD_MARK_EDGES];
};

/* Counts of a thread in a window. */
struct kd_counts_key {
	__u64 gen; /* as struct kd_row_key */
	__u32 slot;
	__u32 cpu; /* KD_ANY_CPU: all */
};
#define KD_ANY_CPU (~0U)

struct kd_counts {
	struct kd_counted of[KD_COUNTERS];
};

_Static_assert(sizeof(struct kd_counts_key) == 16, "no padding in a key");

#endif
