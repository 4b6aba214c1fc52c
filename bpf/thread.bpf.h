/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Lookup of a thread's slot, the slot's life cycle, and the kernel's count of its run time. */
#ifndef THREAD_BPF_H
#define THREAD_BPF_H

#include "compat.bpf.h"
#include "maps.bpf.h"
#include "recorder.bpf.h"
#include "target.bpf.h"

/* --- The kernel's count of run time --- */

/* Measures the offset of CLOCK_MONOTONIC from the run queues' clocks. NTP slews only the former, so
 * each visit measures anew. Of one visit the smallest counts, since run queues' clocks lag until
 * they are updated. User space has just been switched in, so its CPU's clock is fresh. */
static __always_inline void exec_clock_read(void)
{
	struct rq *rq = task_rq((struct task_struct *)bpf_get_current_task());
	s64 skew;

	if (!rq)
		return;
	skew = bpf_ktime_get_ns() - BPF_CORE_READ(rq, clock);
	if (kd_clock_skew.visit != kd_visits || skew < kd_clock_skew.ns)
		kd_clock_skew.ns = skew;
	kd_clock_skew.visit = kd_visits;
}

/* sum_exec_runtime is only updated at ticks and switches. A running thread's time since then
 * follows from its run queue's clock. Returns 0 if unknown. Global, to be verified once, so the
 * task is an address. */
__noinline u64 exec_ns_now(u64 address)
{
	struct task_struct *task = (struct task_struct *)address;
	u64 t = bpf_ktime_get_ns(), exec_ns, exec_start, clock, clock_task;
	struct rq *rq;

	exec_ns = BPF_CORE_READ(task, se.sum_exec_runtime);
	if (!task_has_cpu(task))
		return exec_ns;
	rq = task_rq(task);
	if (!rq || !kd_clock_skew.visit)
		return 0;
	clock = BPF_CORE_READ(rq, clock) + kd_clock_skew.ns;
	clock_task = BPF_CORE_READ(rq, clock_task);
	exec_start = BPF_CORE_READ(task, se.exec_start);
	if (clock_task > exec_start)
		exec_ns += clock_task - exec_start;
	if (t > clock)
		exec_ns += t - clock;
	return exec_ns;
}

/* --- Slots --- */

static __always_inline u8 call_class(s32 call)
{
	return call_entry(call, kd_class, kd_compat_class);
}

struct target {
	u32 slot; /* KD_SLOT_FREE: not a target thread */
	struct kd_thread *thread;
};

static __always_inline struct kd_thread *slot_thread(u32 slot)
{
	return bpf_map_lookup_elem(&kd_threads, &slot);
}

/* Slot of a TID if its thread is the given one, else KD_SLOT_FREE. Marks and slot 0 have no thread,
 * so the verifier has fewer compares to follow. */
static __always_inline u32 slot_of(u32 tid, u64 task)
{
	u32 slot = tid_slot_rarely(tid);
	struct kd_thread *thread = slot_thread(slot);

	return thread && thread->task == task ? slot : KD_SLOT_FREE;
}

/* When a thread other than the leader calls execve, the two swap TIDs (de_thread() in fs/exec.c)
 * some time before sched_process_exec. The old leader may be switched out for the last time after
 * that. Until then each is found under the other's TID. */
static __noinline u32 slot_during_exec(u64 task)
{
	u32 slot = slot_of(process_of(task), task);
	struct kd_thread *thread;

	if (slot)
		return slot;
	slot = *exec_slot_of(process_of(task));
	thread = slot_thread(slot);
	/* The thread may no longer be followed: execve renames it. */
	return thread && thread->task == task && !thread->died ? slot : KD_SLOT_FREE;
}

/* Finds the thread of a task in the target. */
static __always_inline struct target target_find(u32 tid, u64 task)
{
	struct kd_tid_front *front = tid_front(tid);
	struct target target = {};

	if (!front)
		return target;
	target.slot = front_slot(front, tid);
	target.thread = slot_thread(target.slot);
	if (likely(target.thread && target.thread->task == task))
		return target;
	target.slot = slot_during_exec(task);
	target.thread = target.slot ? slot_thread(target.slot) : NULL;
	return target;
}

/* Slot of the current thread, by its task: interrupts and page faults may come in the middle of an
 * execve. Global: callers are not verified for each way to find it. */
__noinline u32 slot_running(void)
{
	return target_find((u32)bpf_get_current_pid_tgid(), bpf_get_current_task()).slot;
}

