/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* How late softirqs run: from when one is raised on a CPU until it runs there, whoever it is for.
 * Only with --interruptions. */
#ifndef SOFTIRQ_BPF_H
#define SOFTIRQ_BPF_H

#include "window.bpf.h"

SHARED_ARRAY(kd_raised, 1, struct kd_raised);                /* kd_cpus * KD_SOFTIRQS_PADDED */
SHARED_ARRAY(kd_softirq_delays, 1, struct kd_softirq_delay); /* kd_banks times as many */

static __always_inline u32 softirq_index(u32 bank, u32 vector)
{
	return (bank * kd_cpus + bpf_get_smp_processor_id()) * KD_SOFTIRQS_PADDED +
	       BOUNDED(vector, KD_SOFTIRQS_PADDED);
}

static __always_inline struct kd_raised *raised_here(u32 vector)
{
	u32 index = softirq_index(0, vector);

	return bpf_map_lookup_elem(&kd_raised, &index);
}

static __always_inline void current_describe(struct kd_task_name *task)
{
	task->tid = (u32)bpf_get_current_pid_tgid();
	bpf_get_current_comm(task->comm, sizeof(task->comm));
}

/* Interrupts are off. One that is raised again before it runs has waited since the first time. */
static __always_inline void softirq_raise(u32 vector)
{
	struct kd_raised *raised = raised_here(vector);
	u64 t = clock_now();

	if (!raised || raised->at)
		return;
	current_describe(&raised->by);
	WRITE_ONCE(raised->at, t);
}

/* Adds [since, t] in a bank's window. Global, to be verified once. */
__noinline int softirq_delay_add(u32 vector, u32 bank, u64 gen, u64 since, u64 t)
{
	u32 index = softirq_index(bank, vector);
	struct kd_softirq_delay *delay = bpf_map_lookup_elem(&kd_softirq_delays, &index);
	struct kd_raised *raised = raised_here(vector);
	u64 ns = elapsed(since, t);

	if (!delay || !raised)
		return 0;
	if (delay->gen != gen) {
		__builtin_memset(delay, 0, sizeof(*delay));
		delay->gen = gen;
	}
	if (!delay->delays.count || ns > delay->delays.max) {
		delay->raised = raised->by;
		current_describe(&delay->ran);
	}
	count_add(&delay->delays, since, ns);
	return 0;
}

/* Interrupts are on: one that raises this softirq again now does so for its next run. */
static __always_inline void softirq_begin(u32 vector)
{
	struct kd_raised *raised = raised_here(vector);
	u64 since = raised ? READ_ONCE(raised->at) : 0, word, t;
	struct overlap overlap;

	if (!raised || !since) /* before tracing, or after the kernel had decided to run it */
		return;
	WRITE_ONCE(raised->at, 0);
	t = since + elapsed(since, clock_now());
	word = READ_ONCE(kd_word);
	if (word & KD_WORD_OPEN && likely(since >= word >> KD_WORD_SHIFT)) {
		softirq_delay_add(vector, kd_word_bank(word), word, since, t);
		return;
	}
	FOR_EACH_BANK(bank)
	{
		if (window_overlap(bank, since, t, &overlap))
			softirq_delay_add(vector, bank, overlap.gen, overlap.from, overlap.to);
	}
}

#endif
