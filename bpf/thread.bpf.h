/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* From a thread to its slot, and the slot's life. */
#ifndef THREAD_BPF_H
#define THREAD_BPF_H

#include "compat.bpf.h"
#include "maps.bpf.h"

static __always_inline u8 call_class(s32 call)
{
	return (u32)call < KD_CLASSES ? kd_class[call] : 0;
}

struct target {
	u32 slot; /* KD_SLOT_FREE: not a thread of ours */
	struct kd_thread *thread;
};

static __always_inline u16 *tid_entry(u32 tid)
{
	u32 page = tid / KD_TID_PAGE;
	struct kd_tid_page *tids = bpf_map_lookup_elem(&kd_tids, &page);

	return tids ? &tids->slot[tid % KD_TID_PAGE] : NULL;
}

static __always_inline struct kd_thread *slot_thread(u32 slot)
{
	return bpf_map_lookup_elem(&kd_threads, &slot);
}

/* The slot of a TID whose thread is the given one, else KD_SLOT_FREE. */
static __always_inline u32 slot_of(u32 tid, u64 task)
{
	u16 *entry = tid_entry(tid);
	struct kd_thread *thread;

	if (!entry || *entry == KD_SLOT_FREE || *entry == KD_SLOT_REFUSED)
		return KD_SLOT_FREE;
	thread = slot_thread(*entry);
	return thread && thread->task == task ? *entry : KD_SLOT_FREE;
}

/* When a thread that is not the leader calls execve, the two swap their TIDs
 * (exchange_tids() in fs/exec.c) some time before sched_process_exec, and the
 * old leader may be switched out for the last time after that. Until then each
 * is found under the other's TID. */
static __noinline u32 slot_during_exec(u32 tgid, u64 task)
{
	u32 slot = slot_of(tgid, task);
	struct kd_thread *thread;

	if (slot)
		return slot;
	slot = kd_exec_slot;
	thread = slot_thread(slot);
	return thread && thread->task == task ? slot : KD_SLOT_FREE;
}

/* The thread of a task whose tgid is the target's. */
static __always_inline struct target target_find(u32 tid, u64 task)
{
	struct target target = {};
	u16 *entry = tid_entry(tid);

	if (!entry)
		return target;
	target.slot = *entry;
	if (unlikely(target.slot == KD_SLOT_REFUSED))
		target.slot = KD_SLOT_FREE;
	target.thread = slot_thread(target.slot);
	if (likely(target.thread && target.thread->task == task))
		return target;
	target.slot = slot_during_exec(kd_tgid, task);
	target.thread = target.slot ? slot_thread(target.slot) : NULL;
	return target;
}

/* What the slot's last thread has left. */
static __always_inline void wait_forget(u32 slot)
{
	struct kd_wait *wait = bpf_map_lookup_elem(&kd_waits, &slot);

	if (!wait)
		return;
	wait->ns = 0;
	wait->ended_by = 0;
	wait->ended_by_comm[0] = 0;
}

/* Gives the thread a slot in the given state. */
static __noinline u32 slot_take(struct task_struct *task, u32 state, u64 t)
{
	u16 *entry = tid_entry(task->pid);
	struct kd_thread *thread;
	u32 slot;

	if (!entry)
		return KD_SLOT_FREE;
	if (bpf_map_pop_elem(&kd_free_slots, &slot)) {
		loss_count(KD_LOSS_THREADS);
		*entry = KD_SLOT_REFUSED;
		return KD_SLOT_FREE;
	}
	thread = slot_thread(slot);
	if (!thread)
		return KD_SLOT_FREE;
	thread->since = t;
	thread->run_since = t;
	thread->call = KD_CALL_UNKNOWN;
	thread->restart_call = KD_CALL_NONE;
	thread->exec_out = task->se.sum_exec_runtime;
	if (kd_note_ns != ~0ULL)
		wait_forget(slot);
	thread->out_since = 0;
	thread->noted = 0;
	thread->cpu = task_cpu(task);
	thread->task = (u64)task;
	thread->tid = task->pid;
	thread->state = state;
	*entry = slot;
	return slot;
}

