/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Whether other CPUs are idle while threads wait for one, see "Idle CPUs" in DETAILS.rst. After an
 * interrupt on a CPU where threads wait, so at least at each tick, the idle time of the others is
 * read, for all that wait there. Switches cost no more for it. */
#ifndef IDLE_BPF_H
#define IDLE_BPF_H

#include "compat.bpf.h"
#include "culprit.bpf.h"
#include "runqueue.bpf.h"

/* How long a CPU was idle since the last look from here, and until now. now: by the run queues'
 * clocks, at t. Global, like all below, to be verified once. */
__noinline int idle_read(u32 here, u32 cpu, u64 now, u64 t)
{
	struct kd_runqueue *runqueue = runqueue_of(here), *other = runqueue_of(cpu);
	u32 index = here * kd_idle_cpus + cpu;
	struct kd_idle *idle = bpf_map_lookup_elem(&kd_idles, &index);
	u64 busy = 0, since, known;
	struct task_struct *curr;
	struct rq *rq;

	if (!runqueue || !other || !idle)
		return 0;
	rq = (struct rq *)other->kernels;
	/* The thread's own CPU is never an idle one: it is woken for the thread. */
	known = is_set(BPF_CORE_READ(rq, online)) & is_set(cpu ^ here);
	curr = BPF_CORE_READ(rq, curr);
	if (idle_is_summed())
		busy = BPF_CORE_READ(rq, rq_cpu_time);
	idle->so_far = 0;
	if (curr == BPF_CORE_READ(rq, idle)) {
		since = BPF_CORE_READ(rq, idle_stamp);
		idle->so_far = elapsed(since, now) * (is_set(since) & known);
	} else if (idle_is_summed()) {
		busy += elapsed(BPF_CORE_READ(curr, sched_info.last_arrival), now);
	}
	if (!idle_is_summed())
		return 0;
	idle->ns = elapsed(busy - idle->busy, t - runqueue->looked) *
		   (is_set(runqueue->looked) & known);
	idle->busy = busy;
	return 0;
}

/* Finds the CPU that was idle longest while a thread waited, among the 64 from first on: of those
 * that the thread may use, and of the others. What lies before its wait is subtracted as if the CPU
 * had been idle then. */
__noinline int idle_most(u32 slot, u32 here, u32 first, u64 t)
{
	struct kd_runqueue *runqueue = runqueue_of(here);
	struct kd_thread *thread = slot_thread(slot);
	u64 allowed, waited, before, ns, *most;

	if (!thread || !runqueue)
		return 0;
	waited = elapsed(thread->waiting.looked, t);
	before = elapsed(runqueue->looked, thread->waiting.looked);
	allowed = task_cpus((struct task_struct *)thread->task, first);
	for (u32 i = 0; i < 64 && i < kd_idle_cpus; i++) {
		u32 index = here * kd_idle_cpus + first + i;
		struct kd_idle *idle = bpf_map_lookup_elem(&kd_idles, &index);

		if (!idle || first + i >= kd_idle_cpus)
			break;
		ns = elapsed(before, idle->ns);
		ns += elapsed(ns, idle->so_far); /* the longer one */
		ns = lesser(ns, waited);
		most = &thread->waiting.idle[BOUNDED(allowed >> i, 2)];
		*most += elapsed(*most, ns);
	}
	return 0;
}

/* Books what a thread has waited until t. What lies before the window is left out, as are waits
 * that a limit makes: no CPU would end those. */
__noinline int idle_book(u32 slot, u64 t)
{
	struct kd_thread *thread = slot_thread(slot);
	u64 word = READ_ONCE(kd_word), edge = word >> KD_WORD_SHIFT, since, ns, allowed, barred;
	struct kd_blame *blame = blame_raw(slot, kd_word_bank(word));

	if (!thread || !blame || !(word & KD_WORD_OPEN) || thread->waiting.limited->limit)
		return 0;
	if (blame->gen != word)
		blame_reset(slot, kd_word_bank(word), word);
	since = thread->waiting.looked;
	ns = elapsed(since + elapsed(since, edge), t);
	allowed = lesser(thread->waiting.idle[KD_IDLE_ALLOWED], ns);
	barred = elapsed(allowed, lesser(thread->waiting.idle[KD_IDLE_BARRED], ns));
	blame->idle[KD_IDLE_ALLOWED] += allowed;
	blame->idle[KD_IDLE_BARRED] += barred;
	blame->idle[KD_IDLE_NONE] += ns - allowed - barred;
	return 0;
}

/* An entry in the list of those that wait here; 0: none. */
__noinline int idle_wait(u32 slot, u32 here, u64 t)
{
	struct kd_thread *thread = slot_thread(slot);

	if (!slot || !thread || !kd_is_ready(state_now(thread)) || thread->waiting.cpu != here ||
	    t <= thread->waiting.looked)
		return 0;
	thread->waiting.idle[KD_IDLE_BARRED] = thread->waiting.idle[KD_IDLE_ALLOWED] = 0;
	for (u32 first = 0; first < KD_IDLE_CPUS && first < kd_idle_cpus; first += 64)
		idle_most(slot, here, first, t);
	idle_book(slot, t);
	thread->waiting.looked = t;
	return 0;
}

/* Looks at all CPUs, at t. */
__noinline int idle_look(u64 t)
{
	u32 here = bpf_get_smp_processor_id();
	struct kd_runqueue *runqueue = runqueue_of(here);
	u64 now;

	if (!runqueue || !idle_is_told() || !runqueue_waits(runqueue) ||
	    t < runqueue->looked + kd_idle_look_ns || !kd_clock_skew.visit)
		return 0;
	now = bpf_ktime_get_ns() - kd_clock_skew.ns;
	for (u32 cpu = 0; cpu < KD_IDLE_CPUS && cpu < kd_idle_cpus; cpu++)
		idle_read(here, cpu, now, t);
	for (u32 i = 0; i < KD_WAITERS; i++)
		idle_wait(runqueue->waiters[i], here, t);
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
