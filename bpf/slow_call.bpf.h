/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Records of slow system calls: those that end, and those still open when a window closes; and the
 * paths that they were given. */
#ifndef SLOW_CALL_BPF_H
#define SLOW_CALL_BPF_H

#include "mapped.bpf.h"
#include "trace.bpf.h"

/* --- Path arguments; of two, the first one --- */

/* Finds the path argument of a thread's call, and its starting directory. */
static __always_inline void trace_path_find(struct kd_trace *trace, u32 key, struct pt_regs *regs,
					    u64 task)
{
	u32 path = call_entry(trace->call, kd_call_paths, kd_compat_call_paths);
	u32 argument = path & KD_PATH_ARGUMENT;
	s32 fd;

	if (!path)
		return;
	trace->path_at = call_argument(regs, trace->call, argument);
	if (!(path & KD_PATH_IN_DIRECTORY))
		return;
	fd = (s32)call_argument(regs, trace->call, argument - 1);
	trace_file(key, fd, descriptor_file(task, fd));
}

/* Reads the path of the call from which the current thread returns, as it is now in memory; a
 * successful execve has discarded that. */
static __always_inline void trace_path(struct kd_trace *trace, u32 key)
{
	if (!trace->result && call_class(trace->call) & KD_CLASS_EXEC)
		return;
	trace_path_find(trace, key, current_user_regs(), bpf_get_current_task());
	if (trace->path_at)
		trace->path_size = bpf_probe_read_user_str(trace->path, KD_PATH_BYTES + 1,
							   (const void *)trace->path_at);
}

/* --- Records --- */

static __always_inline void trace_take_wait(struct kd_trace *trace, u32 slot)
{
	struct kd_wait *wait = bpf_map_lookup_elem(&kd_waits, &slot);

	if (!wait || !wait->ns)
		return;
	trace->waited = wait->ns;
	trace->n_kernel = wait->n;
	trace->flags |= KD_TRACE_WAITED;
	trace->n_sched = wait->n_sched;
	bpf_probe_read_kernel(trace->sched, sizeof(trace->sched), wait->sched);
	bpf_probe_read_kernel(trace->kernel, sizeof(trace->kernel), wait->kernel);
	trace->blocker = wait->blocker;
	trace->wakers[0] = wait->ended;
	trace->wakers[1].from = KD_FROM_UNKNOWN;
	wait->ns = 0;
}

/* What a call's time was until t, if it began while this was seen. */
static __always_inline void trace_take_times(struct kd_trace *trace, u32 slot, u64 t)
{
	struct kd_wait *wait = bpf_map_lookup_elem(&kd_waits, &slot);
	struct kd_thread *thread = slot_thread(slot);

	if (!wait || !thread || !thread->call_since)
		return;
	trace->flags |= KD_TRACE_TIMES;
	trace->ran_ns = elapsed(thread->call_since, t);
	trace->ready_ns = 0;
	trace->behind.ns = 0;
	if (wait->call_since != thread->call_since)
		return;
	trace->ran_ns = thread->run_ns - wait->run_ns;
	trace->ready_ns = thread->ready_ns - wait->ready_ns;
	trace->behind = wait->behind;
	if (thread->on_cpu)
		trace->ran_ns += elapsed(thread->run_since, t);
	else if (kd_is_ready(state_now(thread)))
		trace->ready_ns += elapsed(thread->since, t);
}

/* When a system call began, or else when tracing began. */
static __always_inline u64 call_began(struct kd_thread *thread)
{
	return thread->call_since ?: kd_traces_from;
}

/* A call ends that was slow, or whose waits were. If it continues as another, or was not slow
 * itself, only its stack is sent. Returns whether there is something to send, but for the kernel's
 * stack. Global, to be verified once. */
TRACES_GLOBAL int call_trace_make(u32 slot, u64 t, s64 result, u32 slow)
{
	struct kd_thread *thread = slot_thread(slot);
	u32 key = scratch_key(SCRATCH_THREAD);
	u32 alone = is_zero(slow) | is_zero(result ^ -ERESTART_RESTARTBLOCK);
	struct kd_trace *trace;

	if (!thread || !thread->tid) /* our own calls, see entry_measure() */
		return 0;
	thread->noted = 0;
	trace = trace_begin(key, KD_TRACE_CALL + alone * (KD_TRACE_STACK - KD_TRACE_CALL),
			    thread->tgid, thread->tid, call_began(thread), t);
	if (!trace)
		return 0;
	trace->since = thread->call_since;
	trace->call = thread->call;
	trace->result = result;
	if (!thread->call_since)
		trace->flags |= KD_TRACE_EARLIER;
	bpf_get_current_comm(trace->comm, sizeof(trace->comm));
	if (call_awaits(thread->call) & KD_AWAITED_AT_FILE) {
		s32 fd = (s32)call_argument(current_user_regs(), thread->call, 0);

		trace_file(key, fd, descriptor_file(bpf_get_current_task(), fd));
	}
	trace_path(trace, key);
	trace_take_wait(trace, slot);
	trace_take_times(trace, slot, t);
	if (call_is_at_futex(trace->call) && !trace->blocker.lock)
		trace->blocker.lock = call_argument(current_user_regs(), trace->call, 0);
	trace_user(trace, key, current_user_regs(), FOR_RECORD);
	return 1;
}

/* The kernel's stack needs the program's context, which a global function cannot have of each kind
 * of program. */