/* A thread that no fork event announced (io_uring workers have none), about to be
 * switched in: followed from now on. While the iterator looks for those that were there
 * before, they are its alone; so are later those that were refused a slot. */
static __noinline u32 slot_adopt(struct task_struct *task, u64 t)
{
	u16 *entry = tid_entry(task->pid);
	struct kd_thread *thread;
	u32 slot;

	if (!entry || *entry == KD_SLOT_REFUSED || kd_attached_at == ~0ULL)
		return KD_SLOT_FREE;
	if (!kd_seeded && task->start_time < kd_attached_at)
		return KD_SLOT_FREE;
	slot = slot_take(task, KD_READY_WOKEN, t);
	thread = slot ? slot_thread(slot) : NULL;
	if (!thread)
		return KD_SLOT_FREE;
	thread->born = t;
	thread->call = task_call(task);
	thread->readings[KD_AT_OPEN].at = t;
	thread->readings[KD_AT_OPEN].exec_ns = task->se.sum_exec_runtime;
	return slot;
}

static __always_inline void thread_fork(struct task_struct *child)
{
	struct kd_thread *thread;
	u16 *entry;
	u64 t;
	u32 slot;

	if (child->tgid != kd_tgid || child->start_time < READ_ONCE(kd_attached_at))
		return;
	t = clock_now();
	entry = tid_entry(child->pid);
	if (entry)
		*entry = KD_SLOT_FREE; /* whatever the last thread of this TID left */
	slot = slot_take(child, KD_READY_WOKEN, t);
	thread = slot ? slot_thread(slot) : NULL;
	if (thread)
		thread->born = t;
}

/* In two words: the verifier walks through the type for each load. */
static __always_inline void thread_read_comm(struct kd_thread *thread, struct task_struct *task)
{
	((u64 *)thread->comm)[0] = ((u64 *)task->comm)[0];
	((u64 *)thread->comm)[1] = ((u64 *)task->comm)[1];
}

/* The thread has been switched out for the last time. */
static __noinline void thread_end(struct kd_thread *thread, struct task_struct *task, u64 t)
{
	u16 *entry = tid_entry(task->pid);
	struct kd_thread *other;

	thread_read_comm(thread, task);
	thread->readings[KD_AT_CLOSE].at = t;
	thread->readings[KD_AT_CLOSE].exec_ns = task->se.sum_exec_runtime;
	thread->readings[KD_AT_CLOSE].run_ns = thread->run_ns;
	thread->died = t;
	if (!entry)
		return;
	other = *entry != KD_SLOT_REFUSED ? slot_thread(*entry) : NULL;
	if (!other || other == thread || other->task == (u64)task)
		*entry = KD_SLOT_FREE;
}

/* The thread that called execve now has the leader's TID. */
static __always_inline void thread_exec(struct task_struct *task, u32 old_tid)
{
	u16 *old_entry, *new_entry;
	struct kd_thread *thread;
	u32 slot, leader;

	if (task->tgid != kd_tgid || task->pid == old_tid)
		return;
	old_entry = tid_entry(old_tid);
	new_entry = tid_entry(task->pid);
	if (!old_entry || !new_entry)
		return;
	slot = *old_entry;
	leader = *new_entry;
	*new_entry = slot;
	thread = slot_thread(leader);
	*old_entry = thread && !thread->died ? leader : KD_SLOT_FREE;
	thread = slot_thread(slot);
	if (thread && thread->task == (u64)task)
		thread->tid = task->pid;
}

/* The state goes last: a waker on another CPU (sched_waking holds no run queue's
 * lock) that sees a thread asleep sees all that led to it. */
static __always_inline void thread_enter(struct kd_thread *thread, u32 state, u64 t)
{
	thread->since = t;
	thread->before = thread->state;
	barrier();
	WRITE_ONCE(thread->state, state);
}

/* The thread's state; adopts the iterator's seed at the first event. */
static __always_inline u32 thread_state(struct kd_thread *thread)
{
	if (unlikely(thread->state == KD_UNSEEN)) {
		thread->call = thread->seed_call;
		thread->on_cpu = thread->seed_state == KD_USER;
		thread->state = thread->seed_state;
		thread->out_since = thread->since;
		thread->out_state = thread->seed_state;
	}
	return thread->state;
}

#endif
