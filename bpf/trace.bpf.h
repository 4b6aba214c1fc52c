/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Traces: records of slow system calls, of long waits and of running code, each
 * with its stacks.
 *
 * A wait's kernel stack is taken when it is over, at switch-in: it still shows
 * where the thread waited, and only then it is known to have been long. The stack
 * of the user is taken when its thread is current: at the end of the system call,
 * or when it is taken off its CPU in user mode. */
#ifndef TRACE_BPF_H
#define TRACE_BPF_H

#include "stack.bpf.h"
#include "window.bpf.h"

/* A record without anything that not all kinds have. NULL: there is no scratch. */
static __always_inline struct kd_trace *trace_begin(u32 key, u32 type, u32 tid, u64 start, u64 end)
{
	struct kd_trace *trace = scratch_trace(key);

	if (!trace)
		return NULL;
	trace->type = type;
	trace->flags = 0;
	trace->tid = tid;
	trace->cpu = bpf_get_smp_processor_id();
	trace->start = start;
	trace->end = end;
	trace->since = start;
	trace->waited = 0;
	trace->result = 0;
	trace->call = KD_CALL_NONE;
	trace->state = 0;
	trace->n_kernel = 0;
	trace->ended_by = 0;
	trace->user_ip = 0;
	return trace;
}

static __always_inline bool window_is_open(void)
{
	return READ_ONCE(kd_word) & KD_WORD_OPEN;
}

/* The current thread's user stack, if the rate allows one. Workers of io_uring have
 * none. */
static __always_inline void trace_user(struct kd_trace *trace, u32 key, const void *regs, u64 *due)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	if (!kd_user_bytes || BPF_CORE_READ(task, flags) & PF_IO_WORKER)
		return;
	if (stack_is_allowed(trace->end, due))
		user_stack_take(trace, key, regs);
	else
		trace->flags |= KD_TRACE_LIMITED;
}

/* --- Waits --- */

/* A sleeper is woken by the current thread, or an interrupt. */
static __noinline void wait_woken(void *ctx, u32 slot, u64 t)
{
	struct kd_wait *wait = bpf_map_lookup_elem(&kd_waits, &slot);
	struct kd_thread *thread = slot_thread(slot);

	if (!wait || !thread)
		return;
	thread->woken_at = t;
	if (t - thread->out_since < kd_wait_ns)
		return;
	if (in_interrupt(ctx)) {
		wait->ended_by = 0;
		__builtin_memcpy(wait->ended_by_comm, "interrupt\0\0\0\0\0\0", KD_COMM_LEN);
	} else {
		wait->ended_by = (u32)bpf_get_current_pid_tgid();
		bpf_get_current_comm(wait->ended_by_comm, sizeof(wait->ended_by_comm));
	}
}

/* Switched out in user mode: the stack is kept for the case that the wait gets
 * long. */
static __noinline void wait_begin_in_user(struct kd_thread *thread, u64 t)
{
	u32 key = scratch_key(SCRATCH_THREAD);
	struct kd_trace *trace;

	if (!window_is_open())
		return;
	trace = trace_begin(key, KD_TRACE_STACK, thread->tid, t, t);
	if (!trace)
		return;
	trace_user(trace, key, current_user_regs(), &kd_stack_due[1]);
	if (trace->flags)
		trace_send(key, false);
}

static __always_inline void wait_begin(struct event event, u32 state)
{
	struct kd_thread *thread = event.thread;

	thread->out_since = event.t;
	thread->out_state = state;
	thread->woken_at = 0;
	if (kd_wait_ns != ~0ULL && thread->call == KD_CALL_NONE && kd_user_bytes)
		wait_begin_in_user(thread, event.t);
}

