/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* System calls, and the functions of the program that waited for a lock in one. */
#ifndef CALL_BPF_H
#define CALL_BPF_H

#include "poll.bpf.h"
#include "sched.bpf.h"
#include "stack.bpf.h"
#include "thread.bpf.h"

/* --- Functions that waited for a lock --- */

/* The innermost part of the user stack at the end of the call. Taken for the longest wait for each
 * lock in a window, and not for short ones; user space unwinds it. */
TABLE(kd_callers, KD_CALLERS, struct kd_caller_key, struct kd_caller);

/* Initial value: too large for the stack. */
static const struct kd_caller no_caller = {};

/* Copies the stack from its pointer on, up to the end of a page, if two pages cannot be read. */
static __always_inline void caller_stack_take(struct kd_caller *caller)
{
	u64 sp = caller->regs[KD_REG_SP], size = KD_STACK_PAGE - sp % KD_STACK_PAGE;

	caller->size = KD_CALLER_BYTES;
	if (!bpf_probe_read_user(caller->stack, KD_CALLER_BYTES, (void *)sp))
		return;
	if (size >= KD_CALLER_BYTES ||
	    bpf_probe_read_user(caller->stack, BOUNDED(size, KD_CALLER_BYTES), (void *)sp))
		size = 0;
	caller->size = size;
}

/* Called at the end of the current thread's call with a long wait. Return probes hide the
 * callers of functions on the stack. Global, to be verified once. */
__noinline int caller_take(u32 slot)
{
	struct kd_thread *thread = slot_thread(slot);
	struct kd_caller_key key = { .slot = slot };
	struct kd_caller *caller;

	if (!thread)
		return 0;
	key.gen = thread->waited.gen;
	key.address = thread->waited.lock;
	thread->long_wait = 0;
	if (thread->call & KD_CALL_COMPAT || task_returns((void *)bpf_get_current_task()))
		return 0;
	caller = TABLE_ROW(kd_callers, &key, &no_caller, KD_LOSS_CALLERS);
	if (!caller || caller->ns > thread->waited.ns)
		return 0;
	caller->size = 0;
	caller->ns = thread->waited.ns;
	if (registers_read(caller->regs, caller->stack, current_user_regs()))
		caller_stack_take(caller);
	return 0;
}

/* --- Entry and return --- */

/* Target data of the current thread. The TID is enough here: no system call begins or ends
 * between the two steps of an execve (see slot_during_exec()). */
static __always_inline struct target target_current(void)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct target target = {};
	u32 slot;

	if (!kd_by_thread && likely(pid_tgid >> 32 != kd_tgid))
		return target;
	slot = tid_slot((u32)pid_tgid);
	if (unlikely(slot == KD_SLOT_FREE)) {
		if (!kd_by_thread && READ_ONCE(kd_word))
			loss_count(KD_LOSS_UNTRACKED);
		return target;
	}
	target.slot = slot;
	target.thread = slot_thread(slot); /* marks have none */
	return target;
}

/* Handles special classes at the entry of a call. Returns true if the call is to be ignored,
 * because it is not the target's own. */
static __noinline bool call_enter_special(struct kd_thread *thread, u32 slot, u8 class, u64 t)
{
	u64 since;

	if (class & KD_CLASS_IGNORED)
		return true;
	if (class & KD_CLASS_EXEC) {
		*exec_slot_of(thread->tgid) = slot;
		thread->polls.sp = thread->rounds.sp = 0; /* another stack */
	}
	if (class & KD_CLASS_POLL) {
		since = round_end(&thread->polls, t);
		if (since)
			item_across(slot, ITEM_LONG_POLL, since, t);
	}
	return false;
}

/* A call ended with -ERESTART_RESTARTBLOCK. It continues as restart_syscall if that is the
 * thread's next call; otherwise it has ended. Returns true if it continues. */
