/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What the programs of kernel_delay are compared with, on their tracepoints.
 *
 * Floor: the least that an answer per thread takes, which is to see that the
 * thread is the target's, to find its storage and to read the clock. Empty: what
 * the kernel counts for calling a program at all, taken off every figure. */
#include "bpf/kernel_types.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* include/uapi/linux/bpf.h */
enum { BPF_MAP_TYPE_TASK_STORAGE = 29 };
enum { BPF_F_NO_PREALLOC = 1, BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };

const volatile __u32 floor_tgid;

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u64);
} floor_last SEC(".maps");

static __always_inline int floor_note(struct task_struct *task)
{
	u64 *last = bpf_task_storage_get(&floor_last, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (last)
		*last = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int floor_note_current(void)
{
	if (bpf_get_current_pid_tgid() >> 32 != floor_tgid)
		return 0;
	return floor_note(bpf_get_current_task_btf());
}

SEC("?tp_btf/sys_enter") int BPF_PROG(floor_sys_enter, struct pt_regs *regs, long id)
{
	return floor_note_current();
}

SEC("?tp_btf/sys_exit") int BPF_PROG(floor_sys_exit, struct pt_regs *regs, long ret)
{
	return floor_note_current();
}

/* One thread, even if both are the target's. */
SEC("?tp_btf/sched_switch")
int BPF_PROG(floor_sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	if (prev->tgid == floor_tgid)
		return floor_note(prev);
	if (next->tgid == floor_tgid)
		return floor_note(next);
	return 0;
}

SEC("?tp_btf/sched_waking") int BPF_PROG(floor_sched_waking, struct task_struct *task)
{
	return task->tgid == floor_tgid ? floor_note(task) : 0;
}

SEC("?tp_btf/sched_wakeup") int BPF_PROG(floor_sched_wakeup, struct task_struct *task)
{
	return task->tgid == floor_tgid ? floor_note(task) : 0;
}

#define EMPTY(name)                                                                                \
	SEC("?tp_btf/" #name) int empty_##name(void *ctx)                                          \
	{                                                                                          \
		return 0;                                                                          \
	}

EMPTY(sys_enter)
EMPTY(sys_exit)
EMPTY(sched_switch)
EMPTY(sched_waking)
EMPTY(sched_wakeup)
EMPTY(sched_process_fork)
EMPTY(sched_process_exec)
EMPTY(irq_handler_entry)
EMPTY(irq_handler_exit)
EMPTY(softirq_entry)
EMPTY(softirq_exit)
EMPTY(nmi_handler)
EMPTY(local_timer_entry)
EMPTY(local_timer_exit)
EMPTY(reschedule_entry)
EMPTY(reschedule_exit)
EMPTY(call_function_entry)
EMPTY(call_function_exit)
EMPTY(call_function_single_entry)
EMPTY(call_function_single_exit)
EMPTY(irq_work_entry)
EMPTY(irq_work_exit)
EMPTY(thermal_apic_entry)
EMPTY(thermal_apic_exit)
