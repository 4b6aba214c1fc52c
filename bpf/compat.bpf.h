/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Everything that differs between kernels. Features are asked for (CO-RE),
 * versions are named only to say where a difference comes from. */
#ifndef COMPAT_BPF_H
#define COMPAT_BPF_H

#include "kernel_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "kernel_delay.h"

#define THREAD_SIZE 16384 /* of the kernel's stacks: arch/ARCH/include/asm/ */

/* task_struct.state became __state in 5.14 (2f064a59a11f). */
static __always_inline u32 task_state(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return ((struct task_struct___before_5_14 *)task)->state;
}

/* sched_switch hands over prev_state since 5.18 (fa2c3254d7cf), and in stable
 * kernels that took that change: its type then has one parameter more. */
typedef void (*btf_trace_sched_switch)(void *, bool, struct task_struct *, struct task_struct *,
				       unsigned int);

static __always_inline u32 switch_prev_state(unsigned long long *ctx, struct task_struct *prev)
{
	return bpf_core_type_exists(btf_trace_sched_switch) ? (u32)ctx[3] : task_state(prev);
}

/* thread_info.cpu on x86 was task_struct.cpu before 5.16 (bcf9033e5449). */
struct task_struct___before_5_16 {
	u32 cpu;
} __attribute__((preserve_access_index));

static __always_inline u32 task_cpu(struct task_struct *task)
{
	if (bpf_core_field_exists(task->thread_info.cpu))
		return task->thread_info.cpu;
	return ((struct task_struct___before_5_16 *)task)->cpu;
}

/* A sleeping thread may stay on its run queue since 6.12 (152e11f6df29). */
static __always_inline bool task_dequeue_is_delayed(struct task_struct *task)
{
	struct sched_entity___delayed *se = (void *)&task->se;

	if (!bpf_core_field_exists(se->sched_delayed))
		return false;
	return se->sched_delayed;
}

/* bpf_get_current_task_btf() came with 5.11 (3ca1032ab7ab). */
static __always_inline struct task_struct *current_task(void)
{
	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf))
		return NULL;
	return bpf_get_current_task_btf();
}

/* The run queue of a task's CPU, where group scheduling gives a way to it. Not
 * by direct loads: for each pointer so loaded the verifier searches the whole
 * BTF several times, which takes milliseconds. */
static __always_inline struct rq *task_rq(struct task_struct *task)
{
	if (!task || !bpf_core_field_exists(task->se.cfs_rq))
		return NULL;
	return BPF_CORE_READ(task, se.cfs_rq, rq);
}

/* What a system call or interrupt in user mode left at the top of the thread's
 * kernel stack, as bpf_task_pt_regs() tells since 5.15 (dd6e10fbd9fb). */
#if defined(__TARGET_ARCH_x86)
static __always_inline struct pt_regs *task_regs_before_5_15(struct task_struct *task)
{
	u64 top = (u64)BPF_CORE_READ(task, stack) + THREAD_SIZE;

	return (void *)(top - bpf_core_type_size(struct pt_regs));
}
#endif

static __always_inline s32 task_call_before_5_15(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	struct pt_regs *regs = task_regs_before_5_15(task);
	s32 call;

	if (!BPF_CORE_READ(regs, ip))
		return KD_CALL_UNKNOWN;
	call = (s32)BPF_CORE_READ(regs, orig_ax);
	return call < 0 ? KD_CALL_NONE : call;
#else
	return KD_CALL_UNKNOWN;
#endif
}

/* What a thread had in its registers when it came from user mode; NULL: unknown. */
static __always_inline struct pt_regs *task_user_regs(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return task_regs_before_5_15(task);
#endif
	return (struct pt_regs *)bpf_task_pt_regs(task);
}

/* The same of the current thread. */
static __always_inline struct pt_regs *current_user_regs(void)
{
#if defined(__TARGET_ARCH_x86)
	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return task_regs_before_5_15((void *)bpf_get_current_task());
#endif
	return (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
}

static __always_inline u64 task_thread_pointer(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return BPF_CORE_READ(task, thread.fsbase);
#else
	return BPF_CORE_READ(task, thread.uw.tp_value);
#endif
}

/* The system call that has these registers; negative: they are of something else. */
static __always_inline s32 regs_call(struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return (s32)BPF_CORE_READ(regs, orig_ax);
#else
	return (s32)BPF_CORE_READ(regs, syscallno);
#endif
}

static __always_inline u64 regs_ip(struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return BPF_CORE_READ(regs, ip);
#else
	return BPF_CORE_READ(regs, pc);
#endif
}

/* The third argument of the system call that has these registers. */
static __always_inline u64 call_third_argument(struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return BPF_CORE_READ(regs, dx);
#else
	return BPF_CORE_READ(regs, regs[2]);
#endif
}

/* Whether this program runs in an interrupt, hard or soft. The kernel's count of
 * them is no help: not all kernels can tell programs the address of a variable. But
 * interrupts have a stack of their own, and the arguments of a raw tracepoint are on
 * the stack that is in use (bpf_trace_run1()); unless they hit user mode, which
 * leaves no number of a system call behind. */
static __always_inline bool in_interrupt(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	u64 stack = (u64)BPF_CORE_READ(task, stack), address = 0;
	void *place = ctx;

	bpf_probe_read_kernel(&address, sizeof(address), &place);
	if (address - stack >= THREAD_SIZE)
		return true;
	return BPF_CORE_READ(task, mm) && regs_call(current_user_regs()) < 0;
}

/* What the function that a kretprobe has caught returns. */
static __always_inline s32 function_result(struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return (s32)regs->ax;
#else
	return (s32)regs->regs[0];
#endif
}

/* Number of the system call that a thread which is not running is in, or a
 * KD_CALL_*. */
static __always_inline s32 task_call(struct task_struct *task)
{
	struct pt_regs *regs;
	s32 call;

	if (task->flags & PF_IO_WORKER) /* never was in user mode */
		return KD_CALL_UNKNOWN;
	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return task_call_before_5_15(task);
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
#if defined(__TARGET_ARCH_x86)
	if (!regs->ip)
		return KD_CALL_UNKNOWN;
	/* Interrupts and exceptions leave a negative number here. */
	call = (s32)regs->orig_ax;
#else
	if (!regs->pc)
		return KD_CALL_UNKNOWN;
	call = (s32)regs->syscallno;
#endif
	return call < 0 ? KD_CALL_NONE : call;
}

#endif
