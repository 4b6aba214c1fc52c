/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Others that stop a thread, or move it to another CPU. */
#ifndef STOP_BPF_H
#define STOP_BPF_H

#include "compat.bpf.h"
#include "thread.bpf.h"
#include "window.bpf.h"

/* --- Who moves a thread --- */

/* Movers are the last callers of sched_setaffinity before a thread had to leave its CPU. No event
 * reports this: a kernel thread moves a running thread, and a sleeping one moves at its wakeup. */

/* Time until a switch-in without a move clears the mover. A later move has another cause, such as a
 * cpuset, which has no caller. */
#define MOVER_VALID_NS 100000000

/* Notes that the current thread, of any process, makes the native call sched_setaffinity. TIDs are
 * of its own PID namespace: only those of the initial one are usable. */
static __noinline void affinity_requested(void)
{
	struct pt_regs *regs = current_user_regs();
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	u64 pid_tgid = bpf_get_current_pid_tgid();
	u32 tid = call_argument(regs, 0, 0), slot;
	struct kd_thread *thread;
	struct kd_mover *mover;

	if (tid && BPF_CORE_READ(task, thread_pid, level))
		return;
	tid = tid ?: (u32)pid_tgid;
	slot = tid_slot(tid);
	if (slot == KD_SLOT_FREE || slot == KD_SLOT_REFUSED)
		return;
	thread = slot_thread(slot);
	if (!thread || thread->tid != tid)
		return;
	mover = &thread->mover;
	mover->at = clock_now();
	mover->tgid = pid_tgid >> 32;
	bpf_get_current_comm(mover->comm, sizeof(mover->comm));
	mover->tid = (u32)pid_tgid;
}

static __always_inline void mover_add(struct kd_mover *by, u32 slot, u64 gen)
{
	struct kd_row_key key = { .gen = gen, .slot = slot, .rest = by->tid };
	const struct kd_moves none = { .by = *by };
	struct kd_moves *moves = TABLE_ROW(kd_moves, &key, &none, KD_LOSS_MOVES);

	if (moves)
		moves->count++;
}

/* Attributes a move to its mover when the thread runs again, at t. */
__noinline int mover_ran(u32 slot, bool moved, u64 t)
{
	struct kd_thread *thread = slot_thread(slot);
	struct overlap overlap;

	if (!thread)
		return 0;
	FOR_EACH_BANK(bank)
	{
		if (moved && window_overlap(bank, t - 1, t, &overlap))
			mover_add(&thread->mover, slot, overlap.gen);
	}
	if (moved || t > thread->mover.at + MOVER_VALID_NS)
		thread->mover.tid = 0;
	return 0;
}

/* --- Who stops a thread --- */

/* Stoppers are senders of job control signals, noted at the call, and tracers, which are the
 * parents of traced threads. */

/* Signals from the kernel itself (include/linux/sched/signal.h). Stop signals are sent this way
 * only by terminals (drivers/tty) and by ptrace(2), whose caller becomes the tracer. */
#define SEND_SIG_PRIV 1

/* Last sender of this stop signal to a process. */
static __always_inline struct kd_stopper *stop_sender(u32 tgid, u32 index)
{
	struct kd_process *process = kd_many ? bpf_map_lookup_elem(&kd_processes, &tgid) : NULL;

	return process ? &process->stop_senders[BOUNDED(index, KD_STOP_SIGNALS)]
		       : &kd_stop_senders[BOUNDED(index, KD_STOP_SIGNALS)];
}

/* Notes that the current thread sends a signal. A stop signal stops the entire process, whichever
 * thread gets it. */
static __always_inline void stop_sent(u32 signal, u64 info, u64 address)
{
	u32 index = signal - KD_SIGSTOP;
	struct task_struct *task = (struct task_struct *)address;
	struct kd_stopper *sender;
	u64 pid_tgid;
	u32 tgid;

	if (likely(index >= KD_STOP_SIGNALS))
		return;
	tgid = BPF_CORE_READ(task, tgid);
	if (!process_is_ours(tgid))
		return;
	sender = stop_sender(tgid, index);
	__builtin_memset(sender, 0, sizeof(*sender));
	sender->kind = KD_STOP_SIGNAL;
	sender->signal = signal;
	if (info == SEND_SIG_PRIV) {
		__builtin_memcpy(sender->comm, "terminal", sizeof("terminal"));
		return;
	}
	pid_tgid = bpf_get_current_pid_tgid();
	sender->tid = (u32)pid_tgid;
	sender->tgid = pid_tgid >> 32;
	bpf_get_current_comm(sender->comm, sizeof(sender->comm));
}

/* Finds who stops a thread. A traced one may stop for a signal that its tracer passed on, which
 * stops the entire process. Global, to be verified once, and without typed pointers. */
__noinline int stop_begin(u32 slot)
{
	struct kd_thread *thread = slot_thread(slot);
	struct task_struct *task, *tracer;
	struct kd_stopper *stopper;
	u32 signal, index;

	if (!thread)
		return 0;
	task = (struct task_struct *)thread->task;
	stopper = &thread->stopper;
	__builtin_memset(stopper, 0, sizeof(*stopper));
	/* do_jobctl_trap() tells a stop of the process by the same test. */
	if (BPF_CORE_READ(task, ptrace) && !BPF_CORE_READ(task, signal, group_stop_count) &&
	    !(BPF_CORE_READ(task, signal, flags) & SIGNAL_STOP_STOPPED)) {
		tracer = BPF_CORE_READ(task, parent);
		stopper->kind = KD_STOP_TRACER;
		stopper->tid = BPF_CORE_READ(tracer, pid);
		stopper->tgid = BPF_CORE_READ(tracer, tgid);
		BPF_CORE_READ_INTO(&stopper->comm, tracer, comm);
		return 0;
	}
	signal = BPF_CORE_READ(task, jobctl) & JOBCTL_STOP_SIGMASK;
	index = signal - KD_SIGSTOP;
	if (index < KD_STOP_SIGNALS)
		*stopper = *stop_sender(thread->tgid, index);
	stopper->kind = KD_STOP_SIGNAL;
	stopper->signal = signal;
	return 0;
}

static __always_inline void stop_add(struct kd_thread *thread, u32 slot, struct overlap *overlap)
{
	struct kd_stopper *by = &thread->stopper;
	const struct kd_stop_times none = { .by = *by };
	struct kd_stop_times *times;
	struct kd_stop_key key = {
		.gen = overlap->gen,
		.slot = slot,
		.tid = by->tid,
		.kind = by->kind,
		.signal = by->signal,
	};

	times = TABLE_ROW(kd_stops, &key, &none, KD_LOSS_STOPS);
	if (times)
		count_add(&times->count, overlap->from, overlap->to - overlap->from);
}

/* Adds a stop until t to the windows that it overlaps. */
__noinline int stop_across(u32 slot, u64 t)
{
	struct kd_thread *thread = slot_thread(slot);
	struct overlap overlap;

	if (!thread)
		return 0;
	FOR_EACH_BANK(bank)
	{
		if (window_overlap(bank, thread->since, t, &overlap))
			stop_add(thread, slot, &overlap);
	}
	return 0;
}

static __always_inline void stop_end(struct event event)
{
	item_across(event.slot, ITEM_STOPPED, event.thread->since, event.t);
	stop_across(event.slot, event.t);
}

#endif