static __noinline bool call_restart(struct kd_thread *thread, u32 slot, u8 class)
{
	if (!(class & KD_CLASS_RESTART)) {
		restart_drop(thread, slot);
		return false;
	}
	thread->call = thread->restart_call;
	thread->call_since = thread->restart_since;
	thread->restart_call = KD_CALL_NONE;
	return true;
}

/* A thread that makes a system call is running, whatever was reported before, and has left what
 * it would have to leave first. User space does not know the task: a thread that got its slot
 * there (cli/capture/parts/entry.c) comes here first. */
static __noinline void call_resync(u32 slot, u64 t)
{
	struct kd_thread *thread = slot_thread(slot);
	u64 task = bpf_get_current_task();

	if (!thread)
		return;
	thread->fault = thread->reclaim = 0;
	thread->fault_at = 0;
	if (!thread->task)
		thread->task = task;
	switch_in_unreported(slot, exec_ns_now(task), t);
}

/* A call begins, and the thread was not in user mode. If the end of the last one was not reported,
 * the thread counts as in the kernel until now, and what was noted for that end is dropped. Global,
 * to be verified once. */
__noinline int call_resync_enter(u32 slot, u64 t)
{
	struct kd_thread *thread = slot_thread(slot);

	call_resync(slot, t);
	if (!thread || thread->call == KD_CALL_NONE)
		return 0;
	state_across(slot, KD_KERNEL, thread->since, t);
	thread->since += elapsed(thread->since, t);
	thread->noted = thread->long_wait = 0;
	return 0;
}

/* regs: of the current thread; NULL if the program did not get them. */
static __always_inline void call_enter(struct pt_regs *regs, u32 call)
{
	struct kd_thread *thread;
	struct target target;
	struct event event;
	u8 class;
	u64 t;

	if (unlikely((s32)call == kd_affinity_call) && !current_call_is_compat(regs, true))
		affinity_requested();
	target = target_current();
	thread = target.thread;
	if (!thread)
		return;
	t = clock_now();
	if (unlikely(current_call_is_compat(regs, true)))
		call |= KD_CALL_COMPAT;
	class = call_class(call);
	if (unlikely(class) && call_enter_special(thread, target.slot, class, t))
		return;
	if (unlikely(thread->state != KD_USER))
		call_resync_enter(target.slot, t);
	event = event_at(target, t);
	t = event.t;
	state_book(event, KD_USER);
	if (likely(thread->restart_call == KD_CALL_NONE) ||
	    !call_restart(thread, target.slot, class)) {
		thread->call = call;
		thread->call_since = t;
	}
	thread_enter(thread, KD_KERNEL, t, KD_RECORDED_CALL, thread->call);
}

static __always_inline void call_exit(void *ctx, s64 result)
{
	struct target target = target_current();
	struct kd_thread *thread = target.thread;
	struct event event;
	s32 call;
	u64 t;

	if (!thread)
		return;
	/* An exit without entry: of a call that is ignored, or that seccomp or a tracer skipped. */
	if (unlikely(thread->call == KD_CALL_NONE))
		return;
	t = clock_now();
	if (unlikely(thread->state != KD_KERNEL))
		call_resync(target.slot, t);
	event = event_at(target, t);
	t = event.t;
	state_book(event, KD_KERNEL);
	call = thread->call;
	if (KD_TRACES && kd_tracing)
		call_trace(ctx, event, call_class(call), result);
	if (unlikely(thread->long_wait))
		caller_take(target.slot);
	thread->call = KD_CALL_NONE;
	thread_enter(thread, KD_USER, t, KD_RECORDED_RETURN, result);
	if (call < 0)
		return;
	if (unlikely((s32)result == -ERESTART_RESTARTBLOCK)) {
		thread->restart_call = call;
		thread->restart_since = thread->call_since;
		thread->restart_at = t;
		return;
	}
	item_book(event, ITEM_CALL, call, thread->call_since);
	if (unlikely(call_class(call) & KD_CLASS_POLL))
		round_begin(&thread->polls, t);
}

#endif
