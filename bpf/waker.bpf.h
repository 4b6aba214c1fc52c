/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Wakers: tasks, with their own wakers, or kinds of interrupts.
 *
 * A woken task gets its waker, and a copy of the waker's wakers, which may change later. User space
 * drops wakeups from before the wait. */
#ifndef WAKER_BPF_H
#define WAKER_BPF_H

#include "runqueue.bpf.h"
#include "thread.bpf.h"

/* Vectors of softirqs, include/linux/interrupt.h */
#define TIMER_SOFTIRQ 1
#define NET_TX_SOFTIRQ 2
#define NET_RX_SOFTIRQ 3
#define BLOCK_SOFTIRQ 4
#define IRQ_POLL_SOFTIRQ 5
#define HRTIMER_SOFTIRQ 8

/* --- Interrupt context of a CPU --- */

static __always_inline void context_enter(bool hard, u32 index)
{
	struct kd_runqueue *runqueue = runqueue_here();

	if (!runqueue)
		return;
	runqueue->context.marks = 0;
	if (hard) {
		runqueue->context.hard = index;
	} else {
		runqueue->context.soft = index;
		runqueue->context.soft_tid = (u32)bpf_get_current_pid_tgid();
	}
}

/* Handles the end of a softirq: NET_RX has received the packets on this CPU's backlog. */
static __always_inline void context_exit(u32 vector)
{
	struct kd_runqueue *runqueue = vector == NET_RX_SOFTIRQ ? runqueue_here() : NULL;

	if (runqueue)
		runqueue->context.sender = 0;
}

static __always_inline void context_mark(u8 mark)
{
	struct kd_runqueue *runqueue = runqueue_here();

	if (runqueue)
		runqueue->context.marks |= mark;
}

static __always_inline void context_unmark(u8 mark)
{
	struct kd_runqueue *runqueue = runqueue_here();

	if (runqueue)
		runqueue->context.marks &= ~mark;
}

/* Notes that the current task sends to its own machine. The packet is received on this CPU as soon
 * as softirqs may run, on top of the task that caused it. */
static __always_inline void context_sender(void)
{
	struct kd_runqueue *runqueue = runqueue_here();

	if (runqueue && !runqueue->hard_since && !runqueue->soft_since)
		runqueue->context.sender = (u32)bpf_get_current_pid_tgid();
}

static __always_inline u32 from_softirq(const struct kd_context *context)
{
	switch (context->soft) {
	case TIMER_SOFTIRQ:
	case HRTIMER_SOFTIRQ:
		return KD_FROM_TIMER;
	case NET_TX_SOFTIRQ:
	case NET_RX_SOFTIRQ:
		return KD_FROM_NETWORK;
	case BLOCK_SOFTIRQ:
	case IRQ_POLL_SOFTIRQ:
		return KD_FROM_DISK;
	default:
		return context->marks & KD_MARK_DISK ? KD_FROM_DISK : KD_FROM_INTERRUPT;
	}
}

static __always_inline bool current_is_in_fault(void)
{
	struct target target = target_running();
	u32 state = target.thread ? state_now(target.thread) : KD_UNSEEN;

	return state == KD_FAULT || state == KD_RECLAIM;
}

/* True if the current task is a target thread in a system call, without an interrupt on top.
 * Most wakers are, and this takes a third of the time of in_interrupt(), which is the fallback. */
static __always_inline bool current_is_in_call(void *ctx, u64 pid_tgid)
{
	bool is_ours = current_is_ours(pid_tgid);
	struct kd_thread *thread = is_ours ? slot_thread(tid_slot((u32)pid_tgid)) : NULL;

	if (!thread || thread->call < 0)
		return false;
	/* Passes through a map, so that the verifier treats the address as a number. */
	WRITE_ONCE(thread->wakes_at, (u64)ctx);
	return READ_ONCE(thread->wakes_at) - thread->stack < kd_stack_size;
}

/* Context of a wakeup on this CPU. ctx: the program's; pid_tgid: of the current task. */
static __always_inline u32 waker_from(void *ctx, const struct kd_runqueue *runqueue, u64 pid_tgid)
{
	const struct kd_context *context = &runqueue->context;

	if (runqueue->hard_since) {
		if (context->marks & KD_MARK_TIMER || context->hard == KD_VECTOR_LOCAL_TIMER)
			return KD_FROM_TIMER;
		return context->marks & KD_MARK_DISK ? KD_FROM_DISK : KD_FROM_INTERRUPT;
	}
	/* Softirqs in threads (PREEMPT_RT) may be preempted by other tasks. */
	if (runqueue->soft_since && context->soft_tid == (u32)pid_tgid)
		return from_softirq(context);
	/* Some interrupts lack tracepoints. A page fault from user mode looks like an interrupt. */
	if (current_is_in_call(ctx, pid_tgid) || !in_interrupt(ctx) || current_is_in_fault())
		return KD_FROM_TASK;
	return context->marks & KD_MARK_TIMER ? KD_FROM_TIMER : KD_FROM_INTERRUPT;
}

