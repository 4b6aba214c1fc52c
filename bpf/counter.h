/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Part of kernel_delay.h: perf events, counted per thread. */
#ifndef KERNEL_DELAY_COUNTER_H
#define KERNEL_DELAY_COUNTER_H

#define KD_COUNTERS 16 /* at most; a power of two */

/* As struct bpf_perf_event_value: of an event, and for how many ns it was wanted, and counted. */
struct kd_counted {
	__u64 value, enabled, running;
};

/* Of one CPU: what its counters were when they were read last, and whose run that was in. */
struct kd_counter_cpu {
	__u64 at;
	__u32 slot, pad; /* 0: nobody's */
	struct kd_counted last[KD_COUNTERS];
	struct kd_counted grown[KD_COUNTERS]; /* since the reading before */
};

/* What the counters were when a thread hit an edge of a window, as the first thing of it or the
 * last one before it. */
struct kd_counter_mark {
	__u64 at; /* when that was read; 0: it was not, or not as a whole */
	__u64 values[KD_COUNTERS];
};

enum kd_mark_edge { KD_MARK_START, KD_MARK_END, KD_MARK_EDGES };

/* Of a thread, in a bank. */
struct kd_counter_marks {
	__u64 gen; /* of the window */
	struct kd_counter_mark edges[KD_MARK_EDGES];
};

/* What was counted of a thread in a window. */
struct kd_counts_key {
	__u64 gen; /* as struct kd_row_key */
	__u32 slot;
	__u32 cpu; /* KD_ANY_CPU: on all */
};
#define KD_ANY_CPU (~0U)

struct kd_counts {
	struct kd_counted of[KD_COUNTERS];
};

_Static_assert(sizeof(struct kd_counts_key) == 16, "no padding in a key");

#endif