static __always_inline struct target target_running(void)
{
	struct target target = {};

	if (likely(!current_is_ours(bpf_get_current_pid_tgid())))
		return target;
	target.slot = slot_running();
	target.thread = target.slot ? slot_thread(target.slot) : NULL;
	return target;
}

/* State of a thread, which is the iterator's seed until the first event. */
static __always_inline u32 state_now(const struct kd_thread *thread)
{
	return thread->state ?: thread->seed_state;
}

/* Clears what the slot's previous thread left. */
static __always_inline void wait_forget(u32 slot)
{
	struct kd_wait *wait = bpf_map_lookup_elem(&kd_waits, &slot);
	struct kd_wakers *wakers = bpf_map_lookup_elem(&kd_wakers, &slot);

	if (wait)
		wait->ns = 0;
	if (wakers)
		wakers->by[0].from = KD_FROM_UNKNOWN;
}

/* Counts a thread without a slot. If none is free, or the thread may sleep long, it waits for the
 * next window; otherwise it is adopted at its next switch-in. */
static __always_inline void slot_refuse(u32 tid, u32 state, long error)
{
	loss_count(error == -ENOENT ? KD_LOSS_THREADS : KD_LOSS_UNTRACKED);
	if (error == -ENOENT || state == KD_UNSEEN || kd_by_thread)
		tid_set(tid, KD_SLOT_REFUSED);
}

/* No TID leads to the thread's slot any more: it would stay in its state for ever. Leaves it out of
 * the report. */
static __always_inline void thread_lose(struct kd_thread *thread, u64 t)
{
	thread->left = 1;
	thread->died = t;
	cpu_barrier();
	WRITE_ONCE(thread->state, KD_DEAD);
}

/* Gives the thread a slot in the given state. */
static __noinline u32 slot_take(struct task_struct *task, u32 state, u64 t)
{
	struct kd_thread *thread;
	u32 slot = KD_SLOT_FREE;
	long error;

	error = queue_take(&kd_free_slots, &slot);
	if (error) {
		slot_refuse(task->pid, state, error);
		return KD_SLOT_FREE;
	}
	thread = slot_thread(slot);
	if (!thread)
		return KD_SLOT_FREE;
	thread->since = t;
	thread->run_since = t;
	thread->tracked = t;
	thread->call = KD_CALL_UNKNOWN;
	thread->seed_call = KD_CALL_UNKNOWN; /* an event may come before the seed */
	thread->restart_call = KD_CALL_NONE;
	thread->exec_out = task->se.sum_exec_runtime;
	if (KD_TRACES && kd_note_ns != KD_UNWANTED)
		wait_forget(slot);
	thread->out_since = 0;
	thread->noted = thread->long_wait = 0;
	__builtin_memset(thread->long_sleeps, 0, sizeof(thread->long_sleeps));
	thread->user_ticks = 0;
	thread->looked.fd = -1;
	thread->cpu = task_cpu(task);
	thread->task = (u64)task;
	thread->stack = (u64)task->stack;
	thread->tid = task->pid;
	thread->tgid = task->tgid;
	thread->pid_level = BPF_CORE_READ(task, thread_pid, level);
	thread->process_began = process_began(thread->tgid);
	thread->state = state;
	if (!tid_set(task->pid, slot)) {
		thread_lose(thread, t);
		return KD_SLOT_FREE;
	}
	if (state)
		recorder_enter(KD_RECORDED_STATE, KD_UNSEEN, state, thread->tid, 0, t);
	return slot;
}

static __always_inline void thread_read_counts(struct kd_reading *reading, struct task_struct *task)
{
	reading->minor_faults = task->min_flt;
	reading->major_faults = task->maj_flt;
	reading->utime = task->utime;
	reading->stime = task->stime;
	reading->gtime = task->gtime;
}

/* Follows a thread without a fork event (an io_uring worker) from its wakeup or switch-in on. Until
 * the iterator has finished, older threads are left to it, and refused ones always. */
static __noinline u32 slot_adopt(struct task_struct *task, u64 t)
{
	u32 slot = tid_slot_rarely(task->pid);
	struct kd_thread *thread;

	if (slot == KD_SLOT_REFUSED || kd_attached_at == KD_NEVER)
		return KD_SLOT_FREE;
	/* During an execve the slot is another thread's. */
	if (kd_by_thread && slot != KD_SLOT_FREE && slot != KD_SLOT_UNWANTED)
		return KD_SLOT_FREE;
	if (!kd_seeded && task->start_time < kd_attached_at)
		return KD_SLOT_FREE;
	slot = slot_take(task, KD_READY_WOKEN, t);
	thread = slot ? slot_thread(slot) : NULL;
	if (!thread)
		return KD_SLOT_FREE;
	thread->born = t;
	thread->call = task_call(task);
	thread->call_since = t;
	thread->readings[KD_AT_OPEN].at = t;
	thread->readings[KD_AT_OPEN].exec_ns = task->se.sum_exec_runtime;
	thread_read_counts(&thread->readings[KD_AT_OPEN], task);
	return slot;
}