/* One part of a wait: asleep, or ready. Its kernel stack is in the scratch. */
static __always_inline void wait_send(u32 key, struct kd_trace *trace, struct kd_thread *thread,
				      u32 state, u64 start, u64 end)
{
	trace->start = start;
	trace->end = end;
	trace->state = state;
	trace->call = thread->call;
	trace->since = thread->call == KD_CALL_NONE ? thread->out_since : thread->call_since;
	trace_send(key, false);
}

static __always_inline void wait_report(u32 key, struct kd_trace *trace, struct kd_thread *thread,
					struct kd_wait *wait, u64 t)
{
	u64 woken = thread->woken_at ?: thread->out_since;
	bool slept = thread->out_state != KD_READY_PREEMPTED;

	if (slept && woken - thread->out_since >= kd_wait_ns) {
		trace->ended_by = wait->ended_by;
		__builtin_memcpy(trace->ended_by_comm, wait->ended_by_comm, KD_COMM_LEN);
		wait_send(key, trace, thread, thread->out_state, thread->out_since, woken);
		thread->noted = thread->call != KD_CALL_NONE;
	}
	if (t - woken >= kd_wait_ns) {
		trace->ended_by = 0;
		trace->ended_by_comm[0] = 0;
		wait_send(key, trace, thread, slept ? KD_READY_WOKEN : KD_READY_PREEMPTED, woken,
			  t);
		thread->noted = thread->call != KD_CALL_NONE;
	}
}

/* A thread is switched in, unless it has been (then task is NULL). */
static __always_inline void wait_end(u32 slot, struct task_struct *task, u64 t)
{
	struct kd_wait *wait = bpf_map_lookup_elem(&kd_waits, &slot);
	u32 key = scratch_key(SCRATCH_THREAD);
	struct kd_thread *thread = slot_thread(slot);
	struct kd_trace *trace;
	u64 ns;

	if (!wait || !thread)
		return;
	ns = t - thread->out_since;
	trace = trace_begin(key, KD_TRACE_WAIT, thread->tid, 0, 0);
	if (!trace)
		return;
	if (task) {
		kernel_stack_take(trace, task);
		__builtin_memcpy(trace->comm, task->comm, KD_COMM_LEN);
	} else {
		bpf_get_current_comm(trace->comm, sizeof(trace->comm));
	}
	if (ns >= kd_call_wait_ns && ns > wait->ns && call_class(thread->call) & KD_CLASS_TRACED) {
		wait->ns = ns;
		wait->n = trace->n_kernel;
		__builtin_memcpy(wait->kernel, trace->kernel, sizeof(wait->kernel));
		thread->noted = 1;
	}
	if (ns < kd_wait_ns || !window_is_open())
		return;
	if (thread->call == KD_CALL_NONE && task)
		trace->user_ip = regs_ip(task_user_regs(task));
	wait_report(key, trace, thread, wait, t);
}

static __always_inline bool wait_is_long(struct kd_thread *thread, u64 t)
{
	return kd_note_ns != ~0ULL && thread->out_since && t - thread->out_since >= kd_note_ns;
}

static __noinline void wait_over(u32 slot, struct task_struct *task, u64 t)
{
	wait_end(slot, task, t);
}

/* The switch was not reported; where the thread waited is not to be seen any more. */
__noinline int wait_over_unreported(u32 slot, u64 t)
{
	wait_end(slot, NULL, t);
	return 0;
}

/* --- System calls --- */

static __always_inline void trace_take_wait(struct kd_trace *trace, u32 slot)
{
	struct kd_wait *wait = bpf_map_lookup_elem(&kd_waits, &slot);

	if (!wait || !wait->ns)
		return;
	trace->waited = wait->ns;
	trace->n_kernel = wait->n;
	trace->flags |= KD_TRACE_WAITED;
	__builtin_memcpy(trace->kernel, wait->kernel, sizeof(trace->kernel));
	wait->ns = 0;
}

/* When a system call began, or since when we know of it. */
static __always_inline u64 call_began(struct kd_thread *thread)
{
	return thread->call_since ?: kd_traces_from;
}

