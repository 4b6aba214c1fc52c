/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Everything that differs between kernels. Features are asked for (CO-RE),
 * versions are named only to say where a difference comes from. */
#ifndef COMPAT_BPF_H
#define COMPAT_BPF_H

#include "kernel_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "kernel_delay.h"
#include "maps.bpf.h"

#define MAX_INSTRUCTION 16 /* bytes */

/* task_struct.state became __state in 5.14 (2f064a59a11f). */
static __always_inline u32 task_state(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return task->state;
}

/* thread_info.cpu on x86 was task_struct.cpu before 5.16 (bcf9033e5449). */
static __always_inline u32 task_cpu(struct task_struct *task)
{
	if (bpf_core_field_exists(task->thread_info.cpu))
		return task->thread_info.cpu;
	return task->cpu;
}

/* Whether the freezer of a control group holds a task that sleeps in this state:
 * - of cgroup v2 in a trap (do_freezer_trap());
 * - else, as suspending does, in a state of its own since 6.1 (f5d39b020809), before that in
 *   __refrigerator() with a flag.
 * Since 6.1 one that sleeps already may be frozen where it is, of which no event tells. */
static __always_inline bool task_is_frozen(struct task_struct *task, u32 task_state)
{
	if (task_state & TASK_INTERRUPTIBLE)
		return task->jobctl & JOBCTL_TRAP_FREEZE;
	return task_state & TASK_FROZEN ||
	       (task_state & TASK_UNINTERRUPTIBLE && task->flags & PF_FROZEN);
}

/* Whether a task may run on a CPU. */
static __always_inline bool task_may_run(struct task_struct *task, u32 cpu)
{
	u64 words = (u64)BPF_CORE_READ(task, cpus_ptr), word = ~0ULL;

	bpf_probe_read_kernel(&word, sizeof(word), (void *)(words + cpu / 64 * sizeof(word)));
	return word >> cpu % 64 & 1;
}

/* A sleeping thread may stay on its run queue since 6.12 (152e11f6df29). */
static __always_inline bool task_dequeue_is_delayed(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->se.sched_delayed))
		return false;
	return task->se.sched_delayed;
}

/* sched_switch hands over prev_state since 5.18 (fa2c3254d7cf), and in stable
 * kernels that took that change: its type then has one parameter more. */
typedef void (*btf_trace_sched_switch)(void *, bool, struct task_struct *, struct task_struct *,
				       unsigned int);

static __always_inline u32 switch_prev_state(unsigned long long *ctx, struct task_struct *prev)
{
	return bpf_core_type_exists(btf_trace_sched_switch) ? (u32)ctx[3] : task_state(prev);
}

/* The state in which a task is switched out; handed: what the tracepoint was given. One that was to
 * sleep, but for which a signal was pending, stays runnable: until 6.14 the state handed over is
 * the one from before that was seen. */
static __always_inline u32 switched_state(struct task_struct *prev, u32 handed)
{
	return handed && prev->on_rq && !task_dequeue_is_delayed(prev) ? 0 : handed;
}

/* The address of a request's disk: the request had it before 5.17 (f3fa33acca9f), its queue has it
 * since 5.15 (d152c682f03c). */
static __always_inline u64 request_disk(struct request *request)
{
	if (bpf_core_field_exists(struct request, rq_disk))
		return (u64)BPF_CORE_READ(request, rq_disk);
	if (bpf_core_field_exists(struct request_queue, disk))
		return (u64)BPF_CORE_READ(request, q, disk);
	return 0;
}

/* bpf_get_current_task_btf() came with 5.11 (3ca1032ab7ab). */
static __always_inline struct task_struct *current_task(void)
{
	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf))
		return NULL;
	return bpf_get_current_task_btf();
}

/* Of version 2. */
static __always_inline struct cgroup *task_group(struct task_struct *task)
{
	return BPF_CORE_READ(task, cgroups, dfl_cgrp);
}

