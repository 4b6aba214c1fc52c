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