/* Copies two words, because the verifier walks the type for each load. */
static __always_inline void thread_read_comm(struct kd_thread *thread, struct task_struct *task)
{
	((u64 *)thread->comm)[0] = ((u64 *)task->comm)[0];
	((u64 *)thread->comm)[1] = ((u64 *)task->comm)[1];
}

/* Ends a thread whose TID was reused before its last switch, which will not be found. */
static __always_inline void thread_replace(u32 slot, u32 tid, u64 t)
{
	struct kd_thread *thread = slot_thread(slot);

	if (!thread || thread->tid != tid || thread->died || !thread->task)
		return;
	thread->died = t;
	recorder_enter(KD_RECORDED_STATE, thread->state, KD_DEAD, tid, 0, t);
	cpu_barrier();
	WRITE_ONCE(thread->state, KD_DEAD);
}

static __always_inline void thread_fork(struct task_struct *child)
{
	struct kd_thread *thread;
	u64 t;
	u32 slot;

	if ((!kd_by_thread && child->tgid != kd_tgid) ||
	    child->start_time < READ_ONCE(kd_attached_at))
		return;
	t = clock_now();
	slot = tid_slot_rarely(child->pid);
	if (slot != KD_SLOT_FREE) { /* left by the last thread with this TID */
		thread_replace(slot, child->pid, t);
		tid_set(child->pid, KD_SLOT_FREE);
	}
	if (kd_by_thread && !process_is_ours(child->tgid))
		return;
	if (!thread_is_wanted(child)) {
		tid_set(child->pid, KD_SLOT_UNWANTED);
		return;
	}
	slot = slot_take(child, KD_READY_WOKEN, t);
	thread = slot ? slot_thread(slot) : NULL;
	if (!thread)
		return;
	thread->born = t;
	/* Notes the parent's name: the iterator and the thread's end miss a thread that is reaped
	 * before it is switched out. */
	thread_read_comm(thread, child);
}

/* Ends a thread that was switched out for the last time, or is no longer followed. */
static __noinline void thread_end(struct kd_thread *thread, struct task_struct *task, u64 t)
{
	thread_read_comm(thread, task);
	thread->readings[KD_AT_DEATH].at = t;
	thread->readings[KD_AT_DEATH].exec_ns = task->se.sum_exec_runtime;
	thread->readings[KD_AT_DEATH].run_ns = thread->run_ns;
	thread->readings[KD_AT_DEATH].stolen_ns = thread->stolen_ns;
	thread_read_counts(&thread->readings[KD_AT_DEATH], task);
	thread->died = t;
}

/* Frees the TID of a thread that has ended, unless it was reused. */
static __noinline void tid_leave(struct kd_thread *thread, struct task_struct *task)
{
	struct kd_thread *other = slot_thread(tid_slot_rarely(task->pid));

	if (other && other != thread && other->task != (u64)task)
		return;
	/* An execve of another thread has swapped both TIDs: the entry is that thread's, even if it
	 * got no slot. */
	if (other != thread && thread->tid != task->pid)
		return;
	tid_set(task->pid,
		kd_by_thread && task->pid == task->tgid && BPF_CORE_READ(task, signal, live.counter)
			? KD_SLOT_EXEC
			: KD_SLOT_FREE);
}

/* Removes this mark of an ended thread. */
__noinline int tid_unmark(u32 tid, u32 mark)
{
	if (tid_slot_rarely(tid) == mark)
		tid_set(tid, KD_SLOT_FREE);
	return 0;
}

/* True if the ending thread takes all others along, or is the last one. */
static __always_inline bool process_ends(struct task_struct *task)
{
	u32 flags = BPF_CORE_READ(task, signal, flags);

	return flags & (SIGNAL_GROUP_EXIT | SIGNAL_GROUP_COREDUMP) ||
	       !BPF_CORE_READ(task, signal, live.counter);
}

/* True if the leader ends in an execve of a thread without a slot, and has that thread's TID. */
static __always_inline bool leader_ends(struct task_struct *task, u32 task_state)
{
	return kd_by_thread && unlikely(task_state & TASK_DEAD) &&
	       slot_of(process_of((u64)task), (u64)task);
}