/* When the current task started: with its TID, its identity. */
static __always_inline u64 current_start(void)
{
	struct task_struct *task = current_task();

	if (task)
		return task->start_time;
	return BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), start_time);
}

static __always_inline void current_comm(char comm[KD_COMM_LEN])
{
	struct task_struct *task = current_task();

	if (task) {
		((u64 *)comm)[0] = ((u64 *)task->comm)[0];
		((u64 *)comm)[1] = ((u64 *)task->comm)[1];
	} else {
		bpf_get_current_comm(comm, KD_COMM_LEN);
	}
}

/* Whether a thread that is in a system call made it in 32-bit mode. */
static __always_inline bool task_call_is_compat(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return task->thread_info.status & TS_COMPAT;
#else
	return task->thread_info.flags & TIF_32BIT_BIT;
#endif
}

/* The same of the current thread, which enters a call with these registers (NULL: they
 * are not at hand). Without its task, that is before 5.11, by what SYSCALL does: it
 * leaves the return address in RCX, too. (With FRED it does not, which is younger.) */
static __always_inline bool current_call_is_compat(struct pt_regs *regs)
{
	struct task_struct *task = current_task();

	if (task)
		return task_call_is_compat(task);
#if defined(__TARGET_ARCH_x86)
	return regs && (regs->cx != regs->ip || regs->cs == USER32_CS);
#else
	return false;
#endif
}

/* Whether a task that is known by its address has a CPU: the field is of 4 bytes, or of one. */
static __always_inline bool task_has_cpu(struct task_struct *task)
{
	u32 on_cpu = 0;

	bpf_core_read(&on_cpu, bpf_core_field_size(task->on_cpu), &task->on_cpu);
	return on_cpu;
}

/* The same of registers that were looked for (current_user_regs()), not given: before 5.15 those
 * are no pointer that may be followed. */
