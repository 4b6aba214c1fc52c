// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* The programs: a table of contents. Their code is in the headers. */
#include "kernel_types.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "call.bpf.h"
#include "counter.bpf.h"
#include "fault.bpf.h"
#include "irq.bpf.h"
#include "process.bpf.h"
#include "resource.bpf.h"
#include "sched.bpf.h"
#include "seed.bpf.h"
#include "softirq.bpf.h"
#include "trace.bpf.h"
#include "trigger.bpf.h"
#include "upcall.bpf.h"

/* The kernel has no name for "Apache-2.0 or GPL-2.0": it takes them as GPL. */
char LICENSE[] SEC("license") = KD_LICENSE;

/* Tracepoints are raw: with BTF (tp_btf) where a program follows pointers in its arguments,
 * otherwise without, which saves libbpf and the verifier a type lookup for each.
 *
 * System calls: classic tracepoints where the kernel lets the raw ones be preempted. */
SEC("?tp_btf/sys_enter") int BPF_PROG(kd_sys_enter, struct pt_regs *regs, long id)
{
	call_enter(regs, id);
	return 0;
}

SEC("?raw_tp/sys_exit") int BPF_PROG(kd_sys_exit, struct pt_regs *regs, long ret)
{
	call_exit(ctx, ret);
	return 0;
}

SEC("?tp/raw_syscalls/sys_enter") int kd_sys_enter_classic(struct trace_event_raw_sys_enter *ctx)
{
	call_enter(NULL, ctx->id);
	return 0;
}

SEC("?tp/raw_syscalls/sys_exit") int kd_sys_exit_classic(struct trace_event_raw_sys_exit *ctx)
{
	call_exit(ctx, ctx->ret);
	return 0;
}

SEC("?tp_btf/sched_switch")
int BPF_PROG(kd_sched_switch, u64 preempt, struct task_struct *prev, struct task_struct *next)
{
	thread_switch(preempt, prev, next, switch_prev_state(ctx, prev));
	return 0;
}

SEC("?tp_btf/sched_waking") int BPF_PROG(kd_sched_waking, struct task_struct *task)
{
	if (wakeup_matters(task, false))
		thread_wake(ctx, task);
	return 0;
}

SEC("?tp_btf/sched_wakeup") int BPF_PROG(kd_sched_wakeup, struct task_struct *task)
{
	wakeup_pass(ctx, task, false);
	return 0;
}

SEC("?tp_btf/sched_wakeup_new") int BPF_PROG(kd_sched_wakeup_new, struct task_struct *task)
{
	wakeup_pass(ctx, task, true);
	return 0;
}

SEC("?tp_btf/sched_migrate_task")
int BPF_PROG(kd_sched_migrate_task, struct task_struct *task, int cpu)
{
	thread_move(task, cpu);
	return 0;
}

SEC("?tp_btf/sched_process_fork")
int BPF_PROG(kd_sched_process_fork, struct task_struct *parent, struct task_struct *child)
{
	process_fork(parent, child);
	thread_fork(child);
	return 0;
}

SEC("?tp_btf/sched_process_exec")
int BPF_PROG(kd_sched_process_exec, struct task_struct *task, u32 old_tid)
{
	thread_exec(task, old_tid);
	process_exec(task->tgid);
	if (KD_TRACES && kd_tracing && process_is_ours(task->tgid))
		maps_trace(task->tgid, task->pid, clock_now(), true);
	return 0;
}

/* Threads chosen by name. */
SEC("?tp_btf/task_rename")
int BPF_PROG(kd_task_rename, struct task_struct *task, const char *comm)
{
	thread_rename(task, comm);
	return 0;
}

/* Several processes. */
SEC("?tp_btf/sched_process_exit") int BPF_PROG(kd_process_exit, struct task_struct *task)
{
	process_exit(task);
	return 0;
}

SEC("?tp_btf/cgroup_attach_task")
int BPF_PROG(kd_group_attach, struct cgroup *group, const char *path, struct task_struct *task)
{
	process_move(group, task);
	return 0;
}

/* Attached in this order, the exits first: an interrupt that began before the one and ended before
 * the other would last until the next one on that CPU. */
SEC("?raw_tp/irq_handler_exit")
int BPF_PROG(kd_irq_handler_exit, int irq, struct irqaction *action, int ret)
{
	line_exit(irq, action, ret);
	return 0;
}

SEC("?raw_tp/irq_handler_entry") int BPF_PROG(kd_irq_handler_entry, int irq)
{
	irq_enter(true, line_vector(irq));
	return 0;
}

