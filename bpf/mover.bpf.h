/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Who moves threads to other CPUs: the last caller of sched_setaffinity before a thread had to
 * leave its CPU. No event reports this: a kernel thread moves a running thread, and a sleeping
 * one moves at its wakeup. */
#ifndef MOVER_BPF_H
#define MOVER_BPF_H

#include "thread.bpf.h"
#include "window.bpf.h"

/* A thread that first runs elsewhere later than this was moved otherwise: by a cpuset, which has
 * no caller. */
#define MOVER_KEPT_NS 100000000

/* The current thread, of any process, makes the native call sched_setaffinity. TIDs are of its
 * own PID namespace: only those of the initial one are usable. */
static __noinline void affinity_requested(void)
{
	struct pt_regs *regs = current_user_regs();
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	u64 pid_tgid = bpf_get_current_pid_tgid();
	u32 tid = call_argument(regs, 0, 0), slot;
	struct kd_thread *thread;
	struct kd_mover *mover;

	if (tid && BPF_CORE_READ(task, thread_pid, level))
		return;
	tid = tid ?: (u32)pid_tgid;
	slot = tid_slot(tid);
	if (slot == KD_SLOT_FREE || slot == KD_SLOT_REFUSED)
		return;
	thread = slot_thread(slot);
	if (!thread || thread->tid != tid)
		return;
	mover = &thread->mover;
	mover->at = clock_now();
	mover->tgid = pid_tgid >> 32;
	bpf_get_current_comm(mover->comm, sizeof(mover->comm));
	mover->tid = (u32)pid_tgid;
}

static __always_inline void mover_add(struct kd_mover *by, u32 slot, u64 gen)
{
	struct kd_moves_key key = { .gen = gen, .slot = slot, .tid = by->tid };
	const struct kd_moves none = { .by = *by };
	struct kd_moves *moves = table_row(&kd_moves, &kd_moves_used, &key, &none);

	if (moves)
		moves->count++;
	else
		loss_count(KD_LOSS_MOVES);
}

/* A thread that was the target of such a call runs again at t. */
__noinline int mover_ran(u32 slot, bool moved, u64 t)
{
	struct kd_thread *thread = slot_thread(slot);
	struct part part;

	if (!thread)
		return 0;
	FOR_EACH_BANK(bank)
	{
		if (moved && window_part(bank, t - 1, t, &part))
			mover_add(&thread->mover, slot, part.gen);
	}
	if (moved || t > thread->mover.at + MOVER_KEPT_NS)
		thread->mover.tid = 0;
	return 0;
}

#endif