static __always_inline bool found_call_is_compat(struct pt_regs *regs)
{
	struct task_struct *task = current_task();

	if (task)
		return task_call_is_compat(task);
#if defined(__TARGET_ARCH_x86)
	return BPF_PROBE_READ(regs, cx) != BPF_PROBE_READ(regs, ip) ||
	       BPF_PROBE_READ(regs, cs) == USER32_CS;
#else
	return false;
#endif
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

/* Whether the kernel reads the clock of what the hypervisor takes, where that has one. */
static __always_inline bool rq_tells_stolen(void)
{
	return bpf_core_field_exists(((struct rq *)0)->prev_steal_time_rq) &&
	       bpf_core_field_exists(((struct task_struct *)0)->se.cfs_rq);
}

/* What the hypervisor has taken from a run queue's CPU by its last reading of that clock, with
 * 1 added; 0: not known. The scheduler leaves it out of clock_task, so that it is in nobody's
 * run time (update_rq_clock_task()). */
static __always_inline u64 rq_stolen_ns(struct rq *rq)
{
	if (!rq || !bpf_core_field_exists(rq->prev_steal_time_rq))
		return 0;
	return BPF_CORE_READ(rq, prev_steal_time_rq) + 1;
}

/* Whether the kernel has quotas of control groups at all. */
static __always_inline bool quotas_are_known(void)
{
	return bpf_core_field_exists(((struct task_struct *)0)->se.cfs_rq) &&
	       bpf_core_field_exists(((struct cfs_rq *)0)->throttle_count);
}

/* Since 6.18 (e1fad12dcb66) a group's quota takes each of its tasks by itself off its run queue,
 * when it returns to user mode. Before, it took the group's whole run queue. */
static __always_inline bool quotas_take_tasks(void)
{
	return bpf_core_field_exists(((struct task_struct *)0)->throttled);
}

/* For how long quotas have kept the tasks of a group's run queue from running, without the present
 * time: a pointer to it in the run queue, to be read as the caller can. Kernels differ in what
 * they count, and in its clock:
 * - since 6.6 (677ea015f231) a count of its own, by the run queue's clock;
 * - since 5.19 (64eaf50731ac) the time that the load average leaves out, which passes more
 *   slowly on a CPU that runs at a lower frequency;
 * - before that the same by the clock that leaves out interrupts. */
static __always_inline u64 quota_before(struct cfs_rq *group)
{
	if (bpf_core_field_exists(group->throttled_clock_self))
		return BPF_CORE_READ(group, throttled_clock_self_time);
	if (bpf_core_field_exists(group->throttled_clock_pelt))
		return BPF_CORE_READ(group, throttled_clock_pelt_time);
	if (bpf_core_field_exists(group->throttled_clock_task))
		return BPF_CORE_READ(group, throttled_clock_task_time);
	return 0;
}

/* And the present time, if there is one. */
static __always_inline u64 quota_since(struct cfs_rq *group)
{
	u64 since = 0, now = 0;

	if (bpf_core_field_exists(group->throttled_clock_self)) {
		since = BPF_CORE_READ(group, throttled_clock_self);
		now = since ? BPF_CORE_READ(group, rq, clock) : 0;
	} else if (!BPF_CORE_READ(group, throttle_count)) {
		return 0;
	} else if (bpf_core_field_exists(group->throttled_clock_pelt)) {
		since = BPF_CORE_READ(group, throttled_clock_pelt);
		now = BPF_CORE_READ(group, rq, clock_pelt) -
		      BPF_CORE_READ(group, rq, lost_idle_time);
	} else if (bpf_core_field_exists(group->throttled_clock_task)) {
		since = BPF_CORE_READ(group, throttled_clock_task);
		now = BPF_CORE_READ(group, rq, clock_task);
	}
	return now > since ? now - since : 0;
}

/* What a system call or interrupt in user mode left at the top of the thread's
 * kernel stack, as bpf_task_pt_regs() tells since 5.15 (dd6e10fbd9fb). */
#if defined(__TARGET_ARCH_x86)
static __always_inline struct pt_regs *task_regs_before_5_15(struct task_struct *task)
{
	u64 top = (u64)BPF_CORE_READ(task, stack) + kd_stack_size;

	return (void *)(top - sizeof(struct pt_regs));
}
#endif

static __always_inline s32 task_call_before_5_15(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	struct pt_regs *regs = task_regs_before_5_15(task);
	s32 call;

	if (!BPF_PROBE_READ(regs, ip))
		return KD_CALL_UNKNOWN;
	call = (s32)BPF_PROBE_READ(regs, orig_ax);
	if (call < 0)
		return KD_CALL_NONE;
	return task_call_is_compat(task) ? call | KD_CALL_COMPAT : call;
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

/* Where an instruction is that a thread has in front of it. The kernel steps through a probed
 * one in a copy elsewhere. */
static __always_inline u64 task_original_ip(struct task_struct *task, u64 ip)
{
	struct uprobe_task *utask;
	u64 into;

	if (!bpf_core_field_exists(task->utask))
		return ip;
	utask = BPF_CORE_READ(task, utask);
	if (!utask || !BPF_CORE_READ(utask, active_uprobe))
		return ip;
	into = ip - BPF_CORE_READ(utask, xol_vaddr);
	return into <= MAX_INSTRUCTION ? BPF_CORE_READ(utask, vaddr) + into : ip;
}

/* The innermost function with a return probe that a thread is in; NULL: it is in none, or
 * the kernel has no such probes (CONFIG_UPROBES). */
static __always_inline struct return_instance *task_returns(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->utask))
		return NULL;
	return BPF_CORE_READ(task, utask, return_instances);
}

/* The system call that has these registers; negative: they are of something else. */
static __always_inline s32 regs_call(struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return (s32)BPF_PROBE_READ(regs, orig_ax);
#else
	return (s32)BPF_CORE_READ(regs, syscallno);
#endif
}

static __always_inline u64 regs_ip(struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return BPF_PROBE_READ(regs, ip);
#else
	return BPF_CORE_READ(regs, pc);
#endif
}

