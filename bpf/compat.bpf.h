/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* All differences between kernels. Features are tested (CO-RE); versions are only named to
 * explain where a difference comes from. */
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

/* True if the cgroup freezer holds a task that sleeps in this state:
 * - cgroup v2: in a trap (do_freezer_trap());
 * - otherwise, like suspend, in a separate state since 6.1 (f5d39b020809), before that in
 *   __refrigerator() with a flag.
 * Since 6.1 a sleeping task may be frozen where it is, without an event. */
static __always_inline bool task_is_frozen(struct task_struct *task, u32 task_state)
{
	if (task_state & TASK_INTERRUPTIBLE)
		return task->jobctl & JOBCTL_TRAP_FREEZE;
	return task_state & TASK_FROZEN ||
	       (task_state & TASK_UNINTERRUPTIBLE && task->flags & PF_FROZEN);
}

/* Affinity of a task: a word of the bitmap. */
static __always_inline u64 task_cpus(struct task_struct *task, u64 number)
{
	u64 words = (u64)BPF_CORE_READ(task, cpus_ptr), word = ~0ULL;

	bpf_probe_read_kernel(&word, sizeof(word), (void *)(words + number * sizeof(word)));
	return word;
}

/* True if a task may run on a CPU. */
static __always_inline bool task_may_run(struct task_struct *task, u32 cpu)
{
	return task_cpus(task, cpu / 64) >> cpu % 64 & 1;
}

/* A sleeping thread may stay on its run queue since 6.12 (152e11f6df29). */
static __always_inline bool task_dequeue_is_delayed(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->se.sched_delayed))
		return false;
	return task->se.sched_delayed;
}

/* sched_switch passes prev_state since 5.18 (fa2c3254d7cf) and in stable kernels with that
 * change: its type then has another parameter. */
typedef void (*btf_trace_sched_switch)(void *, bool, struct task_struct *, struct task_struct *,
				       unsigned int);

static __always_inline u32 switch_prev_state(unsigned long long *ctx, struct task_struct *prev)
{
	return bpf_core_type_exists(btf_trace_sched_switch) ? (u32)ctx[3] : task_state(prev);
}

/* State of a task at switch-out; handed: from the tracepoint. A task that was going to sleep
 * with a signal pending stays runnable; before 6.14 the tracepoint passes its earlier state. */
static __always_inline u32 switched_state(struct task_struct *prev, u32 handed)
{
	return handed && prev->on_rq && !task_dequeue_is_delayed(prev) ? 0 : handed;
}

/* Address of a request's disk: in the request before 5.17 (f3fa33acca9f), in its queue since
 * 5.15 (d152c682f03c). */
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

/* Start time of the current task, which identifies it along with the TID. */
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

/* True if a thread in a system call made it in 32-bit mode. */
static __always_inline bool task_call_is_compat(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return task->thread_info.status & TS_COMPAT;
#else
	return task->thread_info.flags & TIF_32BIT_BIT;
#endif
}

/* True if a task known by its address is on a CPU: the field has 4 bytes, or one. */
static __always_inline bool task_has_cpu(struct task_struct *task)
{
	u32 on_cpu = 0;

	bpf_core_read(&on_cpu, bpf_core_field_size(task->on_cpu), &task->on_cpu);
	return on_cpu;
}

/* Run queue of a task's CPU, if group scheduling provides a way to it. Avoids direct loads: for
 * each pointer loaded that way the verifier searches the entire BTF several times, which takes
 * milliseconds. */
static __always_inline struct rq *task_rq(struct task_struct *task)
{
	if (!task || !bpf_core_field_exists(task->se.cfs_rq))
		return NULL;
	return BPF_CORE_READ(task, se.cfs_rq, rq);
}

/* True if run queues tell since when their CPU is idle (CONFIG_SMP). */
static __always_inline bool idle_is_told(void)
{
	return bpf_core_field_exists(((struct rq *)0)->idle_stamp);
}

/* True if they also tell how long it has run tasks (CONFIG_SCHEDSTATS). */
static __always_inline bool idle_is_summed(void)
{
	return bpf_core_field_exists(((struct rq *)0)->rq_cpu_time) &&
	       bpf_core_field_exists(((struct task_struct *)0)->sched_info);
}

/* True if the kernel reads steal time, where the hypervisor provides it. */
static __always_inline bool rq_tells_stolen(void)
{
	return bpf_core_field_exists(((struct rq *)0)->prev_steal_time_rq) &&
	       bpf_core_field_exists(((struct task_struct *)0)->se.cfs_rq);
}