SEC("?raw_tp/softirq_exit") int BPF_PROG(kd_softirq_exit, unsigned int vector)
{
	softirq_exit(vector);
	return 0;
}

SEC("?raw_tp/softirq_entry") int BPF_PROG(kd_softirq_entry, unsigned int vector)
{
	irq_enter(false, vector);
	return 0;
}

SEC("?raw_tp/nmi_handler") int BPF_PROG(kd_nmi_handler, void *handler, s64 ns)
{
	nmi_handled(ns);
	return 0;
}

/* At the entries and exits of all interrupts without a line, see programs.c. */
SEC("?raw_tp") int BPF_PROG(kd_vector_entry, int vector)
{
	irq_enter(true, vector);
	return 0;
}

SEC("?raw_tp") int kd_vector_exit(void *ctx)
{
	vector_exit();
	return 0;
}

/* Page faults: their ends are perf events, see faults.c; where there is no tracepoint, their
 * begins, too. */
SEC("?raw_tp/page_fault_user") int BPF_PROG(kd_page_fault_user, u64 address, void *regs, u64 error)
{
	fault_begin(address, error);
	return 0;
}

SEC("?perf_event") int kd_fault_begin(struct bpf_perf_event_data *ctx)
{
	fault_begin(ctx->addr, 0);
	return 0;
}

SEC("?perf_event") int kd_minor_fault(void *ctx)
{
	fault_end(false);
	return 0;
}

SEC("?perf_event") int kd_major_fault(void *ctx)
{
	fault_end(true);
	return 0;
}

SEC("?raw_tp/signal_deliver")
int BPF_PROG(kd_signal_deliver, int signal, void *info, struct k_sigaction *action)
{
	signal_delivered(signal, action);
	return 0;
}

/* Senders of signals. */
SEC("?raw_tp/signal_generate")
int BPF_PROG(kd_signal_generate, int signal, void *info, struct task_struct *task)
{
	stop_sent(signal, (u64)info, (u64)task);
	return 0;
}

/* At the reclaim tracepoints of vmscan and compaction for the current thread, see
 * faults.c. */
SEC("?raw_tp") int kd_reclaim_begin(void *ctx)
{
	reclaim_begin();
	return 0;
}

SEC("?raw_tp") int kd_reclaim_end(void *ctx)
{
	reclaim_end();
	return 0;
}

SEC("?raw_tp/block_rq_complete") int BPF_PROG(kd_block_complete, struct request *request)
{
	request_completed(request);
	return 0;
}

SEC("?raw_tp/contention_begin") int BPF_PROG(kd_contention_begin, void *lock, u32 flags)
{
	contention_begin((u64)lock, flags);
	return 0;
}

SEC("?raw_tp/contention_end") int BPF_PROG(kd_contention_end, void *lock)
{
	contention_end((u64)lock);
	return 0;
}

/* Triggers: fifteen programs, of which a run loads one or two. They differ in
 * - the meaning of a hit: a start, a stop, or both;
 * - the attach point: probes in functions and USDT probes (_probe), tracepoints (_tracepoint), or
 *   the tracepoint of all system calls in place of those of single calls (_call), where programs
 *   at the latter may be preempted;
 * - how edges are set: by compare-and-swap, or with a token (_token), because the verifier rejects
 *   the former before 5.12 even in dead code. Kernels that need _call have it.
 * So these are constants at compile time, not just at load time. */
#define TRIGGER_AT(section, program, start, stop, atomic)                                          \
	SEC(section) int program(void *ctx)                                                        \
	{                                                                                          \
		trigger_hit(ctx, start, stop, atomic, true);                                       \
		return 0;                                                                          \
	}
