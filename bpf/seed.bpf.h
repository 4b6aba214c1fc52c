/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Task iterator: gives slots to threads that existed before tracing, seeds their state, and
 * reads the kernel's count of their run time. It runs at the start and at every edge. Live
 * events have precedence: the iterator only writes fields that they do not write, and they adopt
 * its seed at their first event. */
#ifndef SEED_BPF_H
#define SEED_BPF_H

#include "sched.bpf.h"

#define SEED_TRIES 4
/* A thread this old without a slot was missed. */
#define SEED_AGE_NS 10000000ULL

static __always_inline void seed_state(struct kd_thread *thread, u32 slot, struct task_struct *task)
{
	u32 state = task_state(task);

	if (thread->state != KD_UNSEEN)
		return;
	if (task->on_cpu) {
		/* Or in a call: shown by its exit, or by its registers at switch-out. */
		thread->seed_call = task_is_kernels(task) ? KD_CALL_UNKNOWN : KD_CALL_NONE;
		thread->seed_state = thread->seed_call == KD_CALL_NONE ? KD_USER : KD_KERNEL;
		return;
	}
	thread->seed_call = task_call(task);
	if (state == TASK_WAKING)
		thread->seed_state = KD_READY_WOKEN;
	else if (!state || (task->on_rq && !task_dequeue_is_delayed(task)))
		thread->seed_state = KD_READY_PREEMPTED;
	else
		thread->seed_state = state_of_sleep(task, state);
	if (thread->seed_state == KD_FROZEN)
		WRITE_ONCE(kd_any_frozen, 1);
	if (thread->seed_state == KD_STOPPED)
		stop_begin(slot);
	if (state_is_blocked(thread->seed_state))
		thread->seed_awaited = task_awaits(thread, task, thread->seed_call, state,
						   &thread->seed_at);
}

/* Reads both counts of run time at the same moment, into the reading of that index. Returns
 * false if a switch intervened. Global, to be verified once, not per try. */
__noinline bool seed_reading_try(u32 slot, u32 index)
{
	struct kd_thread *thread = slot_thread(slot);
	struct kd_reading *reading;
	struct task_struct *task;
	u64 run_since, run_ns, stolen_ns, exec_ns, t;
	bool unseen, running;
	u32 on_cpu;

	if (!thread)
		return true;
	reading = &thread->readings[BOUNDED(index, 2)];
	task = (struct task_struct *)thread->task;
	run_since = READ_ONCE(thread->run_since);
	run_ns = READ_ONCE(thread->run_ns);
	unseen = thread->state == KD_UNSEEN;
	on_cpu = unseen ? kd_is_running(thread->seed_state) : READ_ONCE(thread->on_cpu);
	running = task_has_cpu(task);
	stolen_ns = kd_steal ? steal_counted(slot) : 0;
	exec_ns = exec_ns_now(thread->task);
	t = clock_now();
	if (run_since != READ_ONCE(thread->run_since) || run_ns != READ_ONCE(thread->run_ns) ||
	    (!unseen && on_cpu != READ_ONCE(thread->on_cpu)))
		return false;
	if (!exec_ns && running)
		return true;
	reading->exec_ns = exec_ns;
	reading->ran = running && !on_cpu && exec_ns > thread->exec_out ? exec_ns - thread->exec_out
									: 0;
	reading->run_ns = run_ns + (on_cpu ? elapsed(run_since, t) : reading->ran);
	reading->stolen_ns = stolen_ns;
	reading->at = t;
	return true;
}

static __always_inline void seed_reading(struct kd_thread *thread, u32 slot,
					 struct task_struct *task, u32 index)
{
	struct kd_reading *reading = &thread->readings[BOUNDED(index, 2)];

	reading->at = 0;
	for (int i = 0; i < SEED_TRIES; i++)
		if (seed_reading_try(slot, index))
			break;
	thread_read_counts(reading, task);
}

/* Slot for a thread followed from now on. */
static __noinline u32 slot_join(struct task_struct *task)
{
	u64 t = clock_now();
	u32 slot = slot_take(task, KD_UNSEEN, t);
	struct kd_thread *thread = slot ? slot_thread(slot) : NULL;

	if (!thread)
		return KD_SLOT_FREE;
	thread->born = t;
	thread->call_since = t; /* start of its current call */
	return slot;
}

/* Slot for a thread without one, unless something else may be assigning it right now: that very
 * thread can preempt this program. See slot_adopt(). */
static __always_inline u32 seed_slot(struct task_struct *task)
{
	u64 started = task->start_time, t = bpf_ktime_get_ns();
	u32 slot = tid_slot_rarely(task->pid);

	/* Threads named by user space are marked as refused until now. A thread refused for lack
	 * of space may have been renamed. */
	if (!thread_is_wanted(task) && !(kd_filter == KD_FILTER_TIDS && slot == KD_SLOT_REFUSED)) {
		if (slot == KD_SLOT_FREE || slot == KD_SLOT_REFUSED)
			tid_set(task->pid, KD_SLOT_UNWANTED);
		return KD_SLOT_FREE;
	}
	if (kd_visit == KD_VISIT_CLOSE || kd_visit == KD_VISIT_WAITING) { /* too late */
		if (slot != KD_SLOT_REFUSED && /* a process that came after the window does not
						* need one */
		    process_began(task->tgid) < kd_visit_end &&
		    (started < kd_attached_at || started + SEED_AGE_NS <= t))
			loss_count(KD_LOSS_THREADS);
		return KD_SLOT_FREE;
	}
	if (kd_visit == KD_VISIT_JOIN) /* threads refused a slot wait for the next window */
		return slot == KD_SLOT_FREE && started + SEED_AGE_NS <= t ? slot_join(task)
									  : KD_SLOT_FREE;
	/* There may be space by now. */
	if (slot == KD_SLOT_REFUSED)
		return slot_take(task, KD_UNSEEN, clock_now());
	if (kd_seeded || started >= kd_attached_at)
		return KD_SLOT_FREE;
	return slot_take(task, KD_UNSEEN, clock_now());
}

static __always_inline void seed_visit(struct task_struct *task)
{
	struct kd_thread *thread;
	u32 slot;

	if (!process_is_ours(task->tgid) || task->exit_state)
		return;
	slot = target_find(task->pid, (u64)task).slot;
	if (slot && kd_visit == KD_VISIT_JOIN)
		return;
	slot = slot ?: seed_slot(task);
	thread = slot ? slot_thread(slot) : NULL;
	if (!thread)
		return;
	if (kd_visit != KD_VISIT_WAITING && kd_visit != KD_VISIT_CLOSE)
		seed_state(thread, slot, task);
	waiting_visit(thread, slot, task);
	if (kd_visit == KD_VISIT_WAITING) {
		file_visit(thread, slot, task);
		return;
	}
	exec_clock_read();
	kd_steal_readable = rq_tells_stolen();
	if (kd_visit == KD_VISIT_NEXT && thread->readings[KD_AT_CLOSE].at)
		thread->readings[KD_AT_OPEN] = thread->readings[KD_AT_CLOSE];
	else
		seed_reading(thread, slot, task,
			     kd_visit == KD_VISIT_CLOSE ? KD_AT_CLOSE : KD_AT_OPEN);
	thread_read_comm(thread, task);
}

#endif