/* One of the first three arguments, counted from 0, of the system call that has these registers. */
static __always_inline u64 call_argument(struct pt_regs *regs, s32 call, u32 which)
{
#if defined(__TARGET_ARCH_x86)
	if (call & KD_CALL_COMPAT)
		return which == 0   ? BPF_PROBE_READ(regs, bx)
		       : which == 1 ? BPF_PROBE_READ(regs, cx)
				    : BPF_PROBE_READ(regs, dx);
	return which == 0   ? BPF_PROBE_READ(regs, di)
	       : which == 1 ? BPF_PROBE_READ(regs, si)
			    : BPF_PROBE_READ(regs, dx);
#else
	return which == 0   ? BPF_CORE_READ(regs, orig_x0)
	       : which == 1 ? BPF_CORE_READ(regs, regs[1])
			    : BPF_CORE_READ(regs, regs[2]);
#endif
}

/* The first argument of the system call that a thread sleeps in. */
static __always_inline u64 task_first_argument(struct task_struct *task, bool compat)
{
#if defined(__TARGET_ARCH_x86)
	struct pt_regs *regs;

	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs)) {
		regs = task_regs_before_5_15(task);
		return compat ? BPF_PROBE_READ(regs, bx) : BPF_PROBE_READ(regs, di);
	}
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	return compat ? regs->bx : regs->di;
#else
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	return regs->regs[0];
#endif
}

/* The arguments of the futex call, a native one, that a thread sleeps in. */
struct futex_arguments {
	u64 address;
	u32 operation, value;
};

static __always_inline struct futex_arguments task_futex_arguments(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	struct pt_regs *regs;

	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs)) {
		regs = task_regs_before_5_15(task);
		return (struct futex_arguments){ BPF_PROBE_READ(regs, di),
						 (u32)BPF_PROBE_READ(regs, si),
						 (u32)BPF_PROBE_READ(regs, dx) };
	}
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	return (struct futex_arguments){ regs->di, (u32)regs->si, (u32)regs->dx };
#else
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	return (struct futex_arguments){ regs->regs[0], (u32)regs->regs[1], (u32)regs->regs[2] };
#endif
}

/* Arguments of the native call that a thread sleeps in: the first two, and another one, the
 * third to the fifth, or the first. */
struct call_arguments {
	u64 first, second, other;
};

static __always_inline u64 argument_of(u32 which, u64 first, u64 third, u64 fourth, u64 fifth)
{
	/* Loaded one by one: the verifier takes no address that depends on which it is. */
	barrier_var(third);
	barrier_var(fourth);
	barrier_var(fifth);
	return which == 0 ? first : which == 2 ? third : which == 3 ? fourth : fifth;
}

static __always_inline struct call_arguments task_call_arguments(struct task_struct *task,
								 u32 which)
{
	struct pt_regs *regs;
	struct call_arguments is;

#if defined(__TARGET_ARCH_x86)
	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs)) {
		regs = task_regs_before_5_15(task);
		is.first = BPF_PROBE_READ(regs, di);
		is.second = BPF_PROBE_READ(regs, si);
		is.other = argument_of(which, is.first, BPF_PROBE_READ(regs, dx),
				       BPF_PROBE_READ(regs, r10), BPF_PROBE_READ(regs, r8));
		return is;
	}
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	is.first = regs->di;
	is.second = regs->si;
	is.other = argument_of(which, is.first, regs->dx, regs->r10, regs->r8);
#else
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	is.first = regs->regs[0];
	is.second = regs->regs[1];
	is.other = argument_of(which, is.first, regs->regs[2], regs->regs[3], regs->regs[4]);
#endif
	return is;
}

/* Whether this program runs in an interrupt, hard or soft. The kernel's count of
 * them is no help: not all kernels can tell programs the address of a variable. But
 * interrupts have a stack of their own, and the arguments of a raw tracepoint are on
 * the stack that is in use (bpf_trace_run1()); unless they hit user mode, which
 * leaves no number of a system call behind. */
