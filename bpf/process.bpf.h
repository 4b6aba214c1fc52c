/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Who becomes part of the target, and who no longer is: threads, and processes. */
#ifndef PROCESS_BPF_H
#define PROCESS_BPF_H

#include "mapped.bpf.h"
#include "seed.bpf.h"

/* --- Threads that become followed during their life, or stop being followed --- */

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

/* --- Several processes as one target: which ones belong to it, and their ends --- */

static const struct kd_process no_process;

/* parent: target process that forked it; 0: moved into the target's cgroup. */
static __always_inline void process_begin(u32 tgid, u32 parent)
{
	struct kd_process *process = bpf_map_lookup_elem(&kd_processes, &tgid);

	/* Entry of an ended process whose TGID was reused. */
	if (process) {
		if (!process->ended)
			process->ended = clock_now();
		if (bpf_map_push_elem(&kd_replaced, process, BPF_ANY))
			loss_count(KD_LOSS_THREADS);
	}
	if (bpf_map_update_elem(&kd_processes, &tgid, &no_process, BPF_ANY)) {
		loss_count(KD_LOSS_THREADS);
		return;
	}
	process = bpf_map_lookup_elem(&kd_processes, &tgid);
	if (process) {
		process->began = process->mapped_at = clock_now();
		process->joined = !parent;
		process->tgid = tgid;
	}
	if (KD_TRACES && kd_tracing)
		maps_process(tgid, KD_MAPPED_FORK, parent);
	__sync_fetch_and_add(&kd_processes_changed, 1);
}

static __always_inline void process_fork(struct task_struct *parent, struct task_struct *child)
{
	u32 tgid = child->tgid;

	if (child->pid != tgid)
		return;
	if (!kd_many) {
		/* The target has ended, and its TGID was reused. */
		if (unlikely(tgid == READ_ONCE(kd_tgid)))
			WRITE_ONCE(kd_tgid, KD_TGID_NONE);
		return;
	}
	if (child->flags & PF_KTHREAD)
		return;
	if ((kd_follow_fork && process_is_ours(parent->tgid)) ||
	    (kd_group && !kd_hierarchy && group_is_ours(BPF_CORE_READ(child, cgroups, dfl_cgrp))))
		process_begin(tgid, parent->tgid);
}

/* A leader without a slot that ends before other threads: see tid_leave(). */
static __always_inline void leader_exit(u32 tgid)
{
	u32 slot = tid_slot_rarely(tgid);

	if (process_is_ours(tgid) && (slot == KD_SLOT_FREE || slot == KD_SLOT_UNWANTED))
		tid_set(tgid, KD_SLOT_EXEC);
}

/* A thread ends; the last one ends the process. */
static __always_inline void process_exit(struct task_struct *task)
{
	struct target target = target_find(task->pid, (u64)task);
	u32 tgid = task->tgid;
	struct kd_process *process;

	/* Its last switch may come after the end of the window, or of its TID. */
	if (target.thread)
		thread_read_comm(target.thread, task);
	else if (kd_by_thread)
		tid_unmark(task->pid, KD_SLOT_UNWANTED);
	if (BPF_CORE_READ(task, signal, live.counter)) {
		if (task->pid == tgid)
			leader_exit(tgid);
		return;
	}
	if (kd_by_thread)
		tid_unmark(tgid, KD_SLOT_EXEC);
	process = bpf_map_lookup_elem(&kd_processes, &tgid);
	if (!process || process->ended)
		return;
	BPF_CORE_READ_INTO(&process->comm, task, group_leader, comm);
	process->ended = clock_now();
	if (KD_TRACES && kd_tracing)
		maps_process(tgid, KD_MAPPED_END, 0);
	__sync_fetch_and_add(&kd_processes_changed, 1);
}

/* It has another command line. */
static __always_inline void process_exec(u32 tgid)
{
	struct kd_process *process = kd_many ? bpf_map_lookup_elem(&kd_processes, &tgid) : NULL;

	if (!process || process->ended)
		return;
	process->execs++;
	__sync_fetch_and_add(&kd_processes_changed, 1);
}

/* A process, or one of its threads, is moved to another cgroup. The iterator handles its other
 * threads. */
static __always_inline void process_move(struct cgroup *group, struct task_struct *leader)
{
	u32 tgid = leader->tgid;

	/* Excludes this program and its children. */
	if (leader->pid != tgid || tgid == kd_self || leader->flags & PF_KTHREAD ||
	    BPF_CORE_READ(leader, real_parent, tgid) == kd_self ||
	    (u32)BPF_CORE_READ(group, root, hierarchy_id) != kd_hierarchy ||
	    process_is_ours(tgid) || !group_is_ours(group))
		return;
	process_begin(tgid, 0);
	if (kd_attached_at == KD_NEVER)
		return;
	if (thread_is_wanted(leader))
		thread_join(leader);
	__sync_fetch_and_add(&kd_processes_joined, 1);
}

#endif
