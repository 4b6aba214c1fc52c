// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* The programs: a table of contents. What they do is in the headers. */
#include "kernel_types.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "call.bpf.h"
#include "irq.bpf.h"
#include "sched.bpf.h"
#include "seed.bpf.h"
#include "trigger.bpf.h"
#include "upcall.bpf.h"

/* The kernel knows no name for "Apache-2.0 or GPL-2.0": to it they are the
 * latter's. */
char LICENSE[] SEC("license") = "GPL";

/* System calls: raw tracepoints with BTF, or the classic ones where the kernel
 * lets the former be preempted. */
SEC("?tp_btf/sys_enter") int BPF_PROG(kd_sys_enter, struct pt_regs *regs, long id)
{
	call_enter(id);
	return 0;
}

SEC("?tp_btf/sys_exit") int BPF_PROG(kd_sys_exit, struct pt_regs *regs, long ret)
{
	call_exit(ctx, ret);
	return 0;
}

SEC("?tp/raw_syscalls/sys_enter") int kd_sys_enter_classic(struct trace_event_raw_sys_enter *ctx)
{
	call_enter(ctx->id);
	return 0;
}

SEC("?tp/raw_syscalls/sys_exit") int kd_sys_exit_classic(struct trace_event_raw_sys_exit *ctx)
{
	call_exit(ctx, ctx->ret);
	return 0;
}

SEC("?tp_btf/sched_switch")
int BPF_PROG(kd_sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	thread_switch(preempt, prev, next, switch_prev_state(ctx, prev));
	return 0;
}

SEC("?tp_btf/sched_waking") int BPF_PROG(kd_sched_waking, struct task_struct *task)
{
	thread_wake(ctx, task);
	return 0;
}

SEC("?tp_btf/sched_wakeup") int BPF_PROG(kd_sched_wakeup, struct task_struct *task)
{
	thread_wake(ctx, task);
	return 0;
}

SEC("?tp_btf/sched_process_fork")
int BPF_PROG(kd_sched_process_fork, struct task_struct *parent, struct task_struct *child)
{
	thread_fork(child);
	return 0;
}

SEC("?tp_btf/sched_process_exec")
int BPF_PROG(kd_sched_process_exec, struct task_struct *task, u32 old_tid)
{
	thread_exec(task, old_tid);
	if (kd_tracing && task->tgid == kd_tgid)
		maps_trace(task->pid, clock_now(), true);
	return 0;
}

SEC("?tp_btf/irq_handler_entry") int BPF_PROG(kd_irq_handler_entry)
{
	irq_enter(true);
	return 0;
}

SEC("?tp_btf/irq_handler_exit")
int BPF_PROG(kd_irq_handler_exit, int irq, struct irqaction *action, int ret)
{
	line_exit(irq, action, ret);
	return 0;
}

SEC("?tp_btf/softirq_entry") int BPF_PROG(kd_softirq_entry)
{
	irq_enter(false);
	return 0;
}

SEC("?tp_btf/softirq_exit") int BPF_PROG(kd_softirq_exit, unsigned int vector)
{
	softirq_exit(vector);
	return 0;
}

SEC("?tp_btf/nmi_handler") int BPF_PROG(kd_nmi_handler, void *handler, s64 ns)
{
	nmi_handled(ns);
	return 0;
}

#define VECTOR(name, vector)                                                                       \
	SEC("?tp_btf/" #name "_entry") int BPF_PROG(kd_##name##_entry)                             \
	{                                                                                          \
		irq_enter(true);                                                                   \
		return 0;                                                                          \
	}                                                                                          \
	SEC("?tp_btf/" #name "_exit") int BPF_PROG(kd_##name##_exit)                               \
	{                                                                                          \
		vector_exit(vector);                                                               \
		return 0;                                                                          \
	}

VECTOR(local_timer, KD_VECTOR_LOCAL_TIMER)
VECTOR(reschedule, KD_VECTOR_RESCHEDULE)
VECTOR(call_function, KD_VECTOR_CALL_FUNCTION)
VECTOR(call_function_single, KD_VECTOR_CALL_FUNCTION_SINGLE)
VECTOR(irq_work, KD_VECTOR_IRQ_WORK)
VECTOR(thermal_apic, KD_VECTOR_THERMAL)

/* Triggers: by role, by kind of probe, and by what the kernel has for edges. */
#define TRIGGER(name, start, stop)                                                                 \
	SEC("?kprobe") int kd_##name##_probe(void *ctx)                                            \
	{                                                                                          \
		trigger_hit(start, stop, true);                                                    \
		return 0;                                                                          \
	}                                                                                          \
	SEC("?tp") int kd_##name##_tracepoint(void *ctx)                                           \
	{                                                                                          \
		trigger_hit(start, stop, true);                                                    \
		return 0;                                                                          \
	}                                                                                          \
	SEC("?tp") int kd_##name##_call(struct trace_event_raw_sys_enter *ctx)                     \
	{                                                                                          \
		if (call_is_trigger(ctx, start ? KD_START : KD_STOP))                              \
			trigger_hit(start, stop, true);                                            \
		return 0;                                                                          \
	}                                                                                          \
	SEC("?kprobe") int kd_##name##_probe_token(void *ctx)                                      \
	{                                                                                          \
		trigger_hit(start, stop, false);                                                   \
		return 0;                                                                          \
	}                                                                                          \
	SEC("?tp") int kd_##name##_tracepoint_token(void *ctx)                                     \
	{                                                                                          \
		trigger_hit(start, stop, false);                                                   \
		return 0;                                                                          \
	}

TRIGGER(start, true, false)
TRIGGER(stop, false, true)
TRIGGER(both, true, true)

SEC("?kretprobe/ovs_dp_upcall") int kd_upcall(struct pt_regs *regs)
{
	upcall_end(function_result(regs));
	return 0;
}

SEC("?perf_event") int kd_sample(struct bpf_perf_event_data *ctx)
{
	sample_trace(ctx);
	return 0;
}

SEC("?iter/task") int kd_open_calls_iter(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (task)
		open_call_trace(task);
	return 0;
}

/* Never loaded: libbpf looks kernel functions up for it, see
 * kernel_has_function(). */
SEC("?fentry") int BPF_PROG(kd_function_probe)
{
	return 0;
}

SEC("?iter/task") int kd_task_iter(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (task)
		seed_visit(task);
	return 0;
}
