/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Path arguments of system calls: for traces only. If there are two, the first one. */
#ifndef PATH_BPF_H
#define PATH_BPF_H

#include "trace.bpf.h"

/* enum kd_path; 0: no path. */
static __always_inline u32 call_path(s32 call)
{
	u64 number = (u32)call;

	barrier_var(number);
	if (number < KD_CLASSES)
		return kd_call_paths[number];
	number ^= KD_CALL_COMPAT;
	barrier_var(number);
	return number < KD_CLASSES ? kd_compat_call_paths[number] : 0;
}

/* Finds the path argument of a thread's call, and its starting directory. */
static __always_inline void trace_path_find(struct kd_trace *trace, u32 key, struct pt_regs *regs,
					    u64 task)
{
	u32 path = call_path(trace->call), argument = path & KD_PATH_ARGUMENT;
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

#endif
