/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Page faults and reclaim: states of a running thread, see "States" in DETAILS.rst. Time off the
 * CPU is accounted as usual; the thread's record says which state it returns to. */
#ifndef FAULT_BPF_H
#define FAULT_BPF_H

#include "sched.bpf.h"

static __always_inline u64 run_so_far(const struct kd_thread *thread, u64 t)
{
	return thread->run_ns + elapsed(thread->run_since, t);
}

static __always_inline struct kd_fault_cpu *fault_cpu(void)
{
	u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&kd_fault_cpus, &cpu);
}

/* The thread was in the given state and enters the one in its record. */
static __always_inline void running_turn(struct event event, u32 state)
{
	state_book(event, state);
	thread_enter_rarely(event.thread, thread_running_state(event.thread), event.t,
			    KD_RECORDED_STATE, 0);
}

/* Unreported switches are left to the events that resynchronize, whose code is long: such a
 * fault is not timed. */
static __always_inline void fault_begin(u64 address, u64 error)
{
	struct target target = target_running();
	struct kd_thread *thread = target.thread;
	struct kd_fault_cpu *on = thread ? fault_cpu() : NULL;
	struct event event;
	u32 state;
	u64 t;

	if (!on || !on->visible)
		return;
	t = clock_now();
	state = thread_state(thread);
	thread->fault_at = t;
	if (state != KD_USER && state != KD_FAULT)
		return;
	thread->fault = READ_ONCE(kd_fault_gen);
	event = event_at(target, t);
	thread->fault_began_ran = run_so_far(thread, event.t);
	thread->fault_began_asleep = thread->asleep_ns;
	thread->fault_page = (address & ~(u64)KD_FAULTED_BITS) |
			     (error & (KD_FAULTED_PRESENT | KD_FAULTED_WRITE));
	/* The previous fault's end was missed, so its length is unknown. */
	running_turn(event, KD_USER);
}

/* Run time since the last fault, a share of which timing may take. */
static __always_inline u64 fault_earned(struct kd_thread *thread, u64 t)
{
	u64 ran = run_so_far(thread, t);
	u64 earned = elapsed(thread->fault_ran, ran);

	thread->fault_ran = ran;
	return earned;
}

/* A major fault ends. The window gets its share of the time; the longest has full length. */
static __always_inline void major_add(struct event event, u64 since)
{
	struct kd_thread *thread = event.thread;
	struct kd_majors *majors = &event.record->majors;
	u64 asleep = thread->asleep_ns - thread->fault_began_asleep;
	u64 ns = elapsed(thread->fault_began_ran, run_so_far(thread, event.t)) + asleep;
	u64 total = elapsed(since, event.t), inside = elapsed(event.edge, event.t);

	if (ns > majors->times.max) {
		majors->times.max = ns;
		majors->times.began = since;
	}
	if (inside < total) {
		asleep = share_of(asleep, inside, total);
		ns = share_of(ns, inside, total);
	}
	majors->times.count++;
	majors->times.total += ns;
	majors->asleep += asleep;
}

/* Keeps the first few pages, and then the last of each slice of time, of which there are as many.
 */
#define FAULTED_SHIFT 26 /* a slice is 67 ms */
static __always_inline void faulted_add(struct event event, bool major)
{
	u64 n = event.record->timed_faults++;

	if (n >= KD_FAULTED)
		n = event.t >> FAULTED_SHIFT;
	event.record->faulted[major][n % KD_FAULTED] = event.thread->fault_page;
}

/* From user mode, or from a system call, which its time belongs to. */
static __always_inline void fault_end(bool major)
{
	struct target target = target_running();
	struct kd_fault_cpu *on = fault_cpu();
	struct kd_thread *thread = target.thread;
	struct event event;
	u64 since, t;

	if (!on)
		return;
	if (!thread) {
		on->foreign++;
		return;
	}
	since = thread->fault_at;
	thread->fault_at = 0;
	t = clock_now();
	on->target++;
	on->ran += fault_earned(thread, t);
	event = event_at(target, t);
	if (event.record && major)
		event.record->major_faults++;
	else if (event.record)
		event.record->minor_faults++;
	if (!thread->fault)
		return;
	thread->fault = 0;
	if (thread->state != KD_FAULT)
		return;
	interruption_add(target.slot, interrupted_by(KD_BY_FAULT, major), thread->since, t);
	running_turn(event, KD_FAULT);
	if (event.record)
		faulted_add(event, major);
	if (event.record && major)
		major_add(event, since);
}

/* True if an unhandled signal of this number kills the current process. The init of a PID namespace
 * is spared all but SIGKILL: get_signal() in kernel/signal.c drops what was blocked when it was
 * sent, but after the tracepoint. */
static __always_inline bool signal_kills(u32 signal)
{
	const u64 others = 1 << SIGCHLD | 1 << SIGCONT | 1 << SIGSTOP | 1 << SIGTSTP |
			   1 << SIGTTIN | 1 << SIGTTOU | 1 << SIGURG | 1 << SIGWINCH;
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	u32 init = BPF_CORE_READ(task, signal, flags) & SIGNAL_UNKILLABLE;
	u64 spared = init ? ~(1ULL << SIGKILL) : others;

	return !(spared >> (signal & 63) & 1); /* the last one, 64, is like those before it */
}

/* The current thread is about to leave the kernel, where it has been since its last call
 * returned or its fault failed. Only its registers tell that it was not in user mode since a
 * call; SIGSYS is for a call that was never entered. The thread then runs its handler, or ends,
 * still in the kernel. */
static __always_inline void signal_delivered(u32 signal, struct k_sigaction *action)
{
	struct target target = target_running();
	struct kd_thread *thread = target.thread;
	u64 handler = (u64)BPF_CORE_READ(action, sa.sa_handler);
	struct event event;
	u32 state;

	if (!thread || !kd_is_running(thread->state) || thread->call != KD_CALL_NONE)
		return;
	state = thread->state;
	event = event_at(target, clock_now());
	thread->fault = 0;
	thread->fault_at = 0;
	if (state == KD_USER && signal != SIGSYS && regs_call(current_user_regs()) >= 0)
		state = KD_KERNEL;
	if (handler > SIG_IGN && event.record)
		event.record->signals++;
	state_book(event, state);
	if (handler == SIG_DFL && signal_kills(signal)) {
		thread->call = KD_CALL_UNKNOWN;
		thread->call_since = event.t;
	}
	thread_enter_rarely(thread, thread_running_state(thread), event.t, KD_RECORDED_STATE, 0);
}

static __always_inline void reclaim_begin(void)
{
	struct target target = target_running();
	struct kd_thread *thread = target.thread;
	u32 state;

	/* A thread without events is in an unknown state. */
	if (!thread || !kd_is_running(thread->state) || thread->reclaim)
		return;
	state = thread->state;
	thread->reclaim = 1;
	running_turn(event_rarely(target, clock_now()), state);
}

static __always_inline void reclaim_end(void)
{
	struct target target = target_running();

	if (!target.thread || !target.thread->reclaim)
		return;
	target.thread->reclaim = 0;
	running_turn(event_rarely(target, clock_now()), KD_RECLAIM);
}

#endif