static __always_inline bool in_interrupt_before_5_15(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	u64 stack = (u64)BPF_CORE_READ(task, stack), address = 0;
	void *from = ctx;

	bpf_probe_read_kernel(&address, sizeof(address), &from);
	if (address - stack >= kd_stack_size)
		return true;
	return BPF_CORE_READ(task, mm) && regs_call(current_user_regs()) < 0;
}

/* The same with loads in place of helpers, a fifth of the time. The verifier makes a number of
 * the difference of two pointers, and knows the task's address as one, too. */
static __always_inline bool in_interrupt(void *ctx)
{
	struct task_struct *task = current_task();
	struct pt_regs *regs;
	u64 address;

	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs) || !task)
		return in_interrupt_before_5_15(ctx);
	address = (u64)ctx - (u64)task;
	barrier_var(address);
	address += bpf_get_current_task();
	if (address - (u64)task->stack >= kd_stack_size)
		return true;
	/* Not by its mm: for a pointer to a structure the verifier looks through all of the
	 * kernel's BTF several times (btf_nested_type_is_trusted()), each time that it comes here.
	 */
	if (task->flags & PF_KTHREAD)
		return false;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
#if defined(__TARGET_ARCH_x86)
	return (s32)regs->orig_ax < 0;
#else
	return (s32)regs->syscallno < 0;
#endif
}

/* What the tracepoints of a request's begin and merge are given. Before 5.11 (a54895fa057c) they
 * had the queue first; then partitions had a type of their own (0d02129e76ed), which tells. */
static __always_inline struct request *traced_request(u64 *ctx)
{
	u64 request;

	if (bpf_core_type_exists(struct hd_struct)) {
		request = ctx[1];
		barrier_var(request); /* not one load at either place: the verifier allows none */
	} else {
		request = ctx[0];
	}
	return (struct request *)request;
}

/* How much of a stack is looked at for return addresses. */
#define SCHED_STACK 768

/* The stack pointer that a thread had when it was switched out, and 1 for a word that looks like
 * an address in the kernel's own code or data, which lie in the last 2 GB but one (see
 * arch/x86/include/asm/page_64_types.h). On aarch64 nothing is looked for. */
#if defined(__TARGET_ARCH_x86)
static __always_inline u64 task_stack_pointer(struct task_struct *task)
{
	return BPF_CORE_READ(task, thread.sp);
}

static __always_inline u64 is_image_address(u64 word)
{
	u64 other = word >> 30 ^ 0xffffffff80000000ULL >> 30;

	return (other - 1) >> 63; /* without a branch */
}
#else
static __always_inline u64 task_stack_pointer(struct task_struct *task)
{
	return 0;
}

static __always_inline u64 is_image_address(u64 word)
{
	return 0;
}
#endif

/* What is known of a site that is hit, 0 before 5.15 (7adfc6c9b315). */
static __always_inline u64 site_cookie(void *ctx)
{
	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_attach_cookie))
		return 0;
	return bpf_get_attach_cookie(ctx);
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

/* Whether a thread never is in user mode, or not any more. */
static __always_inline bool task_is_kernels(struct task_struct *task)
{
	return task->flags & (PF_IO_WORKER | PF_EXITING | PF_SIGNALED);
}

/* Whether task_call() can tell. */
static __always_inline bool task_calls_are_told(void)
{
#if defined(__TARGET_ARCH_x86)
	return true;
#else
	return bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs);
#endif
}

/* Number of the system call that a thread which is not running is in, or a
 * KD_CALL_*. */
static __always_inline s32 task_call(struct task_struct *task)
{
	struct pt_regs *regs;
	s32 call;

	if (task_is_kernels(task))
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
	if (call < 0)
		return KD_CALL_NONE;
	return task_call_is_compat(task) ? call | KD_CALL_COMPAT : call;
}

#endif