/* Handles that a thread without a slot took over the leader's TID. If the leader's last switch is
 * still to come, the new TID leads to the leader. */
static __always_inline void slot_abandon(struct task_struct *task)
{
	u32 slot = tid_slot_rarely(task->pid), tid, other;
	struct kd_thread *thread = slot_thread(slot);
	struct task_struct *leader;

	if (slot == KD_SLOT_FREE || !thread || thread->task == (u64)task)
		return;
	tid_set(task->pid, KD_SLOT_UNWANTED);
	/* The leader's last switch was found, and the slot may be free or reused by now. */
	if (thread->tid != task->pid || thread->died)
		return;
	leader = (struct task_struct *)thread->task; /* its TID now may differ from its slot's */
	tid = BPF_CORE_READ(leader, pid);
	other = tid_slot_rarely(tid);
	if (tid != task->pid && (other == KD_SLOT_FREE || other == KD_SLOT_UNWANTED)) {
		tid_set(tid, slot);
		return;
	}
	thread_lose(thread, clock_now());
}

/* Moves the thread that called execve to the leader's TID. */
static __always_inline void thread_exec(struct task_struct *task, u32 old_tid)
{
	struct kd_thread *thread;
	u32 slot, leader;

	if (!process_is_ours(task->tgid) || task->pid == old_tid)
		return;
	slot = tid_slot_rarely(old_tid);
	leader = tid_slot_rarely(task->pid);
	thread = slot_thread(leader);
	if (thread && thread->task == (u64)task) /* got one through its name, see thread_rename() */
		return;
	if (kd_by_thread && (slot == KD_SLOT_FREE || slot == KD_SLOT_UNWANTED)) {
		if (leader == KD_SLOT_EXEC)
			tid_set(task->pid, slot);
		else
			slot_abandon(task);
		tid_unmark(old_tid, KD_SLOT_UNWANTED);
		return;
	}
	tid_set(task->pid, slot);
	thread = slot_thread(leader);
	tid_set(old_tid,
		thread && thread->tid == task->pid && !thread->died ? leader : KD_SLOT_FREE);
	thread = slot_thread(slot);
	if (!thread || thread->task != (u64)task)
		return;
	recorder_enter(KD_RECORDED_STATE, thread->state, KD_DEAD, old_tid, 0, clock_now());
	thread->tid = task->pid;
}

/* State of a thread on a CPU. */
static __always_inline u32 thread_running_state(const struct kd_thread *thread)
{
	if (unlikely(thread->reclaim))
		return KD_RECLAIM;
	if (thread->call != KD_CALL_NONE)
		return KD_KERNEL;
	return unlikely(thread->fault) && thread->fault == READ_ONCE(kd_fault_gen) ? KD_FAULT
										   : KD_USER;
}

/* Sets the state last: a waker on another CPU that reads it also reads all that led to it
 * (sched_waking holds no run queue lock). Time is never counted twice: see elapsed(). */
static __always_inline void thread_begin(struct kd_thread *thread, u32 state, u64 t)
{
	thread->since += elapsed(thread->since, t);
	thread->before = thread->state;
	cpu_barrier();
	WRITE_ONCE(thread->state, state);
}

/* Enters a state at t. by, what: the recorded event, and its data. */
static __always_inline void thread_enter(struct kd_thread *thread, u32 state, u64 t,
					 enum kd_recorded_kind by, u32 what)
{
	if (recorder_is_on())
		recorder_put_here(recorder_word(by, recorder_detail(thread->state, state), t),
				  thread->tid, what);
	thread_begin(thread, state, t);
}

/* Enters a state at a rare event. */
static __always_inline void thread_enter_rarely(struct kd_thread *thread, u32 state, u64 t,
						enum kd_recorded_kind by, u32 what)
{
	recorder_enter(by, thread->state, state, thread->tid, what, t);
	thread_begin(thread, state, t);
}

/* State of the thread; adopts the iterator's seed at the first event. */
static __always_inline u32 thread_state(struct kd_thread *thread)
{
	if (unlikely(thread->state == KD_UNSEEN)) {
		thread->call = thread->seed_call;
		thread->awaited = thread->seed_awaited;
		thread->at = thread->seed_at;
		thread->slept_in = thread->seed_call;
		thread->on_cpu = kd_is_running(thread->seed_state);
		thread->state = thread->seed_state;
		thread->out_since = thread->since;
		thread->out_state = thread->seed_state;
	}
	return thread->state;
}

#endif