static __noinline void call_trace_send(void *ctx, u32 slot, u64 t, s64 result, u32 slow)
{
	u32 key = scratch_key(SCRATCH_THREAD);
	struct kd_trace *trace;
	long bytes;

	if (!call_trace_make(slot, t, result, slow))
		return;
	trace = scratch_trace(key);
	if (!trace)
		return;
	if (!(trace->flags & (KD_TRACE_WAITED | KD_TRACE_LIMITED)) && kd_kernel_stacks) {
		bytes = bpf_get_stack(ctx, trace->kernel, sizeof(trace->kernel), 0);
		trace->n_kernel = bytes > 0 ? bytes / sizeof(u64) : 0;
	}
	trace_send(key);
}

/* A call outside windows: drops its wait, which is not the next call's. */
static __noinline void call_trace_drop(u32 slot)
{
	struct kd_wait *wait = bpf_map_lookup_elem(&kd_waits, &slot);
	struct kd_thread *thread = slot_thread(slot);

	if (!wait || !thread)
		return;
	wait->ns = 0;
	thread->noted = 0;
}

/* Called at the end of a system call, before its thread forgets it. A call that was open when
 * the last window ended belongs to that window. */
static __always_inline void call_trace(void *ctx, struct event event, u8 class, s64 result)
{
	struct kd_thread *thread = event.thread;
	u64 beyond = elapsed(call_began(thread), event.t) - kd_call_ns;
	u32 slow = kd_call_ns == KD_UNWANTED ? 0 : is_set(class & KD_CLASS_TRACED) & ~beyond >> 63;

	if (unlikely(class & KD_CLASS_MAPS) && result >= 0)
		maps_trace(thread->tgid, thread->tid, event.t, false);
	if (kd_note_ns == KD_UNWANTED || likely(!thread->noted && !slow))
		return;
	if (event.record || call_began(thread) < event.edge)
		call_trace_send(ctx, event.slot, event.t, result, slow);
	else if (thread->noted)
		call_trace_drop(event.slot);
}

/* A call that could have continued has ended; its stack was sent while it was open. */
TRACES_GLOBAL int call_trace_dropped(u32 slot)
{
	struct kd_thread *thread = slot_thread(slot);
	u32 key = scratch_key(SCRATCH_THREAD);
	struct kd_trace *trace;
	u64 began;

	if (!thread || !window_is_open())
		return 0;
	began = thread->restart_since ?: kd_traces_from;
	if (elapsed(began, thread->restart_at) < kd_call_ns)
		return 0;
	trace = trace_begin(key, KD_TRACE_CALL, thread->tgid, thread->tid, began,
			    thread->restart_at);
	if (!trace)
		return 0;
	trace->since = thread->restart_since;
	if (!thread->restart_since)
		trace->flags |= KD_TRACE_EARLIER;
	trace->call = thread->restart_call;
	trace->result = -EINTR;
	__builtin_memcpy(trace->comm, thread->comm, KD_COMM_LEN);
	return trace_send(key);
}

/* Iterator: a slow call that has not ended. User space copies the stack. */
static __always_inline void open_call_trace(struct task_struct *task)
{
	struct target target;
	struct kd_trace *trace;
	u64 t = clock_now();

	if (!task_is_ours(task->pid, task->tgid) || task->exit_state)
		return;
	target = target_find(task->pid, (u64)task);
	if (!target.thread)
		return;
	thread_state(target.thread);
	if (target.thread->call < 0 || !(call_class(target.thread->call) & KD_CLASS_TRACED) ||
	    elapsed(call_began(target.thread), t) < kd_call_ns)
		return;
	trace = trace_begin(SCRATCH_ITERATOR, KD_TRACE_OPEN, task->tgid, task->pid,
			    call_began(target.thread), t);
	if (!trace)
		return;
	trace->since = target.thread->call_since;
	trace->call = target.thread->call;
	trace->cpu = target.thread->cpu;
	if (call_awaits(trace->call) & KD_AWAITED_AT_FILE) {
		s32 fd = (s32)task_first_argument(task, trace->call & KD_CALL_COMPAT);

		trace_file(SCRATCH_ITERATOR, fd, descriptor_file(target.thread->task, fd));
	}
	trace_path_find(trace, SCRATCH_ITERATOR, task_user_regs(task), target.thread->task);
	if (!target.thread->on_cpu && state_is_blocked(state_now(target.thread)))
		blocker_take_lock(&trace->blocker, target.thread);
	if (call_is_at_futex(trace->call) && !trace->blocker.lock)
		trace->blocker.lock = task_first_argument(task, trace->call & KD_CALL_COMPAT);
	if (!target.thread->on_cpu && target.thread->out_since) {
		trace->waited = elapsed(target.thread->out_since, t);
		trace->flags |= KD_TRACE_WAITED;
	}
	__builtin_memcpy(trace->comm, task->comm, KD_COMM_LEN);
	trace_take_times(trace, target.slot, t);
	if (!target.thread->call_since)
		trace->flags |= KD_TRACE_EARLIER;
	kernel_stack_take(trace, task);
	if (trace->flags & KD_TRACE_WAITED)
		sched_words_take(SCRATCH_ITERATOR, task);
	if (registers_take(trace, task_user_regs(task))) {
		stack_bounds(trace, task);
		trace->size = trace->other_size = 0;
		uprobes_undo(trace, SCRATCH_ITERATOR, task);
		trace->flags |= KD_TRACE_REGS;
	}
	trace_send(SCRATCH_ITERATOR);
}

#endif
