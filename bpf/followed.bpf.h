/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Flight recorder for tasks outside the target: records switches and wakeups of tasks that
 * interact with it, see struct kd_followed. Other tasks cost a table lookup. */
#ifndef FOLLOWED_BPF_H
#define FOLLOWED_BPF_H

#include "waker.bpf.h"

static __always_inline struct kd_followed *followed_at(u32 tid)
{
	u32 index = tid & (KD_FOLLOWED - 1);

	return bpf_map_lookup_elem(&kd_followed, &index);
}

/* The table is large, and most tasks are not in it: a small filter in a few hot cache lines
 * saves the lookup. Filter entries stay, since they may be shared. */
static __always_inline bool *followed_filter(u32 tid)
{
	return &kd_followed_filter[tid % KD_FOLLOWED_FILTER];
}

/* Global, like the next one, to be verified once; so it gets no task pointer. */
TRACES_GLOBAL int is_followed(u32 tid, u64 start)
{
	struct kd_followed *followed = followed_at(tid);

	/* Free entries look like the idle task's. */
	return followed && tid && followed->tid == tid && followed->start == start;
}

static __always_inline bool task_is_followed(struct task_struct *task)
{
	return *followed_filter(task->pid) && is_followed(task->pid, task->start_time);
}

/* pid_tgid: from bpf_get_current_pid_tgid(). Returns 1 if it was not followed. */
TRACES_GLOBAL int followed_add(u64 pid_tgid, u64 start, u32 flags, u64 comm, u64 comm_rest)
{
	u32 tid = (u32)pid_tgid;
	struct kd_followed *followed = followed_at(tid);

	if (!tid || !followed || (followed->tid == tid && followed->start == start))
		return 0;
	if (followed->tid) /* the old task loses its entry: from now on it is unknown */
		recorder_enter(KD_RECORDED_STATE, KD_UNSEEN, KD_UNSEEN, followed->tid, 0,
			       clock_now());
	WRITE_ONCE(followed->tid, 0);
	cpu_barrier();
	followed->start = start;
	followed->tgid = pid_tgid >> 32;
	followed->flags = flags;
	((u64 *)followed->comm)[0] = comm;
	((u64 *)followed->comm)[1] = comm_rest;
	WRITE_ONCE(*followed_filter(tid), true);
	cpu_barrier();
	WRITE_ONCE(followed->tid, tid);
	return 1;
}

static __always_inline int task_follow(struct task_struct *task)
{
	return followed_add((u64)task->tgid << 32 | task->pid, task->start_time, task->flags,
			    ((u64 *)task->comm)[0], ((u64 *)task->comm)[1]);
}

static __always_inline u32 followed_running_state(u32 flags)
{
	return flags & PF_KTHREAD ? KD_KERNEL : KD_USER;
}

/* Follows the current task, which is running. */
static __always_inline void current_follow(void)
{
	struct task_struct *task = current_task();
	u64 pid_tgid = bpf_get_current_pid_tgid();
	u64 comm[KD_COMM_LEN / sizeof(u64)] = {};
	u32 flags;
	int new;

	if (task) {
		flags = task->flags;
		new = task_follow(task);
	} else {
		current_comm((char *)comm);
		task = (struct task_struct *)bpf_get_current_task();
		flags = BPF_CORE_READ(task, flags);
		new = followed_add(pid_tgid, current_start(), flags, comm[0], comm[1]);
	}
	if (new)
		recorder_enter(KD_RECORDED_STATE, KD_UNSEEN, followed_running_state(flags),
			       (u32)pid_tgid, 0, clock_now());
}

/* Waker of a task: a word as in struct kd_recorded. If it is a task outside the target, follows
 * it from now on. */
static __always_inline u32 recorder_waker(void *ctx)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct kd_runqueue *runqueue = runqueue_here();
	struct waking waking;

	if (!recorder_is_on() || !runqueue)
		return 0;
	waking = waking_now(ctx, runqueue, pid_tgid);
	if (waking.tid && !current_is_ours(pid_tgid))
		current_follow();
	return waking.tid | waking.from << KD_RECORDED_FROM;
}

/* A task of another process is woken. address: of the task. */
static __always_inline void followed_wake(void *ctx, struct task_struct *task)
{
	bool ours = current_is_ours(bpf_get_current_pid_tgid());
	struct kd_runqueue *runqueue;

	if (task->on_rq && !task_dequeue_is_delayed(task)) {
		runqueue = task_is_followed(task) ? runqueue_of(task_cpu(task)) : NULL;
		if (runqueue)
			runqueue->client = task->pid;
		return;
	}
	if (!task_is_followed(task)) {
		if (!ours || in_interrupt(ctx))
			return;
		task_follow(task);
	}
	recorder_enter(KD_RECORDED_WOKEN, KD_BLOCKED, KD_READY_WOKEN, task->pid,
		       recorder_waker(ctx), clock_now());
}

/* False: neither is. Branchless, because a branch doubles the verifier's work. */
static __always_inline bool followed_may_be(struct task_struct *prev, struct task_struct *next)
{
	return (u32)*followed_filter(prev->pid) | (u32)*followed_filter(next->pid);
}

/* state: its new state. Global like is_followed(). */
TRACES_GLOBAL int followed_out(u32 tid, u32 flags, u32 state, bool disk)
{
	bool ready = state == KD_READY_PREEMPTED || state == KD_DEAD;

	recorder_enter(ready ? KD_RECORDED_PREEMPTED : KD_RECORDED_SLEEP,
		       followed_running_state(flags), state, tid,
		       disk && !ready ? KD_AWAITED_DISK : KD_AWAITED_OTHER, clock_now());
	return 0;
}

static __always_inline void followed_in(struct task_struct *task)
{
	recorder_enter(KD_RECORDED_RUN, KD_READY_WOKEN, followed_running_state(task->flags),
		       task->pid, 0, clock_now());
}

#endif