/* --- Wakers --- */

static __always_inline struct kd_wakers *wakers_at(u32 index)
{
	return bpf_map_lookup_elem(&kd_wakers, &index);
}

static __always_inline u32 wakers_index_of_other(u32 tid)
{
	return kd_slots + tid % KD_WAKERS_OF_OTHERS;
}

/* Wakers of the current task. */
static __always_inline struct kd_wakers *wakers_of_current(void)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();

	if (!current_is_ours(pid_tgid))
		return kd_all_wakers ? wakers_at(wakers_index_of_other((u32)pid_tgid)) : NULL;
	return wakers_at(target_find((u32)pid_tgid, bpf_get_current_task()).slot);
}

/* Copies the wakers of the current task to a task that it wakes. */
static __always_inline void wakers_copy(struct kd_wakers *to)
{
	struct kd_wakers *of = wakers_of_current();
	u64 start = current_start();

	if (!of || READ_ONCE(of->start) != start)
		return;
	__builtin_memcpy(to->by + 1, of->by, (KD_WAKERS - 1) * sizeof(*to->by));
	cpu_barrier();
	if (READ_ONCE(of->start) != start) /* another task got the entry meanwhile */
		to->by[1].from = KD_FROM_UNKNOWN;
}

/* Notes a wakeup, by the current task if tid is set. The kernel holds the pi_lock of the woken
 * task, so only other tasks that share its entry also write there. Global, to be verified once. */
TRACES_GLOBAL int wakers_put(u32 index, u64 start, u32 from, u32 tid, u64 t)
{
	struct kd_wakers *wakers = wakers_at(index);

	if (!wakers)
		return 0;
	WRITE_ONCE(wakers->start, 0);
	cpu_barrier();
	wakers->by[0].at = t;
	wakers->by[0].tid = tid;
	wakers->by[0].from = from;
	wakers->by[1].from = KD_FROM_UNKNOWN;
	if (tid) {
		current_comm(wakers->by[0].comm);
		wakers_copy(wakers);
	}
	cpu_barrier();
	WRITE_ONCE(wakers->start, start);
	return 0;
}

/* Forgets the last waker: a wakeup was not reported. */
TRACES_GLOBAL int wakers_forget(u32 slot)
{
	struct kd_wakers *wakers = wakers_at(slot);

	if (wakers)
		wakers->by[0].from = KD_FROM_UNKNOWN;
	return 0;
}

/* Waker of a task on this CPU. */
struct waking {
	u32 tid;  /* of a task; 0: none */
	u32 from; /* enum kd_from */
};

static __always_inline struct waking waking_now(void *ctx, const struct kd_runqueue *runqueue,
						u64 pid_tgid)
{
	struct waking waking = {
		.tid = (u32)pid_tgid,
		.from = waker_from(ctx, runqueue, pid_tgid),
	};

	if (waking.from == KD_FROM_NETWORK && runqueue->context.sender != waking.tid)
		waking.tid = 0;
	else if (waking.from == KD_FROM_TASK && !waking.tid)
		waking.from = KD_FROM_UNKNOWN; /* the idle task, on behalf of another CPU */
	else if (waking.from != KD_FROM_TASK && waking.from != KD_FROM_NETWORK)
		waking.tid = 0;
	return waking;
}

static __always_inline void task_woken(void *ctx, u32 index, struct task_struct *task, u64 t)
{
	struct kd_runqueue *runqueue = runqueue_here();
	struct waking waking;

	if (!runqueue)
		return;
	waking = waking_now(ctx, runqueue, bpf_get_current_pid_tgid());
	wakers_put(index, task->start_time, waking.from, waking.tid, t);
}

/* Notes the waker of another process's task, if it was asleep. A task that has only set its state
 * keeps running. */
static __always_inline void other_wake(void *ctx, struct task_struct *task)
{
	if (!task->on_rq || task_dequeue_is_delayed(task))
		task_woken(ctx, wakers_index_of_other(task->pid), task, clock_now());
}

#endif