/* Steal time of a run queue's CPU at the kernel's last reading, plus 1; 0: unknown. The
 * scheduler excludes it from clock_task, so it is in no task's run time
 * (update_rq_clock_task()). */
static __always_inline u64 rq_stolen_ns(struct rq *rq)
{
	if (!rq || !bpf_core_field_exists(rq->prev_steal_time_rq))
		return 0;
	return BPF_CORE_READ(rq, prev_steal_time_rq) + 1;
}

/* True if the kernel supports CPU bandwidth limits. */
static __always_inline bool quotas_are_supported(void)
{
	return bpf_core_field_exists(((struct task_struct *)0)->se.cfs_rq) &&
	       bpf_core_field_exists(((struct cfs_rq *)0)->throttle_count);
}

/* Since 6.18 (e1fad12dcb66) a quota takes each task of a group off its run queue separately,
 * when it returns to user mode. Before, it took the group's entire run queue. */
static __always_inline bool quotas_take_tasks(void)
{
	return bpf_core_field_exists(((struct task_struct *)0)->throttled);
}

/* How long quotas have kept the tasks of a group's run queue from running, without the current
 * throttling. Kernels differ in what they count, and in its clock:
 * - since 6.6 (677ea015f231) a separate count, on the run queue's clock;
 * - since 5.19 (64eaf50731ac) the time left out of the load average, which passes more slowly
 *   on a CPU that runs at a lower frequency;
 * - before that, the same on the clock that leaves out interrupts.
 * trusted: a pointer that needs no helper. */
static __always_inline u64 quota_before(struct cfs_rq *group, bool trusted)
{
#define GROUP_READ(field) (trusted ? group->field : BPF_CORE_READ(group, field))
	if (bpf_core_field_exists(group->throttled_clock_self))
		return GROUP_READ(throttled_clock_self_time);
	if (bpf_core_field_exists(group->throttled_clock_pelt))
		return GROUP_READ(throttled_clock_pelt_time);
	if (bpf_core_field_exists(group->throttled_clock_task))
		return GROUP_READ(throttled_clock_task_time);
	return 0;
#undef GROUP_READ
}

/* Start of the current throttling, if any. */
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

/* Registers that a system call or interrupt in user mode left at the top of the kernel stack, as
 * returned by bpf_task_pt_regs() since 5.15 (dd6e10fbd9fb). On aarch64 all are read as 0. */
static __always_inline struct pt_regs *task_regs_before_5_15(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	u64 top = (u64)BPF_CORE_READ(task, stack) + kd_stack_size;

	return (void *)(top - sizeof(struct pt_regs));
#else
	return NULL;
#endif
}

/* True if user registers are found by a trusted pointer: a load takes a fraction of the time of a
 * helper. */
static __always_inline bool user_regs_are_trusted(void)
{
	return bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs);
}

#define REG_LOAD(trusted, from, reg) ((trusted) ? (from)->reg : REGS_READ(from, reg))

/* User registers of a thread; NULL: unknown. */
static __always_inline struct pt_regs *task_regs(struct task_struct *task, bool trusted)
{
	if (!trusted)
		return task_regs_before_5_15(task);
	return (struct pt_regs *)bpf_task_pt_regs(task);
}

static __always_inline struct pt_regs *task_user_regs(struct task_struct *task)
{
	return task_regs(task, user_regs_are_trusted());
}

/* True if the current thread enters a 32-bit call with these registers (NULL: not available).
 * trusted: they are the program's argument. Without its task, before 5.11, decides by what SYSCALL
 * does: it also leaves the return address in RCX. (Not with FRED, which is newer.) */
static __always_inline bool current_call_is_compat(struct pt_regs *regs, bool trusted)
{
	struct task_struct *task = current_task();

	if (task)
		return task_call_is_compat(task);
#if defined(__TARGET_ARCH_x86)
	return regs && (REG_LOAD(trusted, regs, cx) != REG_LOAD(trusted, regs, ip) ||
			REG_LOAD(trusted, regs, cs) == USER32_CS);
#else
	return false;
#endif
}

/* User registers of the current thread. */
static __always_inline struct pt_regs *current_user_regs(void)
{
	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return task_regs_before_5_15((void *)bpf_get_current_task());
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

/* Original address of a thread's next instruction. The kernel single-steps a probed instruction
 * in a copy. */
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

/* Innermost function with a return probe that a thread is in; NULL: none, or no such probes in
 * the kernel (CONFIG_UPROBES). */
static __always_inline struct return_instance *task_returns(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->utask))
		return NULL;
	return BPF_CORE_READ(task, utask, return_instances);
}

