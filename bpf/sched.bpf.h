/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Scheduling: wakeups and switches. */
#ifndef SCHED_BPF_H
#define SCHED_BPF_H

#include "exec.bpf.h"
#include "trace.bpf.h"
#include "window.bpf.h"

static __always_inline u32 state_of_sleep(u32 task_state)
{
	if (task_state & (__TASK_STOPPED | __TASK_TRACED))
		return KD_STOPPED;
	if (task_state & (TASK_UNINTERRUPTIBLE | TASK_RTLOCK_WAIT))
		return KD_BLOCKED_UNINT;
	return KD_BLOCKED;
}

/* Called for sched_waking (by the waker) and sched_wakeup (on the CPU where the
 * thread was put on the run queue): the first that finds the thread asleep
 * counts, so that the time of an interprocessor interrupt between the two is
 * ready time. Wakeups of threads that are not asleep happen and mean nothing. */
static __always_inline void thread_wake(void *ctx, struct task_struct *task)
{
	struct target target;
	struct event event;
	u32 state;

	if (likely(task->tgid != kd_tgid))
		return;
	target = target_find(task->pid, (u64)task);
	if (!target.thread)
		return;
	state = thread_state(target.thread);
	if (state != KD_BLOCKED && state != KD_BLOCKED_UNINT && state != KD_STOPPED)
		return;
	event = event_at(target, clock_now());
	state_book(event, state);
	if (unlikely(state == KD_STOPPED))
		item_across(event.slot, ITEM_STOPPED, event.thread->since, event.t);
	thread_enter(event.thread, KD_READY_WOKEN, event.t);
	if (kd_wait_ns != ~0ULL)
		wait_woken(ctx, event.slot, event.t);
}

static __always_inline void switch_in(struct event event)
{
	struct kd_thread *thread = event.thread;
	u32 state = thread_state(thread), cpu = bpf_get_smp_processor_id();

	state_book(event, state);
	if (state == KD_READY_WOKEN || state == KD_READY_PREEMPTED)
		item_book(event, ITEM_READY, 0, thread->since);
	item_book(event, ITEM_CPU, cpu << 1 | (cpu != thread->cpu), event.t);
	thread->cpu = cpu;
	thread->on_cpu = 1;
	thread->ready_state = state;
	thread->run_since = event.t;
	thread_enter(thread, thread->call == KD_CALL_NONE ? KD_USER : KD_KERNEL, event.t);
}

/* The thread is running at t although its last event says otherwise: a switch
 * was not reported, as seen on kernels that hide some of their tasks from
 * tracing. When it came follows from the kernel's own count of the run time. */
__noinline int switch_in_unreported(u32 slot, u64 exec_ns, u64 t)
{
	struct target target = { .slot = slot, .thread = slot_thread(slot) };
	u64 ran = 0;

	if (!target.thread)
		return 0;
	thread_state(target.thread);
	if (target.thread->on_cpu || t < target.thread->since)
		return 0;
	__sync_fetch_and_add(&kd_resynced, 1);
	if (exec_ns > target.thread->exec_out)
		ran = exec_ns - target.thread->exec_out;
	if (ran > t - target.thread->since)
		ran = t - target.thread->since;
	switch_in(event_at(target, t - ran));
	if (wait_is_long(target.thread, t - ran))
		wait_over_unreported(slot, t - ran);
	return 0;
}

/* A call that the kernel could have restarted has ended instead. */
static __noinline void restart_drop(struct kd_thread *thread, u32 slot)
{
	s32 call = thread->restart_call;

	if (kd_call_ns != ~0ULL && call_class(call) & KD_CLASS_TRACED)
		call_trace_dropped(slot);
	thread->restart_call = KD_CALL_NONE;
	item_across(slot, (u64)(u32)call << 8 | ITEM_CALL, thread->restart_since,
		    thread->restart_at);
}

/* The scheduler's clock may have begun the run before the switch: a wakeup that
 * preempts (the idle thread, too) reads that clock and spares the switch the
 * reading (rq_clock_skip_update() in wakeup_preempt()). That part of the wait is
 * CPU time to the kernel, and so it is to us. Returns how much it was. */
static __always_inline u64 switch_lead(struct event event, u64 exec_ns)
{
	struct kd_thread *thread = event.thread;
	u64 *waited, lead, ran = event.t - thread->run_since;

	if (exec_ns - thread->exec_out <= ran || !event.record || thread->run_since < event.edge)
		return 0;
	lead = exec_ns - thread->exec_out - ran;
	waited = record_state(event.record, thread->ready_state);
	if (lead > *waited)
		lead = *waited;
	*waited -= lead;
	*record_state(event.record,
		      thread->ready_state == KD_READY_WOKEN ? KD_KERNEL : KD_USER) += lead;
	return lead;
}

static __always_inline void switch_out(struct event event, struct task_struct *task, bool preempt,
				       u32 task_state)
{
	struct kd_thread *thread = event.thread;
	bool runnable = preempt || !task_state;

	if (unlikely(!thread->on_cpu))
		switch_in_unreported(event.slot, task->se.sum_exec_runtime, event.t);
	/* What it was doing is certain: it ran. */
	state_book(event, thread->call == KD_CALL_NONE ? KD_USER : KD_KERNEL);
	item_book(event, ITEM_RUN, 0, thread->run_since);
	/* As the kernel counts nivcsw and nvcsw (__schedule()). */
	item_book(event, runnable ? ITEM_INVOLUNTARY : ITEM_VOLUNTARY, 0, event.t);
	thread->run_ns += event.t - thread->run_since +
			  switch_lead(event, task->se.sum_exec_runtime);
	thread->exec_out = task->se.sum_exec_runtime;
	thread->on_cpu = 0;
	if (kd_note_ns != ~0ULL)
		wait_begin(event, runnable ? KD_READY_PREEMPTED : state_of_sleep(task_state));
	if (runnable) {
		thread_enter(thread, KD_READY_PREEMPTED, event.t);
	} else if (unlikely(task_state & TASK_DEAD)) {
		if (thread->restart_call != KD_CALL_NONE)
			restart_drop(thread, event.slot);
		thread_end(thread, task, event.t);
		thread_enter(thread, KD_DEAD, event.t);
	} else {
		thread_enter(thread, state_of_sleep(task_state), event.t);
	}
}

static __always_inline void thread_switch(bool preempt, struct task_struct *prev,
					  struct task_struct *next, u32 prev_state)
{
	bool out = prev->tgid == kd_tgid, in = next->tgid == kd_tgid;
	struct target target;
	u64 t;

	if (likely(!out && !in))
		return;
	t = clock_now();
	if (out) {
		target = target_find(prev->pid, (u64)prev);
		if (target.thread)
			switch_out(event_at(target, t), prev, preempt, prev_state);
	}
	if (in) {
		target = target_find(next->pid, (u64)next);
		if (unlikely(!target.thread)) {
			target.slot = slot_adopt(next, t);
			target.thread = target.slot ? slot_thread(target.slot) : NULL;
		}
		if (target.thread)
			switch_in(event_at(target, t));
		if (target.thread && wait_is_long(target.thread, t))
			wait_over(target.slot, next, t);
	}
}

#endif
