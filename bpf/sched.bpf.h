/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Scheduling: wakeups and switches. */
#ifndef SCHED_BPF_H
#define SCHED_BPF_H

#include "descriptor.bpf.h"
#include "followed.bpf.h"
#include "interruption.bpf.h"
#include "lock.bpf.h"
#include "long_sleep.bpf.h"
#include "runqueue.bpf.h"
#include "slow_call.bpf.h"
#include "steal.bpf.h"
#include "stop.bpf.h"
#include "thread.bpf.h"
#include "timer.bpf.h"
#include "wait.bpf.h"
#include "window.bpf.h"

static __always_inline u32 state_of_sleep(struct task_struct *task, u32 task_state)
{
	if (task_state & (__TASK_STOPPED | __TASK_TRACED))
		return KD_STOPPED;
	if (unlikely(task_is_frozen(task, task_state)))
		return KD_FROZEN;
	if (task_state & (TASK_UNINTERRUPTIBLE | TASK_RTLOCK_WAIT))
		return KD_BLOCKED_UNINT;
	return KD_BLOCKED;
}

/* A thread that slept is woken; gen: the word of the only open
 * window, or one without. The wait may have begun before that. Its state is still the sleeping
 * one. Global, to be verified once. */
__noinline int sleep_end(u32 slot, u64 gen, u32 by, u64 t)
{
	struct kd_thread *thread = slot_thread(slot);
	bool is_inside;

	if (!thread)
		return 0;
	is_inside = gen & KD_WORD_OPEN && thread->since >= gen >> KD_WORD_SHIFT;
	if (thread->locked.address && is_inside)
		lock_add(slot, gen, by, t, false);
	else if (thread->locked.address)
		lock_across(slot, by, t);
	if (thread->state == KD_STOPPED)
		return 0;
	long_sleep_add(slot, by, t);
	if (KD_TRACES && kd_call_ns != KD_UNWANTED)
		call_waker_note(slot, by, t);
	if (is_inside)
		file_add(slot, gen, by, t, FILE_ENDED);
	else
		file_across(slot, by, t);
	return 0;
}

/* Skips sleeps that are short and lie in the open window, which has their sum. */
static __always_inline void sleep_count(void *ctx, struct event event, struct task_struct *task,
					u32 state)
{
	struct kd_thread *thread = event.thread;
	u64 ns = elapsed(thread->since, event.t);

	if (ns >= kd_detail_ns || !event.record || thread->since < event.edge ||
	    state >= KD_STOPPED) {
		wchan_look(thread, task, ns, event.t);
		sleep_end(event.slot, event.gen, released_by(ctx), event.t);
		return;
	}
	if (thread->locked.address)
		count_add(&event.record->short_locks, thread->since, ns);
	count_add(&event.record->short_files, thread->since, ns);
}

/* Gives a slot to a thread whose birth no fork event reported. */
static __always_inline bool thread_adopt(struct task_struct *task)
{
	return !task->se.sum_exec_runtime && process_is_ours(task->tgid) &&
	       thread_is_wanted(task) && slot_adopt(task, clock_now());
}

/* Called for sched_waking (by the waker) and sched_wakeup (on the CPU where the thread was
 * queued). The first one that finds the thread asleep counts, so that the time of an IPI in
 * between is ready time. Wakeups of threads that are not asleep are normal and ignored.
 *
 * Also for sched_wakeup_new: the fork handler gave the thread its slot, except for unreported
 * births. Until now it was on no run queue, and has no mark. */
