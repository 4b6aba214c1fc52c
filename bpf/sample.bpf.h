/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Records of running code. */
#ifndef SAMPLE_BPF_H
#define SAMPLE_BPF_H

#include "trace.bpf.h"

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
	/* Not from the thread's record, which may not know of the call yet. */
	trace->call = bytes > 0 ? regs_call(current_user_regs()) : KD_CALL_NONE;
	if (trace->call < 0)
		trace->call = KD_CALL_NONE;
	else if (current_call_is_compat(NULL))
		trace->call |= KD_CALL_COMPAT;
	trace_user(trace, key, current_user_regs(), FOR_RECORD);
	trace_send(key, false);
}

#endif