/* A call ends that was slow, or whose waits were. If it goes on as another, or was
 * not slow itself, its stack is sent alone. */
static __noinline void call_trace_send(void *ctx, u32 slot, u64 t, s64 result, bool slow)
{
	struct kd_thread *thread = slot_thread(slot);
	u32 key = scratch_key(SCRATCH_THREAD);
	bool alone = !slow || result == -ERESTART_RESTARTBLOCK;
	struct kd_trace *trace;
	long bytes;

	if (!thread)
		return;
	thread->noted = 0;
	trace = trace_begin(key, alone ? KD_TRACE_STACK : KD_TRACE_CALL, thread->tid,
			    call_began(thread), t);
	if (!trace)
		return;
	trace->since = thread->call_since;
	trace->call = thread->call;
	trace->result = result;
	if (!thread->call_since)
		trace->flags |= KD_TRACE_EARLIER;
	bpf_get_current_comm(trace->comm, sizeof(trace->comm));
	trace_take_wait(trace, slot);
	trace_user(trace, key, current_user_regs(), &kd_stack_due[0]);
	if (!(trace->flags & (KD_TRACE_WAITED | KD_TRACE_LIMITED)) && kd_kernel_stacks) {
		bytes = bpf_get_stack(ctx, trace->kernel, sizeof(trace->kernel), 0);
		trace->n_kernel = bytes > 0 ? bytes / sizeof(u64) : 0;
	}
	trace_send(key, false);
}

_Static_assert(__builtin_offsetof(struct kd_trace, kernel) + sizeof(struct kd_mapped) <=
		       sizeof(struct kd_scratch),
	       "what was mapped fits into a scratch record");

/* It may go on behind the trace. */
static __always_inline struct kd_mapped *trace_mapped(struct kd_trace *trace)
{
	return (struct kd_mapped *)trace->kernel;
}

/* The path of a file in its file system. Global, to be verified once. */
__noinline int mapped_path(u32 key, u64 file)
{
	struct dentry *dentry = BPF_CORE_READ((struct file *)file, f_path.dentry), *parent;
	struct kd_trace *trace = scratch_trace(key);
	struct kd_mapped *mapped;
	const unsigned char *name;
	long size;
	u32 n;

	if (!trace)
		return 0;
	mapped = trace_mapped(trace);
	for (n = 0; n < KD_PATH_NAMES; n++) {
		parent = BPF_CORE_READ(dentry, d_parent);
		if (!parent || parent == dentry) {
			mapped->whole = !!parent;
			break;
		}
		name = BPF_CORE_READ(dentry, d_name.name);
		size = bpf_probe_read_kernel_str(mapped->names[n], KD_PATH_NAME, name);
		if (size <= 1 || size == KD_PATH_NAME) /* it may have been cut */
			break;
		dentry = parent;
	}
	mapped->n = n;
	return 0;
}

/* The file of a descriptor of the current thread. */
static __always_inline struct file *descriptor_file(u32 fd)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file *file = NULL, **files = BPF_CORE_READ(table, fd);

	if (fd < BPF_CORE_READ(table, max_fds))
		bpf_probe_read_kernel(&file, sizeof(file), &files[fd]);
	return file;
}

static __always_inline void mapped_file(struct kd_mapped *mapped, u32 key, u32 fd)
{
	struct file *file = descriptor_file(fd);
	struct inode *inode = BPF_CORE_READ(file, f_inode);

	mapped->kind = KD_MAPPED_FILE;
	mapped->inode = BPF_CORE_READ(inode, i_ino);
	mapped->device = BPF_CORE_READ(inode, i_sb, s_dev);
	mapped_path(key, (u64)file);
}