static __always_inline void thread_wake(void *ctx, struct task_struct *task)
{
	struct target target;
	struct event event;
	u32 state;

	if (likely(!task_is_ours(task->pid, task->tgid)) && !(kd_by_thread && thread_adopt(task))) {
		if (kd_by_thread && !task->se.sum_exec_runtime)
			return;
		if (KD_TRACES && kd_all_wakers)
			other_wake(ctx, task);
		if (recorder_is_on())
			followed_wake(ctx, task);
		return;
	}
	target = target_find(task->pid, (u64)task);
	if (!target.thread)
		return;
	state = thread_state(target.thread);
	cpu_barrier(); /* since, and what else belongs to that state */
	if (state == KD_READY_WOKEN) {
		if (!target.thread->waiting.mark)
			waiting_begin(target.thread, target.slot, task, task_cpu(task), true,
				      target.thread->since);
		else
			limit_queued(&target.thread->waiting, target.slot, task);
	}
	if (state < KD_BLOCKED || state > KD_FROZEN)
		return;
	event = event_at(target, clock_now());
	if (unlikely(event.thread->at.file == KD_FILE_UNSEEN &&
		     event.t - event.thread->since >= kd_detail_ns))
		file_look(event.slot);
	if (unlikely(event.thread->by_request))
		request_wake(event.slot, event.t);
	state_book(event, state);
	if (unlikely(state == KD_STOPPED))
		stop_end(event);
	timer_wake(event);
	if (state != KD_FROZEN)
		sleep_count(ctx, event, task, state);
	if (KD_TRACES && kd_note_ns != KD_UNWANTED && awaits_disk(event.thread->awaited))
		blocker_wake(event.slot, event.t);
	/* As atomically as possible: activity_until() adds the sleep in progress. */
	if (state < KD_STOPPED)
		event.thread->asleep_ns += event.t - event.thread->since;
	thread_enter(event.thread, KD_READY_WOKEN, event.t, KD_RECORDED_WOKEN,
		     recorder_waker(ctx) | event.thread->awaited << KD_RECORDED_AWAITED);
	waiting_begin(event.thread, event.slot, task, task_cpu(task), true, event.t);
	if (KD_TRACES && kd_wait_ns != KD_UNWANTED) {
		/* After short sleeps, too: the thread may wake others that slept long. */
		event.thread->woken_at = event.t;
		task_woken(ctx, event.slot, task, event.t);
	}
}

/* True if the wakeup of a task matters; is_new: its first one. */
static __always_inline bool wakeup_matters(struct task_struct *task, bool is_new)
{
	return unlikely(task_is_ours(task->pid, task->tgid)) || (is_new && kd_by_thread) ||
	       (!is_new && KD_TRACES && (kd_all_wakers || kd_recorder_wanted));
}

/* Handles a wakeup that matters in kd_sched_waking. These tracepoints have equal arguments, so
 * the program with all the work is verified once, not for each. */
static __always_inline void wakeup_pass(void *ctx, struct task_struct *task, bool is_new)
{
	if (wakeup_matters(task, is_new))
		bpf_tail_call(ctx, &kd_wakeups, 0);
}

/* A thread is about to be put on another CPU, where it has not run yet. The last of several
 * events counts, unless it had to leave: a wakeup may choose again. */
static __always_inline void thread_move(struct task_struct *task, u32 cpu)
{
	struct target target;
	bool woken;

	if (likely(!task_is_ours(task->pid, task->tgid)))
		return;
	target = target_find(task->pid, (u64)task);
	if (!target.thread)
		return;
	woken = !task->on_rq || task_dequeue_is_delayed(task);
	if (!task_may_run(task, task_cpu(task)))
		target.thread->moved = KD_MOVE_AFFINITY;
	else if (target.thread->moved != KD_MOVE_AFFINITY)
		target.thread->moved = woken ? KD_MOVE_WAKEUP : KD_MOVE_BALANCE;
	waiting_move(target, task, cpu);
}

/* Why a thread comes to this CPU. Without a reported move it may still have had to leave. */
static __always_inline u32 move_of(struct kd_thread *thread, u32 cpu)
{
	if (unlikely(cpu != thread->cpu && thread->moved == KD_MOVE_OTHER) &&
	    !task_may_run((struct task_struct *)thread->task, thread->cpu))
		return KD_MOVE_AFFINITY;
	return thread->moved;
}

/* 1 if one is less than the other, else 0: numbers below 2^63. */
static __always_inline u64 is_less(u64 one, u64 other)
{
	u64 less = one - other;

	barrier_var(less); /* or the compiler makes a branch */
	return less >> 63;
}

/* 1 for keys of tasks, which are not those of limits; else 0. */
static __always_inline u64 is_task(u64 key)
{
	return is_less(KD_WHO_TASK - 1, key) & is_zero(key & KD_WHO_LIMIT);
}

/* Returns the key of the task that had the CPU for most of a wait; others: number of those that had
 * it, too. Branchless, unlike kd_taker_longest(), which takes the verifier ten times as long. */
static __always_inline u32 taker_task(const struct kd_takers *takers, u32 *others)
{
	u64 most = 0, tasks = takers->gone;

	for (u32 i = 0; i < KD_TAKERS; i++) {
		const struct kd_taker *taker = &takers->of[i];
		u64 is_one = is_task(taker->key) & is_less(i, takers->n), rank;

		barrier_var(is_one);
		rank = taker->ns * is_one * KD_TAKERS + i;
		tasks += is_one;
		most = most + rank - lesser(most, rank);
	}
	*others = tasks - is_set(tasks);
	return takers->of[BOUNDED(most, KD_TAKERS)].key * is_set(most / KD_TAKERS);
}