/* System call with these registers; negative: not a system call. */
static __always_inline s32 regs_call(struct pt_regs *regs)
{
	return (s32)REGS_READ(regs, REG_CALL);
}

static __always_inline u64 regs_ip(struct pt_regs *regs)
{
	return REGS_READ(regs, REG_IP);
}

/* One of the first three arguments, from 0, of the system call with these registers. */
static __always_inline u64 call_argument(struct pt_regs *regs, s32 call, u32 which)
{
#if defined(__TARGET_ARCH_x86)
	if (call & KD_CALL_COMPAT)
		return which == 0   ? BPF_PROBE_READ(regs, bx)
		       : which == 1 ? BPF_PROBE_READ(regs, cx)
				    : BPF_PROBE_READ(regs, dx);
#endif
	return which == 0   ? REGS_READ(regs, REG_1)
	       : which == 1 ? REGS_READ(regs, REG_2)
			    : REGS_READ(regs, REG_3);
}

/* First argument of the system call that a thread sleeps in. */
static __always_inline u64 task_first_argument(struct task_struct *task, bool compat)
{
	bool trusted = user_regs_are_trusted();
	struct pt_regs *from = task_regs(task, trusted);

	return compat ? REG_LOAD(trusted, from, REG_COMPAT_1) : REG_LOAD(trusted, from, REG_1);
}

/* A call whose first argument is the address of a futex. */
static __always_inline bool call_is_at_futex(s32 call)
{
	return call == kd_futex_call || call == CALL_COMPAT_FUTEX ||
	       call == CALL_COMPAT_FUTEX_TIME64 || (call & ~KD_CALL_COMPAT) == CALL_FUTEX_WAIT;
}

/* Arguments as of futex(). */
struct futex_arguments {
	u64 address;
	u32 operation, value;
};

/* Those of the call in which the current thread waits for a futex, or for several, of which the
 * first one counts. Returns false for another call. */
static __always_inline bool current_futex(s32 call, struct futex_arguments *futex)
{
	bool trusted = user_regs_are_trusted(), compat = call & KD_CALL_COMPAT;
	struct pt_regs *from = current_user_regs();
	u64 first = compat ? REG_LOAD(trusted, from, REG_COMPAT_1) : REG_LOAD(trusted, from, REG_1);
	u64 second = compat ? REG_LOAD(trusted, from, REG_COMPAT_2)
			    : REG_LOAD(trusted, from, REG_2);
	u64 third = compat ? REG_LOAD(trusted, from, REG_COMPAT_3) : REG_LOAD(trusted, from, REG_3);
	u64 fourth = compat ? REG_LOAD(trusted, from, REG_COMPAT_4)
			    : REG_LOAD(trusted, from, REG_4);
	struct futex_waitv waitv = {};

	futex->address = first;
	futex->operation = second;
	futex->value = third;
	if ((call & ~KD_CALL_COMPAT) == CALL_FUTEX_WAIT) {
		futex->operation = KD_FUTEX_WAIT | (fourth & KD_FUTEX_PRIVATE);
		futex->value = second;
	} else if ((call & ~KD_CALL_COMPAT) == CALL_FUTEX_WAITV) {
		if (bpf_probe_read_user(&waitv, sizeof(waitv), (void *)first))
			return false;
		futex->address = waitv.address;
		futex->operation = KD_FUTEX_WAIT | (waitv.flags & KD_FUTEX_PRIVATE);
		futex->value = waitv.value;
	} else {
		return call_is_at_futex(call);
	}
	return true;
}

/* Arguments of the native call that a thread sleeps in: the first two, and another one: the
 * third to fifth, or the first. */
struct call_arguments {
	u64 first, second, other;
};

static __always_inline struct call_arguments task_call_arguments(struct task_struct *task,
								 u32 which)
{
	bool trusted = user_regs_are_trusted();
	struct pt_regs *from = task_regs(task, trusted);
	u64 first = REG_LOAD(trusted, from, REG_1), second = REG_LOAD(trusted, from, REG_2);
	u64 third = REG_LOAD(trusted, from, REG_3);
	u64 fourth = REG_LOAD(trusted, from, REG_4);
	u64 fifth = REG_LOAD(trusted, from, REG_5);

	/* Loaded one by one: the verifier rejects an address that depends on the index. */
	barrier_var(third);
	barrier_var(fourth);
	barrier_var(fifth);
	return (struct call_arguments){ first, second,
					which == 0   ? first
					: which == 2 ? third
					: which == 3 ? fourth
						     : fifth };
}

