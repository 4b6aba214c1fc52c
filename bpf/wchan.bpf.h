/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Where threads sleep: their wait channels, the functions of the kernel that gave up the CPU. */
#ifndef WCHAN_BPF_H
#define WCHAN_BPF_H

#include "compat.bpf.h"
#include "maps.bpf.h"

/* Reading a stack takes 2 to 8 us, on the way from the wakeup to the CPU. So of sleeps shorter than
 * this, only one in such a time is looked at. */
#define WCHAN_NS 1000000ULL
#define WCHAN_EVERY_NS 20000000ULL

/* The kernel leaves the scheduler's own functions out of the stacks of tasks that sleep. */
static __always_inline void wchan_read(struct kd_wchan *wchan, struct task_struct *task)
{
	*wchan = (struct kd_wchan){};
	bpf_get_task_stack(task, wchan->frames, sizeof(wchan->frames), 0);
}

/* The task has slept for ns until t, and still has the stack of that sleep. */
static __always_inline void wchan_look(struct kd_thread *thread, struct task_struct *task, u64 ns,
				       u64 t)
{
	if (ns < WCHAN_NS && elapsed(thread->wchan_at, t) < WCHAN_EVERY_NS) {
		thread->wchan[0] = (struct kd_wchan){};
		return;
	}
	wchan_read(&thread->wchan[0], task);
	thread->wchan_at = t;
}

/* Names the function at an address, as 5.13 and later can (d9c9e4db186a); "" on others. Reading
 * /proc/kallsyms instead takes 50 ms of CPU time. */
static __always_inline void function_name(u64 address)
{
	kd_function[0] = 0;
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_snprintf))
		BPF_SNPRINTF(kd_function, sizeof(kd_function), "%ps", (void *)address);
}

/* Reads the top of the kernel stack of a task that user space knows to sleep: its user registers
 * are there, below a few words on some kernels. It may have ended meanwhile. */
static __always_inline void stack_top_read(struct task_struct *task)
{
	u64 stack = (u64)BPF_CORE_READ(task, stack);

	kd_stack_top_tid = 0;
	if (stack && !bpf_probe_read_kernel(kd_stack_top, sizeof(kd_stack_top),
					    (void *)(stack + kd_stack_size - sizeof(kd_stack_top))))
		kd_stack_top_tid = BPF_CORE_READ(task, pid);
}

#endif