/* What the current system call, which is about to return, has mapped. */
static __always_inline bool mapped_by_call(struct kd_mapped *mapped, u32 key)
{
	struct pt_regs *from = current_user_regs();
	struct user_regs regs;

	if (!from || bpf_probe_read_kernel(&regs, sizeof(regs), from))
		return false;
	mapped->kind = KD_MAPPED_CHANGED;
#if defined(__TARGET_ARCH_x86)
	mapped->start = regs.di;
	mapped->length = regs.si;
	if (regs_call(from) != NR_MMAP)
		return true;
	mapped->start = regs.ax;
	mapped->offset = regs.r9;
	mapped->kind = KD_MAPPED_NO_FILE;
	if (!(regs.r10 & MAP_ANONYMOUS))
		mapped_file(mapped, key, (u32)regs.r8);
#else
	mapped->start = BPF_CORE_READ(from, orig_x0);
	mapped->length = regs.regs[1];
	if (regs_call(from) != NR_MMAP)
		return true;
	mapped->start = regs.regs[0];
	mapped->offset = regs.regs[5];
	mapped->kind = KD_MAPPED_NO_FILE;
	if (!(regs.regs[3] & MAP_ANONYMOUS))
		mapped_file(mapped, key, (u32)regs.regs[4]);
#endif
	return true;
}

#define KD_MAPS_NS 1000000ULL

/* User space should look soon, but not be woken up by each of many. */
static __always_inline u64 maps_wakeup(u64 t)
{
	u64 before = READ_ONCE(kd_maps_told);

	if (t - before < KD_MAPS_NS && t >= before)
		return BPF_RB_NO_WAKEUP;
	WRITE_ONCE(kd_maps_told, t);
	return BPF_RB_FORCE_WAKEUP;
}

/* Code may have been mapped: all of it, or by the current system call. User space is
 * woken up, and told which file that was: it may have gone again before it is looked
 * for. */
static __noinline void maps_trace(u32 tid, u64 t, bool all)
{
	u32 key = scratch_key(SCRATCH_THREAD);
	struct kd_mapped *mapped;
	struct kd_trace *trace;
	u64 size;

	if (!kd_user_bytes)
		return;
	if (!all && !(call_third_argument(current_user_regs()) & PROT_EXEC))
		return;
	trace = trace_begin(key, KD_TRACE_MAPS, tid, t, t);
	if (!trace)
		return;
	mapped = trace_mapped(trace);
	__builtin_memset(mapped, 0, __builtin_offsetof(struct kd_mapped, names));
	mapped->kind = KD_MAPPED_ALL;
	if (!all && !mapped_by_call(mapped, key))
		return;
	size = mapped->n;
	if (size > KD_PATH_NAMES)
		return;
	size = size * KD_PATH_NAME + __builtin_offsetof(struct kd_trace, kernel) +
	       __builtin_offsetof(struct kd_mapped, names);
	if (bpf_ringbuf_output(&kd_traces, trace, size, maps_wakeup(t)))
		__sync_fetch_and_add(&kd_traces_lost, 1);
}

/* A call in no window: its wait is not the next one's. */
static __noinline void call_trace_drop(u32 slot)
{
	struct kd_wait *wait = bpf_map_lookup_elem(&kd_waits, &slot);
	struct kd_thread *thread = slot_thread(slot);

	if (!wait || !thread)
		return;
	wait->ns = 0;
	thread->noted = 0;
}

/* To be called when a system call ends, before its thread forgets it. One that was
 * going on when the last window ended is that window's. */
static __always_inline void call_trace(void *ctx, struct event event, u8 class, s64 result)
{
	struct kd_thread *thread = event.thread;
	bool slow = kd_call_ns != ~0ULL && class & KD_CLASS_TRACED &&
		    event.t - call_began(thread) >= kd_call_ns;

	if (unlikely(class & KD_CLASS_MAPS) && result >= 0)
		maps_trace(thread->tid, event.t, false);
	if (kd_note_ns == ~0ULL || likely(!thread->noted && !slow))
		return;
	if (event.record || call_began(thread) < event.edge)
		call_trace_send(ctx, event.slot, event.t, result, slow);
	else if (thread->noted)
		call_trace_drop(event.slot);
}

