/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Sends what kept a thread from its code to user space, which joins the pieces into
 * interruptions as the thread felt them. */
#ifndef INTERRUPTION_BPF_H
#define INTERRUPTION_BPF_H

#include "maps.bpf.h"
#include "thread.bpf.h"

static __always_inline u64 interrupted_by(enum kd_interrupted_by by, u32 who)
{
	return (u64)by << 32 | who;
}

/* In user mode interrupts are on and the CPU is not idle: ticks arrive. */
static __always_inline u64 unticked_since(const struct kd_thread *thread)
{
	/* A thread without events is in its seed state. */
	if ((thread->state ?: thread->seed_state) != KD_USER || thread->softirq.since)
		return KD_NEVER;
	return thread->ticked > thread->since ? thread->ticked : thread->since;
}

/* Global, to be verified once. Wakes no reader: user space polls every 20 ms. */
__noinline int interruption_send(u32 slot, u64 by_who, u64 since, u64 t, u64 taken)
{
	struct kd_thread *thread = slot_thread(slot);
	struct kd_interruption piece = {
		.since = since,
		.until = since + elapsed(since, t),
		.taken = taken,
		.slot = slot,
		.cpu = bpf_get_smp_processor_id(),
		.by = by_who >> 32,
		.who = by_who,
	};

	if (!thread)
		return 0;
	piece.tid = thread->tid;
	piece.from = thread->cpu;
	piece.others = piece.by == KD_BY_TASK ? thread->lost_others : 0;
	piece.lost = since == thread->lost_at;
	if (by_who == interrupted_by(KD_BY_HARDIRQ, KD_VECTOR_LOCAL_TIMER)) {
		piece.unticked = unticked_since(thread);
		thread->ticked = t;
	}
	if (bpf_ringbuf_output(&kd_interruptions, &piece, sizeof(piece), BPF_RB_NO_WAKEUP))
		loss_count(KD_LOSS_INTERRUPTIONS);
	return 0;
}

static __always_inline void interruption_add(u32 slot, u64 by_who, u64 since, u64 t)
{
	if (kd_interruptions_wanted)
		interruption_send(slot, by_who, since, t, 0);
}

/* The thread loses its CPU although runnable, or in the middle of a page fault. */
static __always_inline void interruption_out(struct kd_thread *thread, bool runnable, u64 t)
{
	bool in_fault;

	if (!kd_interruptions_wanted)
		return;
	in_fault = thread_running_state(thread) == KD_FAULT;
	thread->lost_in_fault = in_fault && !runnable;
	thread->lost_at = runnable || in_fault ? t : 0;
	thread->lost_limited = 0;
}

/* The thread is back on a CPU. Global as well. Sends first: a program that sees it on its CPU
 * then finds this in the ring. */
__noinline int interruption_over(u32 slot, u64 t)
{
	struct kd_thread *thread = slot_thread(slot);
	u32 who;

	if (!thread)
		return 0;
	who = kd_taker_longest(&thread->waiting.takers, &thread->lost_others);
	interruption_send(slot,
			  thread->lost_in_fault ? interrupted_by(KD_BY_FAULT, 0)
						: interrupted_by(KD_BY_TASK, who),
			  thread->lost_at, t, thread->lost_limited);
	cpu_barrier();
	WRITE_ONCE(thread->lost_at, 0);
	return 0;
}

static __always_inline void interruption_in(struct kd_thread *thread, u32 slot, u64 t)
{
	if (kd_interruptions_wanted && thread->lost_at)
		interruption_over(slot, t);
}

#endif