#define TRIGGER(name, start, stop)                                                                 \
	TRIGGER_AT("?kprobe", kd_##name##_probe, start, stop, true)                                \
	TRIGGER_AT("?tp", kd_##name##_tracepoint, start, stop, true)                               \
	TRIGGER_AT("?kprobe", kd_##name##_probe_token, start, stop, false)                         \
	TRIGGER_AT("?tp", kd_##name##_tracepoint_token, start, stop, false)                        \
	SEC("?tp") int kd_##name##_call(struct trace_event_raw_sys_enter *ctx)                     \
	{                                                                                          \
		if (call_is_trigger(ctx, start ? KD_START : KD_STOP))                              \
			trigger_hit(ctx, start, stop, true, false);                                \
		return 0;                                                                          \
	}

TRIGGER(start, true, false)
TRIGGER(stop, false, true)
TRIGGER(both, true, true)

/* Only looked up in BTF for runs with triggers, because this takes time: sched_process_exit and
 * sched_process_exec. */
#define TRIGGER_ENDS(suffix, atomic)                                                               \
	SEC("?tp_btf") int BPF_PROG(kd_trigger_exit##suffix, struct task_struct *task)             \
	{                                                                                          \
		trigger_exit(task, atomic);                                                        \
		return 0;                                                                          \
	}                                                                                          \
	SEC("?tp_btf") int BPF_PROG(kd_trigger_exec##suffix, struct task_struct *task)             \
	{                                                                                          \
		trigger_exec(task, atomic);                                                        \
		return 0;                                                                          \
	}

TRIGGER_ENDS(, true)
TRIGGER_ENDS(_token, false)

SEC("?kretprobe/ovs_dp_upcall") int kd_upcall(struct pt_regs *regs)
{
	upcall_end(function_result(regs));
	return 0;
}

/* How late softirqs run. Only with --interruptions. */
SEC("?raw_tp") int BPF_PROG(kd_softirq_raise, unsigned int vector)
{
	softirq_raise(vector);
	return 0;
}

SEC("?raw_tp") int BPF_PROG(kd_softirq_begin, unsigned int vector)
{
	softirq_begin(vector);
	return 0;
}

/* Kinds of interrupts that end waits. Only with --off-cpu. */
SEC("?raw_tp") int kd_timer_begin(void *ctx)
{
	if (KD_TRACES)
		context_mark(KD_MARK_TIMER);
	return 0;
}

SEC("?raw_tp") int kd_timer_end(void *ctx)
{
	if (KD_TRACES)
		context_unmark(KD_MARK_TIMER);
	return 0;
}

SEC("?raw_tp") int kd_request_completed(void *ctx)
{
	if (KD_TRACES)
		context_mark(KD_MARK_DISK);
	return 0;
}

SEC("?raw_tp") int kd_packet_queued(void *ctx)
{
	if (KD_TRACES)
		context_sender();
	return 0;
}

SEC("?perf_event") int kd_sample(struct bpf_perf_event_data *ctx)
{
	if (KD_TRACES)
		sample_trace(ctx);
	return 0;
}

/* Counters. */
SEC("?raw_tp")
int BPF_PROG(kd_counters_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	counters_switch(next);
	return 0;
}

SEC("?raw_tp") int kd_counters_look(void *ctx)
{
	counters_look();
	return 0;
}

/* Run by user space. */
SEC("?raw_tp") int BPF_PROG(kd_function_name, u64 address)
{
	function_name(address);
	return 0;
}

SEC("?raw_tp") int kd_runqueue_find(void *ctx)
{
	runqueue_find();
	return 0;
}

SEC("?raw_tp") int BPF_PROG(kd_stack_top_read, u64 task)
{
	stack_top_read((struct task_struct *)task);
	return 0;
}

/* Resources. */
SEC("?raw_tp") int BPF_PROG(kd_io_exit, struct pt_regs *regs, long ret)
{
	io_exit(ret);
	return 0;
}

SEC("?tp") int kd_io_exit_classic(struct trace_event_raw_sys_exit *ctx)
{
	io_exit(ctx->ret);
	return 0;
}

SEC("?raw_tp") int BPF_PROG(kd_request_start, struct request *request)
{
	request_start(request);
	return 0;
}

SEC("?raw_tp") int kd_request_merged(u64 *ctx)
{
	request_forget(traced_request(ctx));
	return 0;
}

SEC("?raw_tp") int kd_request_begin(u64 *ctx)
{
	request_begin(traced_request(ctx));
	return 0;
}

SEC("?raw_tp")
int BPF_PROG(kd_request_end, struct request *request, int status, unsigned int bytes)
{
	request_end(request, bytes);
	return 0;
}

SEC("?raw_tp")
int BPF_PROG(kd_fork_count, struct task_struct *parent, struct task_struct *child)
{
	fork_count(child);
	return 0;
}

SEC("?raw_tp") int kd_exec_count(void *ctx)
{
	exec_count();
	return 0;
}

SEC("?raw_tp") int BPF_PROG(kd_segment_resent, struct sock *sk)
{
	segment_resent(sk);
	return 0;
}

SEC("?iter/task") int kd_open_calls_iter(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (KD_TRACES && task)
		open_call_trace(task);
	return 0;
}

SEC("?iter/task") int kd_task_iter(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (task)
		seed_visit(task);
	return 0;
}