/* A thread gets a CPU in a call, after waiting so long. Global, to be verified once. */
TRACES_GLOBAL int call_behind_note(u32 slot, u64 ns)
{
	struct kd_wait *wait = bpf_map_lookup_elem(&kd_waits, &slot);
	struct kd_thread *thread = slot_thread(slot);

	if (!wait || !thread || wait->call_since != thread->call_since || ns <= wait->behind.ns)
		return 0;
	wait->behind.ns = ns;
	wait->behind.who = taker_task(&thread->waiting.takers, &wait->behind.others);
	return 0;
}

/* The thread is switched in on this CPU at t. steal: of the CPU, see steal_now(). rarely: a
 * constant, see event_rarely(). */
static __always_inline void switch_in(struct target target, u64 steal, u64 t, bool rarely)
{
	struct kd_thread *thread = target.thread;
	u32 state, cpu = bpf_get_smp_processor_id(), move, slot = target.slot;
	struct event event;

	state = thread_state(thread);
	move = move_of(thread, cpu);
	event = rarely ? event_rarely(target, t) : event_at(target, t);
	t = event.t;
	state_book(event, state);
	if (state == KD_READY_WOKEN || state == KD_READY_PREEMPTED) {
		item_book(event, ITEM_READY, 0, thread->since);
		thread->ready_ns += t - thread->since;
		if (KD_TRACES && kd_call_ns != KD_UNWANTED && thread->call != KD_CALL_NONE &&
		    t - thread->since >= kd_detail_ns)
			call_behind_note(slot, t - thread->since);
	} else if (state_is_blocked(state)) {
		thread->asleep_ns += t - thread->since;
		thread->unseen_at = t;
		if (KD_TRACES && kd_wait_ns != KD_UNWANTED)
			wakers_forget(slot);
	}
	if (unlikely(thread->softirq.since))
		thread->softirq.stolen += t; /* see run_end() */
	interruption_in(thread, slot, t);
	item_book(event, ITEM_CPU, cpu << 3 | move << 1 | (cpu != thread->cpu), t);
	if (unlikely(thread->mover.tid))
		mover_ran(slot, move == KD_MOVE_AFFINITY && cpu != thread->cpu, t);
	thread->moved = KD_MOVE_OTHER;
	thread->cpu = cpu;
	thread->on_cpu = 1;
	thread->ready_state = state;
	thread->run_since = t;
	steal_begin(thread, steal, t);
	thread_enter(thread, thread_running_state(thread), t, KD_RECORDED_RUN, 0);
}

/* The thread is running at t, although its last event says otherwise: a switch was not reported,
 * as on kernels that hide some tasks from tracing. Its time follows from the kernel's own count
 * of run time. */
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
	waiting_lost(target.thread, slot, t - ran);
	switch_in(target, 0, t - ran, true);
	if (wait_is_long(target.thread, t - ran))
		wait_over_unreported(slot, t - ran);
	return 0;
}

/* A call that the kernel could have restarted has ended instead. */
static __noinline void restart_drop(struct kd_thread *thread, u32 slot)
{
	s32 call = thread->restart_call;

	if (KD_TRACES && kd_call_ns != KD_UNWANTED && call_class(call) & KD_CLASS_TRACED)
		call_trace_dropped(slot);
	thread->restart_call = KD_CALL_NONE;
	item_across(slot, (u64)(u32)call << 8 | ITEM_CALL, thread->restart_since,
		    thread->restart_at);
}

/* A thread goes to sleep. */
static __always_inline void sleep_begin(struct target target, u64 t, struct task_struct *task,
					u32 task_state)
{
	struct kd_thread *thread = target.thread;

	thread_awaits(target.slot, thread, task, task_state);
	thread->locked.address = 0;
	if (unlikely(thread->contended.lock) &&
	    thread->contended.call_since == thread->call_since) {
		thread->awaited = KD_AWAITED_KERNEL_LOCK;
		contention_sleep(target.slot, t);
	} else if (thread->awaited == KD_AWAITED_LOCK) {
		lock_sleep(target.slot, t);
	}
	if (thread->locked.address && thread->locked.holder)
		recorder_add(KD_RECORDED_LOCK, thread->locked.kind, thread->tid,
			     thread->locked.holder, t);
}

