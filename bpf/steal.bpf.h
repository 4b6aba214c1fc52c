/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Steal time: what the hypervisor takes from a CPU of a virtual machine. The kernel only reads the
 * steal clock when it updates a run queue's clock, at ticks and switches. Programs read it there,
 * too; any increase was stolen since the previous reading. */
#ifndef STEAL_BPF_H
#define STEAL_BPF_H

#include "compat.bpf.h"
#include "interruption.bpf.h"
#include "window.bpf.h"

/* Shortest time between ticks: 1 ms, and some tolerance. */
#define STEAL_LOOK_NS 900000

/* Validity of a reading at a switch: stolen time also passes on our clock, so no more than this is
 * noticed late. A reading costs about 40 ns. (An interrupt may read before the run queue's clock is
 * updated.) */
#define STEAL_FRESH_NS 10000

static __always_inline bool steal_is_fresh(const struct kd_steal_cpu *steal, u64 t)
{
	return steal->ns && t < steal->at + STEAL_FRESH_NS;
}

/* Steal time of any CPU at t, which is now, plus 1; 0: unknown. */
static __always_inline u64 steal_now(u32 cpu, u64 t)
{
	struct kd_steal_cpu *steal = kd_steal ? bpf_map_lookup_elem(&kd_steals, &cpu) : NULL;

	if (!steal || steal_is_fresh(steal, t))
		return steal ? steal->ns : 0;
	return rq_stolen_ns((struct rq *)steal->runqueue);
}

/* Reads this CPU's steal time: at a switch, while the leaving task is still current, or in an
 * interrupt. Global, like all below, to be verified once. */
__noinline u64 steal_read(u32 cpu)
{
	struct kd_steal_cpu *steal = bpf_map_lookup_elem(&kd_steals, &cpu);

	if (!steal)
		return 0;
	if (unlikely(!steal->runqueue))
		steal->runqueue = (u64)task_rq((struct task_struct *)bpf_get_current_task());
	steal->ns = rq_stolen_ns((struct rq *)steal->runqueue);
	return steal->ns;
}

static __always_inline u64 steal_switch(u32 cpu, u64 t)
{
	struct kd_steal_cpu *steal = kd_steal ? bpf_map_lookup_elem(&kd_steals, &cpu) : NULL;

	if (!steal || steal_is_fresh(steal, t))
		return steal ? steal->ns : 0;
	steal->at = t;
	return steal_read(cpu);
}

/* Steal time of a CPU at the last reading there. */
static __always_inline u64 steal_then(u32 cpu)
{
	struct kd_steal_cpu *steal = kd_steal ? bpf_map_lookup_elem(&kd_steals, &cpu) : NULL;

	return steal ? steal->ns : 0;
}

/* Books what was stolen from a thread between its previous reading and t; steal: see steal_now().
 * Each window gets a share in proportion, because the kernel does not say when time was stolen. */
__noinline int steal_book(u32 slot, u64 steal, u64 t)
{
	struct kd_thread *thread = slot_thread(slot);
	struct kd_record *record;
	struct overlap overlap;
	u64 before, since, ns;

	if (!thread)
		return 0;
	before = thread->steal;
	since = thread->steal_at;
	thread->steal = steal;
	thread->steal_at = t;
	if (!before || steal <= before || t <= since)
		return 0;
	ns = steal - before;
	if (ns > t - since)
		ns = t - since;
	thread->stolen_ns += ns;
	recorder_add(KD_RECORDED_STOLEN, 0, thread->tid, recorder_ns(ns), t);
	if (kd_interruptions_wanted)
		interruption_send(slot, interrupted_by(KD_BY_HYPERVISOR, 0), since, t, ns);
	FOR_EACH_BANK(bank)
	{
		if (!window_overlap(bank, since, t, &overlap))
			continue;
		/* A cell, because the interrupted program may be changing the rest of the
		 * record. */
		record = record_raw(slot, bank);
		if (record)
			cell_add(&record->stolen, overlap.gen,
				 share_of(ns, overlap.to - overlap.from, t - since));
	}
	return 0;
}

static __always_inline void steal_look(u32 slot, struct kd_thread *thread, u64 steal, u64 t)
{
	if (!kd_steal)
		return;
	if (likely(steal == thread->steal))
		thread->steal_at = t;
	else
		steal_book(slot, steal, t);
}

/* Uses the iterator's seed before the thread's first event. */
static __always_inline bool thread_has_cpu(const struct kd_thread *thread)
{
	return thread->on_cpu || (thread->state == KD_UNSEEN && kd_is_running(thread->seed_state));
}

/* Reads steal time, maybe for the first time on this CPU, in an interrupt that began at t. A tick
 * has updated the clock. */
__noinline int steal_tick(u32 slot, u64 t)
{
	struct kd_thread *thread = slot_thread(slot);

	if (thread && thread_has_cpu(thread) && t > thread->steal_at + STEAL_LOOK_NS)
		steal_look(slot, thread, steal_read(bpf_get_smp_processor_id()), t);
	return 0;
}

/* Time stolen from a thread so far, for the iterator. */
__noinline u64 steal_counted(u32 slot)
{
	struct kd_thread *thread = slot_thread(slot);
	u64 before, now, stolen_ns;

	if (!thread)
		return 0;
	before = READ_ONCE(thread->steal);
	stolen_ns = READ_ONCE(thread->stolen_ns);
	now = thread_has_cpu(thread) && before
		      ? rq_stolen_ns(task_rq((struct task_struct *)thread->task))
		      : 0;
	return now > before ? stolen_ns + now - before : stolen_ns;
}

/* Called at switch-in. */
static __always_inline void steal_begin(struct kd_thread *thread, u64 steal, u64 t)
{
	if (!kd_steal)
		return;
	thread->steal = steal;
	thread->steal_at = t;
}

#endif
