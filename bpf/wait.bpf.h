/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Records of long waits, see "Traces" in DETAILS.rst: the kernel stack is taken at switch-in, the
 * user stack while the thread is current. */
#ifndef WAIT_BPF_H
#define WAIT_BPF_H

#include "trace.bpf.h"
#include "waker.bpf.h"

/* Sends the stack of a thread switched out in user mode, in case the wait becomes long. Global, to
 * be verified once. */
TRACES_GLOBAL int wait_begin_in_user(u32 slot, u64 t)
{
	struct kd_thread *thread = slot_thread(slot);
	u32 key = scratch_key(SCRATCH_THREAD);
	struct kd_trace *trace;

	if (!thread || !window_is_open())
		return 0;
	trace = trace_begin(key, KD_TRACE_STACK, thread->tgid, thread->tid, t, t);
	if (!trace)
		return 0;
	trace_user(trace, key, current_user_regs(), IN_ADVANCE);
	if (trace->flags)
		trace_send(key);
	return 0;
}

/* A thread loses the CPU for the first time in a call, after a run that is already counted. Global,
 * to be verified once. */
TRACES_GLOBAL int call_times_note(u32 slot, u64 t)
{
	struct kd_wait *wait = bpf_map_lookup_elem(&kd_waits, &slot);
	struct kd_thread *thread = slot_thread(slot);

	if (!wait || !thread)
		return 0;
	wait->call_since = thread->call_since;
	wait->run_ns = thread->run_ns - elapsed(thread->call_since, t);
	wait->ready_ns = thread->ready_ns;
	wait->behind.ns = 0;
	return 0;
}

/* A sleep ends that may be the longest of a slow call. by: the current thread, or 0. */
TRACES_GLOBAL int call_waker_note(u32 slot, u32 by, u64 t)
{
	struct kd_wait *wait = bpf_map_lookup_elem(&kd_waits, &slot);

	if (!wait)
		return 0;
	wait->last.at = t;
	wait->last.tid = by;
	wait->last.from = by ? KD_FROM_TASK : KD_FROM_UNKNOWN;
	if (by)
		bpf_get_current_comm(wait->last.comm, sizeof(wait->last.comm));
	return 0;
}

static __always_inline void wait_begin(struct kd_thread *thread, u32 slot, u64 t, u32 state)
{
	if (kd_call_ns != KD_UNWANTED && thread->call != KD_CALL_NONE && thread->call_since &&
	    thread->run_since <= thread->call_since)
		call_times_note(slot, t);
	thread->out_since = t;
	thread->out_state = state;
	thread->woken_at = 0;
	if (kd_wait_ns != KD_UNWANTED && thread->call == KD_CALL_NONE && kd_user_bytes)
		wait_begin_in_user(slot, t);
}

/* Sends one part of a wait, asleep or ready, with the kernel stack in the scratch record. */
static __always_inline void wait_send(u32 key, struct kd_trace *trace, struct kd_thread *thread,
				      u32 state, u64 start, u64 end)
{
	trace->start = start;
	trace->end = end;
	trace->state = state;
	trace->call = thread->call;
	trace->since = thread->call == KD_CALL_NONE ? thread->out_since : thread->call_since;
	trace_send(key);
}

static __always_inline void wait_report(u32 slot, u32 key, struct kd_trace *trace,
					struct kd_thread *thread, u64 t)
{
	struct kd_wakers *wakers = bpf_map_lookup_elem(&kd_wakers, &slot);
	bool slept = !kd_is_ready(thread->out_state);
	/* Without a reported wakeup the thread slept to the end, as in its time by state. */
	u64 woken = thread->woken_at ?: slept ? t : thread->out_since;

	if (slept && elapsed(thread->out_since, woken) >= kd_wait_ns) {
		trace->awaited = thread->awaited;
		if (thread->at.file == KD_FILE_UNSEEN)
			file_look(slot);
		trace_file(key, thread->at.fd, thread->at.file);
		if (wakers && thread->woken_at)
			__builtin_memcpy(trace->wakers, wakers->by, sizeof(trace->wakers));
		wait_send(key, trace, thread, thread->out_state, thread->out_since, woken);
		thread->noted = thread->call != KD_CALL_NONE;
	}
	if (elapsed(woken, t) >= kd_wait_ns) {
		trace->awaited = KD_AWAITED_OTHER;
		trace->file.kind = 0;
		trace->wakers[0].from = KD_FROM_UNKNOWN;
		__builtin_memset(&trace->blocker, 0, sizeof(trace->blocker));
		wait_send(key, trace, thread, slept ? KD_READY_WOKEN : thread->out_state, woken, t);
		thread->noted = thread->call != KD_CALL_NONE;
	}
}

/* Handles a switch-in, or one in the past that was not reported (then task is NULL). */
static __always_inline void wait_end(u32 slot, struct task_struct *task, u64 t)
{
	struct kd_wait *wait = bpf_map_lookup_elem(&kd_waits, &slot);
	u32 key = scratch_key(SCRATCH_THREAD);
	struct kd_thread *thread = slot_thread(slot);
	struct kd_trace *trace;
	u64 ns;

	if (!wait || !thread)
		return;
	ns = elapsed(thread->out_since, t);
	trace = trace_begin(key, KD_TRACE_WAIT, thread->tgid, thread->tid, 0, 0);
	if (!trace)
		return;
	if (task) {
		kernel_stack_take(trace, task);
		sched_words_take(key, task);
		__builtin_memcpy(trace->comm, task->comm, KD_COMM_LEN);
	} else {
		bpf_get_current_comm(trace->comm, sizeof(trace->comm));
	}
	if (!thread->woken_at) /* of an earlier sleep: this one's wakeup was not reported */
		wait->request_ns = 0;
	if (state_is_blocked(thread->out_state))
		blocker_take(&trace->blocker, thread, wait);
	wait->request_ns = 0;
	if (ns >= kd_call_wait_ns && ns > wait->ns && call_class(thread->call) & KD_CLASS_TRACED) {
		wait->ns = ns;
		wait->n = trace->n_kernel;
		wait->n_sched = trace->n_sched;
		__builtin_memcpy(wait->sched, trace->sched, sizeof(wait->sched));
		__builtin_memcpy(wait->kernel, trace->kernel, sizeof(wait->kernel));
		wait->blocker = trace->blocker;
		wait->ended.from = KD_FROM_UNKNOWN;
		if (wait->last.at >= thread->out_since)
			wait->ended = wait->last;
		thread->noted = 1;
	}
	if (ns < kd_wait_ns || !window_is_open())
		return;
	if (thread->call == KD_CALL_NONE && task)
		trace->user_ip = regs_ip(task_user_regs(task));
	wait_report(slot, key, trace, thread, t);
}

static __always_inline bool wait_is_long(struct kd_thread *thread, u64 t)
{
	return KD_TRACES && kd_note_ns != KD_UNWANTED && thread->out_since &&
	       elapsed(thread->out_since, t) >= kd_note_ns;
}

static __noinline void wait_over(u32 slot, struct task_struct *task, u64 t)
{
	wait_end(slot, task, t);
}

/* Ends a wait whose switch-in was not reported: where the thread waited is no longer visible. */
TRACES_GLOBAL int wait_over_unreported(u32 slot, u64 t)
{
	wait_end(slot, NULL, t);
	return 0;
}

#endif
