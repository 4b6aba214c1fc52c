/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Whether other CPUs are idle while threads wait for one, see "Idle CPUs" in DETAILS.rst. After an
 * interrupt on a CPU where threads wait, so at least at each tick, the idle time of the others is
 * read, for all that wait there. Switches cost no more for it. */
#ifndef IDLE_BPF_H
#define IDLE_BPF_H

#include "compat.bpf.h"
#include "culprit.bpf.h"
#include "runqueue.bpf.h"

/* How long a CPU was idle in the ns since the last look from here, and until now, by the run
 * queues' clocks. Global, like all below, to be verified once. */
__noinline int idle_read(u32 here, u32 cpu, u64 now, u64 ns)
{
	struct kd_idle_cpus *cpus = bpf_map_lookup_elem(&kd_idles, &here);
	struct kd_runqueue *runqueue = runqueue_of(cpu);
	struct task_struct *curr;
	struct kd_idle *idle;
	u64 busy, since;
	bool is_idle;
	struct rq *rq;

	/* The thread's own CPU is never an idle one: it is woken for the thread. */
	if (!runqueue || !cpus || cpu == here || !idle_is_told())
		return 0;
	idle = &cpus->of[BOUNDED(cpu, KD_IDLE_CPUS)];
	rq = (struct rq *)runqueue->kernels;
	idle->ns = idle->so_far = 0;
	if (!BPF_CORE_READ(rq, online))
		return 0;
	curr = BPF_CORE_READ(rq, curr);
	is_idle = curr == BPF_CORE_READ(rq, idle);
	since = BPF_CORE_READ(rq, idle_stamp);
	if (is_idle && since)
		idle->so_far = elapsed(since, now);
	if (!idle_is_summed())
		return 0;
	busy = BPF_CORE_READ(rq, rq_cpu_time);
	if (!is_idle)
		busy += elapsed(BPF_CORE_READ(curr, sched_info.last_arrival), now);
	idle->ns = elapsed(busy - idle->busy, ns);
	idle->busy = busy;
	return 0;
}

/* Finds the CPU that was idle longest while a thread waited for so long, among the 64 of a word of
 * its affinity: of those that it may use, and of the others. before: how long before its wait the
 * last look was; that is subtracted as if the CPU had been idle then. */
__noinline int idle_most(u32 slot, u32 here, u64 word, u64 waited, u64 before)
{
	struct kd_idle_cpus *cpus = bpf_map_lookup_elem(&kd_idles, &here);
	struct kd_thread *thread = slot_thread(slot);
	u64 allowed, ns, *most;

	if (!thread || !cpus)
		return 0;
	allowed = task_cpus((struct task_struct *)thread->task, word);
	for (u32 i = 0; i < 64 && i < kd_idle_cpus; i++) {
		struct kd_idle *idle = &cpus->of[BOUNDED(word * 64 + i, KD_IDLE_CPUS)];

		ns = elapsed(before, idle->ns);
		ns = lesser(ns + elapsed(ns, idle->so_far), waited);
		most = &thread->waiting.idle[BOUNDED(allowed >> i, 2)];
		if (ns > *most)
			*most = ns;
	}
	return 0;
}

/* A thread that may wait here; looked: at the time of the last look from here. Its wait may have
 * begun on another CPU. What lies before the window is left out, as are waits that a limit makes:
 * no CPU would end those. */
__noinline int idle_wait(u32 slot, u32 here, u64 looked, u64 t)
{
	struct kd_thread *thread = slot_thread(slot);
	u64 gen = READ_ONCE(kd_word), since, waited, allowed, barred;
	struct kd_blame *blame = blame_raw(slot, kd_word_bank(gen));

	if (!thread || !blame || !kd_is_ready(state_now(thread)) || thread->waiting.cpu != here)
		return 0;
	since = thread->since + elapsed(thread->since, thread->waiting.looked);
	thread->waiting.looked = t;
	if (!(gen & KD_WORD_OPEN) || thread->waiting.limited->limit)
		return 0;
	since += elapsed(since, gen >> KD_WORD_SHIFT);
	waited = elapsed(since, t);
	thread->waiting.idle[KD_IDLE_BARRED] = thread->waiting.idle[KD_IDLE_ALLOWED] = 0;
	for (u64 word = 0; word < KD_IDLE_CPUS / 64 && word * 64 < kd_idle_cpus; word++)
		idle_most(slot, here, word, waited, elapsed(looked, since));
	if (blame->gen != gen)
		blame_reset(blame, gen);
	allowed = thread->waiting.idle[KD_IDLE_ALLOWED];
	barred = elapsed(allowed, thread->waiting.idle[KD_IDLE_BARRED]);
	blame->idle[KD_IDLE_ALLOWED] += allowed;
	blame->idle[KD_IDLE_BARRED] += barred;
	blame->idle[KD_IDLE_NONE] += waited - allowed - barred;
	return 0;
}

/* Four entries of a list of waiting threads, which are one word. */
__noinline int idle_waits(u32 here, u64 slots, u64 looked, u64 t)
{
	for (u32 i = 0; i < 4; i++) {
		idle_wait(slots & 0xffff, here, looked, t);
		slots >>= 16;
	}
	return 0;
}

/* Looks at all CPUs, at t. */
__noinline int idle_look(u64 t)
{
	u32 here = bpf_get_smp_processor_id();
	struct kd_runqueue *runqueue = runqueue_of(here);
	u64 now, ns;

	if (!runqueue || !runqueue->kernels || !runqueue_waits(runqueue) ||
	    t < runqueue->looked + kd_idle_look_ns)
		return 0;
	now = bpf_ktime_get_ns() - kd_clock_skew.ns;
	ns = t - runqueue->looked;
	for (u32 cpu = 0; cpu < KD_IDLE_CPUS && cpu < kd_idle_cpus; cpu++)
		idle_read(here, cpu, now, ns);
	for (u32 i = 0; i < KD_WAITERS / 4; i++)
		idle_waits(here, ((const u64 *)runqueue->waiters)[i], runqueue->looked, t);
	runqueue->looked = t;
	return 0;
}

/* An interrupt has ended on a CPU where threads wait; if not, end.t is 0. */
static __always_inline void idle_after(struct irq_end end)
{
	if (unlikely(end.t))
		idle_look(end.t);
}

/* Notes the address of this CPU's run queue. */
static __always_inline void runqueue_find(void)
{
	struct kd_runqueue *runqueue = runqueue_here();

	if (runqueue)
		runqueue->kernels = (u64)task_rq((struct task_struct *)bpf_get_current_task());
}

#endif
