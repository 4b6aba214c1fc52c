/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The kernel's own count of a thread's run time. */
#ifndef EXEC_BPF_H
#define EXEC_BPF_H

#include "compat.bpf.h"
#include "maps.bpf.h"

/* Distance of the run queues' clock from CLOCK_MONOTONIC: the smallest ever seen, since that
 * clock is only updated at times. User space has just slept, so the clock of its CPU is fresh. */
static __always_inline void exec_clock_read(void)
{
	struct rq *rq = task_rq((struct task_struct *)bpf_get_current_task());
	u64 skew;

	if (!rq)
		return;
	skew = bpf_ktime_get_ns() - BPF_CORE_READ(rq, clock);
	if (skew < kd_clock_skew)
		kd_clock_skew = skew;
}

/* sum_exec_runtime is only updated at ticks and switches. A running thread's time since then
 * follows from its run queue's clock. Returns 0 if unknown. Global, to be verified once, so the
 * task is an address. */
__noinline u64 exec_ns_now(u64 address)
{
	struct task_struct *task = (struct task_struct *)address;
	u64 t = bpf_ktime_get_ns(), exec_ns, exec_start, clock, clock_task;
	struct rq *rq;

	exec_ns = BPF_CORE_READ(task, se.sum_exec_runtime);
	if (!task_has_cpu(task))
		return exec_ns;
	rq = task_rq(task);
	if (!rq || kd_clock_skew == ~0ULL)
		return 0;
	clock = BPF_CORE_READ(rq, clock) + kd_clock_skew;
	clock_task = BPF_CORE_READ(rq, clock_task);
	exec_start = BPF_CORE_READ(task, se.exec_start);
	if (clock_task > exec_start)
		exec_ns += clock_task - exec_start;
	if (t > clock)
		exec_ns += t - clock;
	return exec_ns;
}

#endif
