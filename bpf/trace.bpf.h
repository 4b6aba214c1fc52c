/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Common parts of the records of slow system calls, long waits and samples; and the samples. */
#ifndef TRACE_BPF_H
#define TRACE_BPF_H

#include "descriptor.bpf.h"
#include "stack.bpf.h"
#include "thread.bpf.h"
#include "window.bpf.h"

/* --- What a long wait was for --- */

/* The lock is noted when the thread goes to sleep (lock.bpf.h), the disk's request at wakeup. The
 * two are combined at switch-in, when the wait turns out to be long. */

static __always_inline bool awaits_disk(u32 awaited)
{
	return awaited == KD_AWAITED_DISK || awaited == KD_AWAITED_PAGE;
}

/* Notes the request that a thread woken at t waited for. Global, to be verified once. */
TRACES_GLOBAL int blocker_wake(u32 slot, u64 t)
{
	struct kd_wait *wait = bpf_map_lookup_elem(&kd_waits, &slot);
	const struct kd_completion *last = request_at(t);

	if (!wait)
		return 0;
	wait->request_ns = last ? last->ns : 0;
	wait->request_disk = last ? last->disk : 0;
	return 0;
}

/* Reads the current name of a target thread. */
static __always_inline void holder_name(char comm[KD_COMM_LEN], const struct kd_thread *holder)
{
	if (holder->died)
		__builtin_memcpy(comm, holder->comm, KD_COMM_LEN);
	else
		bpf_probe_read_kernel(comm, KD_COMM_LEN,
				      (char *)holder->task +
					      bpf_core_field_offset(struct task_struct, comm));
}

/* Lock of a thread's last sleep, if any. */
static __always_inline void blocker_take_lock(struct kd_blocker *blocker,
					      const struct kd_thread *thread)
{
	const struct kd_locked *locked = &thread->locked;
	struct kd_thread *holder;

	if (!locked->address)
		return;
	blocker->lock = locked->address;
	blocker->lock_kind = locked->kind;
	blocker->holder = locked->holder;
	blocker->holder_tgid = locked->holder_tgid;
	if (!locked->holder)
		return;
	holder = slot_thread(locked->slot);
	if (locked->holder_tgid)
		__builtin_memcpy(blocker->holder_comm, locked->holder_comm, KD_COMM_LEN);
	else if (locked->slot && holder && holder->tid == locked->holder)
		holder_name(blocker->holder_comm, holder);
}

/* Blocker of a thread's last sleep, which has ended. */
static __always_inline void blocker_take(struct kd_blocker *blocker, const struct kd_thread *thread,
					 const struct kd_wait *wait)
{
	blocker_take_lock(blocker, thread);
	if (!awaits_disk(thread->awaited) || !wait->request_ns)
		return;
	blocker->request_ns = wait->request_ns;
	if (bpf_core_type_exists(struct gendisk) && wait->request_disk)
		bpf_probe_read_kernel_str(blocker->disk, KD_DISK_NAME,
					  (char *)wait->request_disk +
						  bpf_core_field_offset(struct gendisk, disk_name));
}

/* --- Records --- */

/* Describes a descriptor. */
TRACES_GLOBAL int trace_file(u32 key, s32 fd, u64 file)
{
	struct kd_trace *trace = scratch_trace(key);

	if (!trace || !file)
		return 0;
	__builtin_memset(&trace->file, 0, sizeof(trace->file));
	trace->file.fd = fd;
	file_describe(&trace->file, file);
	return 0;
}

/* Begins a record of a thread with only the data common to all kinds. NULL: no scratch. */
static __always_inline struct kd_trace *trace_begin(u32 key, u32 type, u32 tgid, u32 tid, u64 start,
						    u64 end)
{
	struct kd_trace *trace = scratch_trace(key);

	if (!trace)
		return NULL;
	trace->type = type;
	trace->flags = 0;
	trace->tgid = tgid;
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
	trace->n_sched = 0;
	trace->awaited = KD_AWAITED_OTHER;
	trace->wakers[0].from = KD_FROM_UNKNOWN;
	trace->user_ip = trace->user_sp = 0;
	trace->file.kind = 0;
	__builtin_memset(&trace->blocker, 0, sizeof(trace->blocker));
	trace->path_at = 0;
	trace->path_size = 0;
	((struct kd_scratch *)trace)->copied_at = 0;
	return trace;
}

/* Counts a lost record in each window that would list it: waits where they end, calls where they
 * overlap. */