/* The thread's run ends at t. exec_ns: its run time by the kernel's count. */
static __always_inline void run_end(struct target target, u32 runnable, u64 exec_ns, u64 steal,
				    u64 t)
{
	struct kd_thread *thread = target.thread;
	u32 slot = target.slot;
	struct event event;

	steal_look(slot, thread, steal, t);
	event = event_at(target, t);
	t = event.t;
	/* It was certainly running. */
	state_book(event, thread_running_state(thread));
	if (kd_interruptions_wanted && thread_running_state(thread) == KD_FAULT)
		interruption_add(slot, interrupted_by(KD_BY_FAULT, 0), thread->since, t);
	/* In a threaded softirq (PREEMPT_RT): time until switch_in() is not part of it. */
	if (unlikely(thread->softirq.since))
		thread->softirq.stolen -= t;
	interruption_out(thread, runnable, t);
	item_book(event, ITEM_RUN, 0, thread->run_since);
	/* As the kernel counts nivcsw and nvcsw (__schedule()). */
	item_book(event, ITEM_OUT, runnable, t);
	thread->run_ns += t - thread->run_since;
	thread->exec_out = exec_ns;
	thread->on_cpu = 0;
}

/* A thread is switched out that had no event since it was switched in, or since tracing began.
 * Without a call since then, it may be in one. */
static __noinline void run_unreported(u32 slot, struct task_struct *task, u64 t)
{
	struct kd_thread *thread = slot_thread(slot);

	if (!thread)
		return;
	if (thread->state == KD_UNSEEN && thread_state(thread) == KD_USER &&
	    task_calls_are_reported())
		thread->call = task_call(task);
	switch_in_unreported(slot, task->se.sum_exec_runtime, t);
}

static __always_inline void switch_out(struct target target, struct task_struct *task,
				       u32 task_state, u64 steal, u64 t)
{
	enum kd_recorded_kind by = KD_RECORDED_PREEMPTED;
	struct kd_thread *thread = target.thread;
	u32 slot = target.slot, state = KD_READY_PREEMPTED, awaited = KD_AWAITED_OTHER;
	u32 runnable = is_zero(task_state);

	if (unlikely(!thread->on_cpu))
		run_unreported(slot, task, t);
	waiting_end_late(thread, slot);
	run_end(target, runnable, task->se.sum_exec_runtime, steal, t);
	if (!runnable)
		state = state_of_sleep(task, task_state);
	if (KD_TRACES && kd_note_ns != KD_UNWANTED)
		wait_begin(thread, slot, t, state);
	if (!runnable && unlikely(task_state & TASK_DEAD)) {
		if (thread->restart_call != KD_CALL_NONE)
			restart_drop(thread, slot);
		thread_end(thread, task, t);
		tid_leave(thread, task);
		state = KD_DEAD;
	} else if (unlikely(state == KD_FROZEN)) {
		WRITE_ONCE(kd_any_frozen, 1);
		thread->timer.deadline = 0;
		thread->awaited = KD_AWAITED_OTHER;
		thread->at.file = 0;
		by = KD_RECORDED_SLEEP;
	} else if (!runnable) {
		sleep_begin(target, t, task, task_state);
		timer_sleep(thread, slot, task);
		if (unlikely(task_state & (__TASK_STOPPED | __TASK_TRACED)))
			stop_begin(slot);
		by = KD_RECORDED_SLEEP;
		awaited = thread->awaited;
	}
	thread_enter(thread, state, t, by, awaited);
	if (runnable)
		waiting_begin(thread, slot, task, bpf_get_smp_processor_id(), false, t);
}

/* A thread without a slot is switched out, maybe for the last time. Global, to be verified once. */
__noinline int refused_out(u32 tid, u32 task_state)
{
	return task_state & TASK_DEAD ? tid_unmark(tid, KD_SLOT_REFUSED) : 0;
}

/* A switch that concerns the target. */
static __always_inline void target_switch(struct kd_runqueue *runqueue, struct task_struct *prev,
					  struct task_struct *next, u32 prev_state)
{
	bool out = task_is_ours(prev->pid, prev->tgid) || leader_ends(prev, prev_state), in;
	u32 cpu = bpf_get_smp_processor_id(), key = 0;
	u64 t = clock_now(), steal = steal_switch(cpu, t);
	struct target target, to = {};

