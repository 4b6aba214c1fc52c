/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Steal time: what the hypervisor takes from a CPU of a virtual machine. The kernel only reads
 * that clock where it also updates a run queue's clock, at ticks and switches. The programs look
 * there, too; any new steal time was taken since the previous look. */
#ifndef STEAL_BPF_H
#define STEAL_BPF_H

#include "compat.bpf.h"
#include "interruption.bpf.h"
#include "window.bpf.h"

/* Interrupts at shorter distances are not ticks. */
#define STEAL_LOOK_NS 900000

/* Validity of a look at a switch: stolen time also passes on our clock, so no more than this is
 * noticed late. A look costs about 40 ns. (An interrupt may look before the run queue's clock is
 * updated.) */
#define STEAL_FRESH_NS 10000

static __always_inline bool steal_is_fresh(const struct kd_steal_cpu *steal, u64 t)
{
	return steal->ns && t < steal->at + STEAL_FRESH_NS;
}

/* Steal time by t, which is now, from any CPU, plus 1, so that 0 means "unknown". */
static __always_inline u64 steal_now(u32 cpu, u64 t)
{
	struct kd_steal_cpu *steal = kd_steal ? bpf_map_lookup_elem(&kd_steals, &cpu) : NULL;

	if (!steal || steal_is_fresh(steal, t))
		return steal ? steal->ns : 0;
	return rq_stolen_ns((struct rq *)steal->runqueue);
}

/* Reads this CPU's steal time: at a switch, while the leaving task is still current, or in an
 * interrupt. Global, like the two below, to be verified once. */
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

/* At a switch at t. */
static __always_inline u64 steal_switch(u32 cpu, u64 t)
{
	struct kd_steal_cpu *steal = kd_steal ? bpf_map_lookup_elem(&kd_steals, &cpu) : NULL;

	if (!steal || steal_is_fresh(steal, t))
		return steal ? steal->ns : 0;
	steal->at = t;
	return steal_read(cpu);
}

/* As of the last switch or tick looked at. */
static __always_inline u64 steal_then(u32 cpu)
{
	struct kd_steal_cpu *steal = kd_steal ? bpf_map_lookup_elem(&kd_steals, &cpu) : NULL;

	return steal ? steal->ns : 0;
}

/* A thread has run since the previous look, and until t; steal: see steal_now(). Stolen time may
 * have been taken at any point: an edge of a window divides it. */
__noinline int steal_book(u32 slot, u64 steal, u64 t)
{
	struct kd_thread *thread = slot_thread(slot);
	struct kd_record *record;
	struct part part;
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
		if (!window_part(bank, since, t, &part))
			continue;
		/* A cell, because the interrupted program may be changing the rest of the
		 * record. */
		record = record_raw(slot, bank);
		if (record)
			cell_add(&record->stolen, part.gen,
				 part_of(ns, part.to - part.from, t - since));
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

/* Also before its first event: then as the iterator found it. */
static __always_inline bool thread_has_cpu(const struct kd_thread *thread)
{
	return thread->on_cpu || (thread->state == KD_UNSEEN && kd_is_running(thread->seed_state));
}

/* In an interrupt that began at t. If it is a tick, it has updated the clock. There may have
 * been no look at a switch on this CPU yet. */
__noinline int steal_tick(u32 slot, u64 t)
{
	struct kd_thread *thread = slot_thread(slot);

	if (thread && thread_has_cpu(thread) && t > thread->steal_at + STEAL_LOOK_NS)
		steal_look(slot, thread, steal_read(bpf_get_smp_processor_id()), t);
	return 0;
}

/* All time stolen from a thread so far, for the iterator. */
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

/* The thread was switched in. */
static __always_inline void steal_begin(struct kd_thread *thread, u64 steal, u64 t)
{
	if (!kd_steal)
		return;
	thread->steal = steal;
	thread->steal_at = t;
	thread->stolen_before = thread->stolen_ns;
}

#endif
