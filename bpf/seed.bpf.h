/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The task iterator: gives slots to the threads that were there before us,
 * seeds their state, and reads the kernel's count of their run time. It runs at
 * the start and at every edge. Live events win over it: it writes only fields
 * that they do not write, and they adopt its seed at their first event. */
#ifndef SEED_BPF_H
#define SEED_BPF_H

#include "sched.bpf.h"

#define SEED_TRIES 4
/* A thread this old that nobody has given a slot was missed. */
#define SEED_AGE_NS 10000000ULL

static __always_inline void seed_state(struct kd_thread *thread, struct task_struct *task)
{
	u32 state = task_state(task);

	if (thread->state != KD_UNSEEN || kd_edge != KD_AT_OPEN)
		return;
	if (task->on_cpu) {
		thread->seed_call = KD_CALL_NONE; /* or in a call; its exit will tell */
		thread->seed_state = KD_USER;
		return;
	}
	thread->seed_call = task_call(task);
	if (state == TASK_WAKING)
		thread->seed_state = KD_READY_WOKEN;
	else if (!state || (task->on_rq && !task_dequeue_is_delayed(task)))
		thread->seed_state = KD_READY_PREEMPTED;
	else
		thread->seed_state = state_of_sleep(state);
}

/* Both counts of the run time at one moment: again if a switch came between. */
static __always_inline void seed_reading(struct kd_thread *thread, struct task_struct *task)
{
	struct kd_reading *reading = &thread->readings[kd_edge % KD_READINGS];

	reading->at = 0;
	for (int i = 0; i < SEED_TRIES; i++) {
		u64 run_since = READ_ONCE(thread->run_since), run_ns = READ_ONCE(thread->run_ns);
		bool unseen = thread->state == KD_UNSEEN;
		u32 on_cpu = unseen ? thread->seed_state == KD_USER : READ_ONCE(thread->on_cpu);
		bool running = task->on_cpu;
		u64 exec_ns = exec_ns_now(task), t = clock_now();

		if (run_since != READ_ONCE(thread->run_since) ||
		    run_ns != READ_ONCE(thread->run_ns) ||
		    (!unseen && on_cpu != READ_ONCE(thread->on_cpu)))
			continue;
		if (!exec_ns && running)
			return;
		reading->exec_ns = exec_ns;
		reading->ran = running && !on_cpu && exec_ns > thread->exec_out
				       ? exec_ns - thread->exec_out
				       : 0;
		reading->run_ns = run_ns + (on_cpu ? t - run_since : reading->ran);
		reading->at = t;
		return;
	}
}

/* A slot for a thread that has none, if nobody else may be giving it one right now: this
 * program can be preempted by that very thread. See slot_adopt(). */
static __always_inline u32 seed_slot(struct task_struct *task)
{
	u64 started = task->start_time, t = bpf_ktime_get_ns();
	u16 *entry = tid_entry(task->pid);

	if (!entry)
		return KD_SLOT_FREE;
	if (kd_edge == KD_AT_CLOSE) { /* it is too late */
		if (*entry != KD_SLOT_REFUSED &&
		    (started < kd_attached_at || started + SEED_AGE_NS <= t))
			loss_count(KD_LOSS_THREADS);
		return KD_SLOT_FREE;
	}
	/* There may be room for it by now. */
	if (*entry == KD_SLOT_REFUSED)
		return slot_take(task, KD_UNSEEN, clock_now());
	if (kd_seeded || started >= kd_attached_at)
		return KD_SLOT_FREE;
	return slot_take(task, KD_UNSEEN, clock_now());
}

static __always_inline void seed_visit(struct task_struct *task)
{
	struct kd_thread *thread;
	u32 slot;

	if (task->tgid != kd_tgid || task->exit_state)
		return;
	slot = target_find(task->pid, (u64)task).slot ?: seed_slot(task);
	thread = slot ? slot_thread(slot) : NULL;
	if (!thread)
		return;
	seed_state(thread, task);
	exec_clock_read();
	seed_reading(thread, task);
	thread_read_comm(thread, task);
}

#endif
