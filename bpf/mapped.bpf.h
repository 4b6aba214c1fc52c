/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Records of code that the target maps, which user space needs to unwind user stacks. */
#ifndef MAPPED_BPF_H
#define MAPPED_BPF_H

#include "trace.bpf.h"

_Static_assert(__builtin_offsetof(struct kd_trace, kernel) + sizeof(struct kd_mapped) <=
		       sizeof(struct kd_scratch),
	       "what was mapped fits into a scratch record");

/* Size of a record without names. */
#define MAPPED_SIZE                                                                                \
	(__builtin_offsetof(struct kd_trace, kernel) + __builtin_offsetof(struct kd_mapped, names))

/* It may extend beyond the trace. */
static __always_inline struct kd_mapped *trace_mapped(struct kd_trace *trace)
{
	return (struct kd_mapped *)trace->kernel;
}

/* Reads the name of a directory entry behind those of its path that are there. Returns the
 * address of its parent; 0: the path ends here. Global, to be verified once and not for each. */
TRACES_GLOBAL u64 mapped_name(u32 key, u64 address)
{
	struct dentry *dentry = (struct dentry *)address, *parent = BPF_CORE_READ(dentry, d_parent);
	struct kd_trace *trace = scratch_trace(key);
	struct kd_mapped *mapped;
	long size;
	u32 n;

	if (!trace)
		return 0;
	mapped = trace_mapped(trace);
	if (!parent || parent == dentry) {
		mapped->whole = !!parent;
		return 0;
	}
	n = mapped->n;
	size = bpf_probe_read_kernel_str(mapped->names[BOUNDED(n, KD_PATH_NAMES)], KD_PATH_NAME,
					 BPF_CORE_READ(dentry, d_name.name));
	if (size <= 1 || size == KD_PATH_NAME) /* it may have been truncated */
		return 0;
	mapped->n = n + 1;
	return (u64)parent;
}

/* Reads the path of a file in its file system. Global, to be verified once. */
TRACES_GLOBAL int mapped_path(u32 key, u64 file)
{
	u64 dentry = (u64)BPF_CORE_READ((struct file *)file, f_path.dentry);
	struct kd_trace *trace = scratch_trace(key);

	if (!trace)
		return 0;
	trace_mapped(trace)->n = 0;
	for (u32 n = 0; n < KD_PATH_NAMES; n++) {
		dentry = mapped_name(key, dentry);
		if (!dentry)
			break;
	}
	return 0;
}

static __always_inline void mapped_file(struct kd_mapped *mapped, u32 key, u32 fd)
{
	struct file *file = (struct file *)descriptor_file(bpf_get_current_task(), fd);
	struct inode *inode = BPF_CORE_READ(file, f_inode);

	mapped->kind = KD_MAPPED_FILE;
	mapped->inode = BPF_CORE_READ(inode, i_ino);
	mapped->device = BPF_CORE_READ(inode, i_sb, s_dev);
	mapped_path(key, (u64)file);
}

/* Reads what the current system call, about to return, has mapped. */
static __always_inline bool mapped_by_call(struct kd_mapped *mapped, u32 key)
{
	struct pt_regs *from = current_user_regs();
	struct user_regs regs;

	if (!from || bpf_probe_read_kernel(&regs, sizeof(regs), from))
		return false;
	if (current_call_is_compat(NULL, true)) /* other registers: read all mappings again */
		return true;
	mapped->kind = KD_MAPPED_CHANGED;
#if defined(__TARGET_ARCH_x86)
	mapped->start = regs.di;
#else
	mapped->start = BPF_CORE_READ(from, orig_x0);
#endif
	mapped->length = regs.REG_2;
	if (regs_call(from) != NR_MMAP)
		return true;
	mapped->start = regs.REG_RESULT;
	mapped->offset = regs.REG_6;
	mapped->kind = KD_MAPPED_NO_FILE;
	if (!(regs.REG_4 & MAP_ANONYMOUS))
		mapped_file(mapped, key, (u32)regs.REG_5);
	return true;
}

#define KD_MAPS_NS 1000000ULL

/* User space should look soon, but not be woken for each of many. */
static __always_inline u64 maps_wakeup(u64 t)
{
	u64 before = READ_ONCE(kd_maps_reported);

	if (t - before < KD_MAPS_NS && t >= before)
		return BPF_RB_NO_WAKEUP;
	WRITE_ONCE(kd_maps_reported, t);
	return BPF_RB_FORCE_WAKEUP;
}

/* Code may have been mapped: all of it, or by the current system call. Wakes user space and
 * names the file, which may be unmapped before user space looks. Global, to be verified once. */
TRACES_GLOBAL int maps_trace(u32 tgid, u32 tid, u64 t, bool all)
{
	u32 key = scratch_key(SCRATCH_THREAD);
	struct kd_mapped *mapped;
	struct kd_trace *trace;
	u64 size;

	if (!kd_user_bytes)
		return 0;
	if (!all && !(call_argument(current_user_regs(), 0, 2) & PROT_EXEC))
		return 0;
	mapped_at_set(tgid, t);
	trace = trace_begin(key, KD_TRACE_MAPS, tgid, tid, t, t);
	if (!trace)
		return 0;
	mapped = trace_mapped(trace);
	__builtin_memset(mapped, 0, __builtin_offsetof(struct kd_mapped, names));
	mapped->kind = KD_MAPPED_ALL;
	if (!all && !mapped_by_call(mapped, key))
		return 0;
	size = mapped->n;
	if (size > KD_PATH_NAMES)
		return 0;
	size = size * KD_PATH_NAME + MAPPED_SIZE;
	if (bpf_ringbuf_output(&kd_traces, trace, size, maps_wakeup(t)))
		__sync_fetch_and_add(&kd_maps_lost, 1);
	return 0;
}

/* With several processes: a process begins, with its parent's mappings, or ends. Not urgent: its
 * stacks are resolved later. */
static __noinline void maps_process(u32 tgid, u32 kind, u32 parent)
{
	u32 key = scratch_key(SCRATCH_THREAD);
	struct kd_mapped *mapped;
	struct kd_trace *trace;
	u64 t = clock_now();

	if (!kd_user_bytes)
		return;
	trace = trace_begin(key, KD_TRACE_MAPS, tgid, tgid, t, t);
	if (!trace)
		return;
	mapped = trace_mapped(trace);
	__builtin_memset(mapped, 0, __builtin_offsetof(struct kd_mapped, names));
	mapped->kind = kind;
	mapped->start = parent;
	if (bpf_ringbuf_output(&kd_traces, trace, MAPPED_SIZE, BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&kd_maps_lost, 1);
}

#endif
