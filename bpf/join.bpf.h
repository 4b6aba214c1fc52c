/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Threads that become followed during their life, or stop being followed. */
#ifndef JOIN_BPF_H
#define JOIN_BPF_H

#include "seed.bpf.h"

/* Its state is found as by the iterator. */
static __always_inline void thread_join(struct task_struct *task)
{
	struct kd_thread *thread;
	u32 slot;

	if (tid_slot_rarely(task->pid) == KD_SLOT_REFUSED) /* already counted */
		return;
	slot_abandon(task);
	/* Left to the iterator, which is just giving it a slot, or will visit it later. */
	if (!kd_seeded && task->start_time < kd_attached_at)
		return;
	slot = slot_join(task);
	thread = slot ? slot_thread(slot) : NULL;
	if (!thread)
		return;
	seed_state(thread, slot, task);
	waiting_visit(thread, slot, task);
	seed_reading(thread, slot, task, KD_AT_OPEN);
	thread_read_comm(thread, task);
}

/* Ends the current thread's slot as if it had ended, but leaves it out of the report. */
static __always_inline void thread_leave(struct target target, struct task_struct *task)
{
	u32 tid = target.thread->tid; /* after an execve, no longer its own */
	struct event event = event_at(target, clock_now());

	state_book(event, thread_state(target.thread));
	target.thread->left = 1;
	thread_end(target.thread, task, event.t);
	if (tid_slot_rarely(tid) == target.slot)
		tid_set(tid, KD_SLOT_UNWANTED);
	thread_enter_rarely(target.thread, KD_DEAD, event.t, KD_RECORDED_STATE, 0);
}

/* A thread is renamed, by itself or by another thread of its process. A thread that another one
 * renames away from the wanted names stays: only it can tell that nothing uses its slot any
 * more. */
static __always_inline void thread_rename(struct task_struct *task, const char *comm)
{
	u64 name[KD_COMM_LEN / sizeof(u64)] = {};
	struct target target;
	bool wanted;

	if (!process_is_ours(task->tgid) || kd_attached_at == KD_NEVER)
		return;
	bpf_probe_read_kernel_str(name, sizeof(name), comm);
	wanted = name_is_wanted(name[0], name[1]);
	target = target_find(task->pid, (u64)task);
	if (wanted && !target.thread)
		thread_join(task);
	else if (!wanted && target.thread && (u64)task == bpf_get_current_task())
		thread_leave(target, task);
}

#endif