	/* Through memory: otherwise the verifier follows each case to the end. */
	WRITE_ONCE(runqueue->waited, runqueue_waits(runqueue) != 0);
	WRITE_ONCE(runqueue->others, !out);
	if (!READ_ONCE(runqueue->others)) {
		target = target_find(prev->pid, (u64)prev);
		if (target.thread)
			switch_out(target, prev, switched_state(prev, prev_state), steal, t);
		else
			refused_out(prev->pid, prev_state);
	}
	if (READ_ONCE(runqueue->waited)) {
		key = culprit_of(prev, t);
		if (recorder_is_on() && READ_ONCE(runqueue->others))
			recorder_had_cpu(prev->pid, key, elapsed(runqueue->since, t), t);
		runqueue_account(runqueue, key, t);
	}
	in = task_is_ours(next->pid, READ_ONCE(next->tgid));
	/* Not read from runs: a waker on another CPU may set that, see waiting_list(). */
	WRITE_ONCE(runqueue->own, in);
	if (in)
		to = target_find(next->pid, (u64)next);
	if (READ_ONCE(runqueue->waited)) {
		if (to.thread)
			waiting_end_listed(runqueue, to, cpu, key, t);
		runqueue_charge(runqueue, cpu, key, t);
	}
	runqueue_run(runqueue, in ? KD_RUNS_OWN : next->pid ? KD_RUNS_OTHER : KD_RUNS_IDLE, t);
	/* No thread waits here. The remaining count is of threads hidden from tracing. */
	if (!next->pid && unlikely(READ_ONCE(runqueue->unlisted)))
		WRITE_ONCE(runqueue->unlisted, 0);
	if (READ_ONCE(runqueue->own)) {
		if (unlikely(!to.thread)) {
			to.slot = slot_adopt(next, t);
			to.thread = to.slot ? slot_thread(to.slot) : NULL;
		}
		if (to.thread && to.thread->waiting.index != KD_WAITERS &&
		    kd_is_ready(state_now(to.thread)))
			waiting_end(to.thread, to.slot, cpu, t);
		if (to.thread)
			switch_in(to, steal, t, false);
		if (to.thread && wait_is_long(to.thread, t))
			wait_over(to.slot, next, t);
	}
}

/* State of a task at its switch-out. */
static __always_inline u32 state_of_switch(struct task_struct *task, u32 task_state)
{
	if (!task_state)
		return KD_READY_PREEMPTED;
	return task_state & TASK_DEAD ? KD_DEAD : state_of_sleep(task, task_state);
}

/* A task leaves a CPU that a followed task waits for. */
static __always_inline void client_waited(struct kd_runqueue *runqueue, struct task_struct *prev)
{
	struct rq *rq = task_rq(prev);
	u64 t;

	/* Where target threads wait, too, it is recorded anyway. */
	if (!bpf_core_field_exists(prev->sched_info) || !rq || runqueue_waits(runqueue))
		return;
	t = clock_now();
	recorder_had_cpu(prev->pid, culprit_find(bpf_get_current_task(), t),
			 elapsed(prev->sched_info.last_arrival, BPF_CORE_READ(rq, clock)), t);
}

/* Records tasks outside the target. A separate function, because most switches do not need it. */
static __noinline int others_switch(struct task_struct *prev, struct task_struct *next,
				    u32 prev_state)
{
	struct kd_runqueue *runqueue = runqueue_here();
	u32 state;

	if (!runqueue)
		return 0;
	if (!task_is_ours(prev->pid, prev->tgid) && task_is_followed(prev)) {
		state = state_of_switch(prev, switched_state(prev, prev_state));
		followed_out(prev->pid, prev->flags, state,
			     BPF_CORE_READ_BITFIELD(prev, in_iowait));
		if (state == KD_READY_PREEMPTED)
			runqueue->client = prev->pid;
	} else if (runqueue->client && prev->pid && !task_is_ours(prev->pid, prev->tgid)) {
		client_waited(runqueue, prev);
	}
	/* It may have been moved. */
	if (!next->pid || next->pid == runqueue->client)
		runqueue->client = 0;
	if (!task_is_ours(next->pid, next->tgid) && task_is_followed(next))
		followed_in(next);
	return 0;
}

/* A preempted task could continue, whatever its state. preempt: 0 or 1, as a number, because the
 * verifier would follow both cases. */
static __always_inline void thread_switch(u32 preempt, struct task_struct *prev,
					  struct task_struct *next, u32 prev_state)
{
	struct kd_runqueue *runqueue = runqueue_of(bpf_get_smp_processor_id());

	if (!runqueue)
		return;
	if (recorder_is_on() && unlikely(followed_may_be(prev, next) | runqueue->client))
		others_switch(prev, next, prev_state * is_zero(preempt));
	if (likely(!task_is_ours(prev->pid, prev->tgid) && !task_is_ours(next->pid, next->tgid) &&
		   !runqueue_waits(runqueue) && !leader_ends(prev, prev_state)))
		return;
	target_switch(runqueue, prev, next, prev_state * is_zero(preempt));
}

#endif