/* A call that could have gone on has ended; its stack was sent when that was open. */
__noinline int call_trace_dropped(u32 slot)
{
	struct kd_thread *thread = slot_thread(slot);
	u32 key = scratch_key(SCRATCH_THREAD);
	struct kd_trace *trace;
	u64 began;

	if (!thread || !window_is_open())
		return 0;
	began = thread->restart_since ?: kd_traces_from;
	if (thread->restart_at - began < kd_call_ns)
		return 0;
	trace = trace_begin(key, KD_TRACE_CALL, thread->tid, began, thread->restart_at);
	if (!trace)
		return 0;
	trace->since = thread->restart_since;
	if (!thread->restart_since)
		trace->flags |= KD_TRACE_EARLIER;
	trace->call = thread->restart_call;
	trace->result = -EINTR;
	__builtin_memcpy(trace->comm, thread->comm, KD_COMM_LEN);
	return trace_send(key, false);
}

/* --- What is going on --- */

/* For the iterator: a slow call that has not ended. User space copies the stack. */
static __always_inline void open_call_trace(struct task_struct *task)
{
	struct target target;
	struct kd_trace *trace;
	u64 t = clock_now();

	if (task->tgid != kd_tgid || task->exit_state)
		return;
	target = target_find(task->pid, (u64)task);
	if (!target.thread)
		return;
	thread_state(target.thread);
	if (target.thread->call < 0 || !(call_class(target.thread->call) & KD_CLASS_TRACED) ||
	    t - call_began(target.thread) < kd_call_ns)
		return;
	trace = trace_begin(SCRATCH_ITERATOR, KD_TRACE_OPEN, task->pid, call_began(target.thread),
			    t);
	if (!trace)
		return;
	trace->since = target.thread->call_since;
	trace->call = target.thread->call;
	trace->cpu = target.thread->cpu;
	if (!target.thread->on_cpu && target.thread->out_since) {
		trace->waited = t - target.thread->out_since;
		trace->flags |= KD_TRACE_WAITED;
	}
	__builtin_memcpy(trace->comm, task->comm, KD_COMM_LEN);
	if (!target.thread->call_since)
		trace->flags |= KD_TRACE_EARLIER;
	kernel_stack_take(trace, task);
	if (registers_take(trace, task_user_regs(task))) {
		stack_bounds(trace, task);
		trace->size = trace->other_size = 0;
		trace->flags |= KD_TRACE_REGS;
	}
	trace_send(SCRATCH_ITERATOR, false);
}

/* A sample of what is running on this CPU. */
static __always_inline void sample_trace(void *ctx)
{
	u64 pid_tgid = bpf_get_current_pid_tgid(), t = clock_now();
	u32 key = scratch_key(SCRATCH_INTERRUPT);
	struct kd_trace *trace;
	long bytes = 0;

	if (pid_tgid >> 32 != kd_tgid || !window_is_open())
		return;
	trace = trace_begin(key, KD_TRACE_SAMPLE, (u32)pid_tgid, t, t);
	if (!trace)
		return;
	bpf_get_current_comm(trace->comm, sizeof(trace->comm));
	bytes = bpf_get_stack(ctx, trace->kernel, sizeof(trace->kernel), 0);
	trace->n_kernel = bytes > 0 ? bytes / sizeof(u64) : 0;
	trace->state = bytes > 0 ? KD_KERNEL : KD_USER;
	/* Not what the thread's record says: this may be before it knows of the call. */
	trace->call = bytes > 0 ? regs_call(current_user_regs()) : KD_CALL_NONE;
	if (trace->call < 0)
		trace->call = KD_CALL_NONE;
	trace_user(trace, key, current_user_regs(), &kd_stack_due[0]);
	trace_send(key, false);
}

#endif