static __always_inline void trace_lost(const struct kd_trace *trace)
{
	u64 since = trace->type == KD_TRACE_WAIT ? trace->end : trace->start;
	struct overlap overlap;

	FOR_EACH_BANK(bank)
	{
		if (window_overlap(bank, since, trace->end, &overlap))
			__sync_fetch_and_add(&kd_windows[BOUNDED(bank, KD_BANKS)].traces_lost, 1);
	}
}

/* Sends a scratch record. The ring is read every few tens of milliseconds. The reader is woken
 * earlier if the ring is half full. */
TRACES_GLOBAL int trace_send(u32 key)
{
	struct kd_scratch *scratch = bpf_map_lookup_elem(&kd_scratches, &key);
	u64 size = __builtin_offsetof(struct kd_trace, kernel), flags = BPF_RB_NO_WAKEUP;

	if (!scratch)
		return 0;
	if (scratch->trace.flags & KD_TRACE_REGS)
		size = sizeof(struct kd_trace) + scratch->trace.size + scratch->trace.other_size +
		       scratch->trace.n_returns * sizeof(struct kd_return);
	else if (scratch->trace.n_kernel)
		size = __builtin_offsetof(struct kd_trace, regs);
	if (size > sizeof(*scratch))
		return 0;
	if (bpf_ringbuf_query(&kd_traces, BPF_RB_AVAIL_DATA) > kd_ring_half)
		flags = BPF_RB_FORCE_WAKEUP;
	if (bpf_ringbuf_output(&kd_traces, scratch, size, flags))
		trace_lost(&scratch->trace);
	if (kd_stack_share && scratch->copied_at)
		stack_charge(scratch);
	return 0;
}

static __always_inline bool window_is_open(void)
{
	u64 word = READ_ONCE(kd_word);

	if (word != KD_WORD_PAIRS)
		return word & KD_WORD_OPEN;
	FOR_EACH_BANK(bank)
	{
		if (READ_ONCE(kd_windows[BOUNDED(bank, KD_BANKS)].end) == KD_NEVER &&
		    kd_windows[BOUNDED(bank, KD_BANKS)].gen)
			return true;
	}
	return false;
}

/* Takes the user stack of the current thread, if user space has unwound it before or the budget
 * allows a copy. io_uring workers have none. */
static __always_inline void trace_user(struct kd_trace *trace, u32 key, const void *regs,
				       enum purpose purpose)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct kd_scratch *scratch = (struct kd_scratch *)trace;
	u64 now;

	if (!kd_user_bytes || BPF_CORE_READ(task, flags) & PF_IO_WORKER ||
	    !registers_take(trace, regs))
		return;
	trace->user_ip = trace->regs[KD_REG_IP];
	trace->user_sp = trace->regs[KD_REG_SP];
	if (cached_find(trace, key)) {
		trace->flags |= KD_TRACE_CACHED;
		return;
	}
	now = clock_now();
	if (stack_is_allowed(scratch, purpose, now)) {
		scratch->copied_at = now;
		scratch->purpose = purpose;
		user_stack_take(trace, key);
	} else {
		trace->flags |= KD_TRACE_LIMITED;
	}
}

/* --- Samples --- */

/* Samples what runs on this CPU. */
static __always_inline void sample_trace(void *ctx)
{
	u64 pid_tgid = bpf_get_current_pid_tgid(), t = clock_now();
	u32 key = scratch_key(SCRATCH_INTERRUPT);
	struct kd_trace *trace;
	long bytes = 0;

	if (!current_is_ours(pid_tgid) || !window_is_open())
		return;
	trace = trace_begin(key, KD_TRACE_SAMPLE, pid_tgid >> 32, (u32)pid_tgid, t, t);
	if (!trace)
		return;
	bpf_get_current_comm(trace->comm, sizeof(trace->comm));
	bytes = bpf_get_stack(ctx, trace->kernel, sizeof(trace->kernel), 0);
	trace->n_kernel = bytes > 0 ? bytes / sizeof(u64) : 0;
	trace->state = bytes > 0 ? KD_KERNEL : KD_USER;
	/* Reads the registers, because the thread's record may not have the call yet. */
	trace->call = bytes > 0 ? regs_call(current_user_regs()) : KD_CALL_NONE;
	if (trace->call < 0)
		trace->call = KD_CALL_NONE;
	else if (current_call_is_compat(NULL, true))
		trace->call |= KD_CALL_COMPAT;
	trace_user(trace, key, current_user_regs(), FOR_RECORD);
	trace_send(key);
}

#endif