/* True if this program runs in an interrupt, hard or soft. The kernel's interrupt count is no
 * help: not all kernels can pass addresses of variables to programs. But interrupts have their
 * own stack, and the arguments of a raw tracepoint are on the current stack (bpf_trace_run1()).
 * An interrupt in user mode is recognized because there is no system call number. */
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

/* Uses loads in place of helpers, which takes a fifth of the time. The verifier treats the
 * difference of two pointers as a number, and the task's address as well. */
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
	/* Not by its mm: for a pointer to a structure the verifier searches the kernel's entire
	 * BTF several times (btf_nested_type_is_trusted()), each time it gets here. */
	if (task->flags & PF_KTHREAD)
		return false;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	return (s32)regs->REG_CALL < 0;
}

/* Request from the arguments of the tracepoints that begin and merge requests. Before 5.11
 * (a54895fa057c) the queue came first; partitions then had a type of their own (0d02129e76ed),
 * which identifies those kernels. */
static __always_inline struct request *traced_request(u64 *ctx)
{
	u64 request;

	if (bpf_core_type_exists(struct hd_struct)) {
		request = ctx[1];
		barrier_var(request); /* not a single load from either place, which the verifier
				       * rejects */
	} else {
		request = ctx[0];
	}
	return (struct request *)request;
}

/* Bytes of a stack searched for return addresses. */
#define SCHED_STACK 768

/* Stack pointer of a thread at switch-out. And a test for words that look like addresses of
 * kernel code or data: 1 in the second to last GB (see arch/x86/include/asm/page_64_types.h).
 * Not supported on aarch64. */
static __always_inline u64 task_stack_pointer(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return BPF_CORE_READ(task, thread.sp);
#else
	return 0;
#endif
}

static __always_inline u64 is_image_address(u64 word)
{
	u64 other = word >> 30 ^ 0xffffffff80000000ULL >> 30;

	return (other - 1) >> 63; /* branchless */
}

/* Cookie of a probe site; 0 before 5.15 (7adfc6c9b315). */
static __always_inline u64 site_cookie(void *ctx)
{
	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_attach_cookie))
		return 0;
	return bpf_get_attach_cookie(ctx);
}

/* Return value of the function at a kretprobe. */
static __always_inline s32 function_result(struct pt_regs *regs)
{
	return (s32)regs->REG_RESULT;
}

/* True if a thread is never in user mode, or no longer. */
static __always_inline bool task_is_kernels(struct task_struct *task)
{
	return task->flags & (PF_IO_WORKER | PF_EXITING | PF_SIGNALED);
}

/* Address of the request that a worker of io_uring has; 0: none, or not known. Global, to be
 * verified once. */
__noinline u64 worker_request(u64 address)
{
	struct task_struct *task = (struct task_struct *)address;
	struct io_worker *worker;

	if (!(BPF_CORE_READ(task, flags) & PF_IO_WORKER) ||
	    !bpf_core_field_exists(task->worker_private) ||
	    !bpf_core_field_exists(struct io_worker, cur_work))
		return 0;
	worker = BPF_CORE_READ(task, worker_private);
	return (u64)BPF_CORE_READ(worker, cur_work);
}

/* True if it works for io_uring or vhost, and sleeps without a request: in one it may sleep, too,
 * where that blocks. address: the task's. */
static __always_inline bool task_is_idle_worker(struct task_struct *task, u64 address,
						u32 task_state)
{
	return task->flags & (PF_IO_WORKER | PF_USER_WORKER) && task_state & TASK_INTERRUPTIBLE &&
	       !worker_request(address);
}

/* True if task_call() works. */
static __always_inline bool task_calls_are_reported(void)
{
#if defined(__TARGET_ARCH_x86)
	return true;
#else
	return bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs);
#endif
}

/* System call of a thread that is not running, or a KD_CALL_*. */
static __always_inline s32 task_call(struct task_struct *task)
{
	bool trusted = user_regs_are_trusted();
	struct pt_regs *from;
	s32 call;

	if (task_is_kernels(task))
		return KD_CALL_UNKNOWN;
	from = task_regs(task, trusted);
	if (!REG_LOAD(trusted, from, REG_IP))
		return KD_CALL_UNKNOWN;
	/* Interrupts and exceptions leave a negative number here. */
	call = (s32)REG_LOAD(trusted, from, REG_CALL);
	if (call < 0)
		return KD_CALL_NONE;
	return task_call_is_compat(task) ? call | KD_CALL_COMPAT : call;
}

#endif
