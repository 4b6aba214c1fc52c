/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Holders of futexes that threads sleep for, and what they do meanwhile.
 *
 * The kernel does not know who holds a futex. But C library locks that store their owner have it
 * in nearby memory, which is read at switch-out, so that only blocking waits pay. The memory may
 * contain anything: the named TID must be a live thread of the target, or of another process if the
 * lock is one that processes share, or else there is no holder. */
#ifndef LOCK_BPF_H
#define LOCK_BPF_H

#include "awaited.bpf.h"
#include "thread.bpf.h"
#include "window.bpf.h"

#define ACTIVITY_TRIES 3

/* Reads the holder's times until t into the thread's locked.now. Returns false if another CPU
 * was just changing them. Global, to be verified once, not per try. */
__noinline bool activity_read(u32 slot, u32 holder, u64 t)
{
	struct kd_thread *waiter = slot_thread(slot), *thread = slot_thread(holder);
	u64 since, run_since;
	struct kd_activity *now;
	u32 state;

	if (!waiter || !thread)
		return true;
	now = &waiter->locked.now;
	since = READ_ONCE(thread->since);
	cpu_barrier();
	run_since = READ_ONCE(thread->run_since);
	state = READ_ONCE(thread->state);
	if (state == KD_UNSEEN)
		state = thread->seed_state;
	now->running = READ_ONCE(thread->run_ns);
	now->ready = READ_ONCE(thread->ready_ns);
	now->asleep = READ_ONCE(thread->asleep_ns);
	if (kd_is_running(state))
		now->running += elapsed(run_since, t);
	else if (state == KD_READY_WOKEN || state == KD_READY_PREEMPTED)
		now->ready += elapsed(since, t);
	else if (state == KD_BLOCKED || state == KD_BLOCKED_UNINT)
		now->asleep += elapsed(since, t);
	cpu_barrier();
	return since == READ_ONCE(thread->since);
}

static __always_inline void activity_until(u32 slot, u32 holder, u64 t)
{
	for (int i = 0; i < ACTIVITY_TRIES; i++)
		if (activity_read(slot, holder, t))
			return;
}

/* A wait begins. */
static __always_inline void activity_begin(u32 slot, struct kd_locked *locked, u64 t)
{
	activity_until(slot, locked->slot, t);
	locked->before = locked->now;
}

/* Slot of another live target thread, KD_SLOT_FREE if it is not one. */
static __always_inline u32 slot_of_holder(u32 tid, struct kd_thread *waiter)
{
	u32 slot = tid && tid != waiter->tid ? tid_slot(tid) : KD_SLOT_FREE;
	struct kd_thread *holder;

	holder = slot_thread(slot);
	return holder && holder->tid == tid && !holder->died ? slot : KD_SLOT_FREE;
}

/* True if it is a target thread that is not followed. */
static __always_inline bool holder_is_unwanted(u32 tid)
{
	return kd_filter != KD_FILTER_NONE && tid && tid_slot(tid) == KD_SLOT_UNWANTED;
}

/* --- Tasks by their TIDs in a PID namespace --- */

#define XA_MARKS 3 /* low bits of an entry: include/linux/xarray.h */
#define XA_NODE 2
#define XA_NODES_FROM 4096
#define TID_NODES 4 /* 6 bits each: PID_MAX_LIMIT is 2^22 */

/* What a namespace has at this TID. Read without a lock, so it may be anything. */
static __always_inline struct pid *pid_of_tid(struct pid_namespace *namespace, u32 tid)
{
	u64 entry = (u64)BPF_CORE_READ(namespace, idr.idr_rt.xa_head);
	u32 slots = bpf_core_field_size(struct xa_node, slots) / sizeof(void *);

	for (int i = 0; i < TID_NODES; i++) {
		struct xa_node *node = (struct xa_node *)(entry - XA_NODE);
		u32 index;

		if ((entry & XA_MARKS) != XA_NODE || entry <= XA_NODES_FROM)
			break;
		index = (tid >> (BPF_CORE_READ(node, shift) & 31)) & (slots - 1);
		entry = 0;
		bpf_probe_read_kernel(&entry, sizeof(entry),
				      (char *)node + bpf_core_field_offset(struct xa_node, slots) +
					      index * sizeof(void *));
	}
	return entry & XA_MARKS ? NULL : (struct pid *)entry;
}

/* Address of the live task with this TID in a task's PID namespace of this level; 0: none. Global,
 * to be verified once. */
__noinline u64 task_of_tid(u64 near, u32 level, u32 tid)
{
	u64 offset = bpf_core_field_offset(struct pid, numbers) +
		     (level & 31) * bpf_core_type_size(struct upid);
	struct pid *pid = BPF_CORE_READ((struct task_struct *)near, thread_pid);
	struct pid_namespace *namespace = BPF_CORE_READ((struct upid *)((u64)pid + offset), ns);
	struct task_struct *task;
	struct upid *number;

	pid = pid_of_tid(namespace, tid);
	number = (struct upid *)((u64)pid + offset);
	if (!tid || !pid || BPF_CORE_READ(pid, level) < level || BPF_CORE_READ(number, nr) != tid ||
	    BPF_CORE_READ(number, ns) != namespace)
		return 0;
	task = (struct task_struct *)BPF_CORE_READ(pid, tasks[0].first);
	if (!task)
		return 0;
	task = (void *)task - bpf_core_field_offset(struct task_struct, pid_links);
	return BPF_CORE_READ(task, exit_state) ? 0 : (u64)task;
}

/* Notes a holder in another process. */
static __always_inline void holder_outside(struct kd_locked *locked, struct task_struct *holder)
{
	locked->holder_tgid = BPF_CORE_READ(holder, tgid);
	locked->holder_parent = BPF_CORE_READ(holder, real_parent, tgid);
	bpf_probe_read_kernel(locked->holder_comm, KD_COMM_LEN,
			      (char *)holder + bpf_core_field_offset(struct task_struct, comm));
}

/* --- Futexes --- */

/* True if the memory may name a holder. Most futex values do not, such as those of condition
 * variables, and reading the memory takes longer than the rest of this. In a PID namespace any
 * small number may be a TID: pthread_join() has a futex that is not private. */
static __always_inline bool holder_may_be_named(u32 operation, u32 value, struct kd_thread *waiter)
{
	if (kd_futex_is_pi(operation))
		return true;
	if (!kd_futex_waits(operation))
		return false;
	if (kd_futex_is_held(value))
		return true;
	return waiter->pid_level ? !(operation & KD_FUTEX_PRIVATE)
				 : slot_of_holder(value, waiter) || holder_is_unwanted(value);
}

/* Finds who holds a lock that another process may hold (shared), or that lies in a PID namespace.
 * tid: as the waiting thread has it. Returns the TID as we have it. */
static __always_inline u32 holder_look(u32 tid, bool shared, struct kd_thread *waiter)
{
	struct kd_locked *locked = &waiter->locked;
	u64 task = task_of_tid(waiter->task, waiter->pid_level, tid);
	struct task_struct *holder = (struct task_struct *)task;

	if (!task)
		return 0;
	tid = BPF_CORE_READ(holder, pid);
	locked->slot = slot_of_holder(tid, waiter);
	if (locked->slot || BPF_CORE_READ(holder, tgid) == process_of(waiter->task))
		return tid;
	if (!shared)
		return 0;
	holder_outside(locked, holder);
	return tid;
}

/* A thread goes to sleep in futex(address, operation, value). Global, to be verified once. */
__noinline int lock_begin(u32 slot, u64 address, u32 operation, u32 value, u64 t)
{
	struct kd_thread *thread = slot_thread(slot), *holder;
	struct kd_locked *locked;
	u32 words[KD_FUTEX_WORDS] = {}, kind = KD_LOCK_NO_OWNER, shared, tid;

	if (!thread)
		return 0;
	locked = &thread->locked;
	locked->address = address;
	locked->kind = KD_LOCK_NO_OWNER;
	locked->holder = locked->holder_tgid = locked->slot = 0;
	if (!holder_may_be_named(operation, value, thread)) {
		locked->kind = KD_LOCK_CONDITION;
		return 0;
	}
	if (bpf_probe_read_user(words, sizeof(words), (void *)address) &&
	    bpf_probe_read_user(words, sizeof(u32), (void *)address))
		return 0;
	tid = kd_futex_holder(words, operation, value, &kind, &shared);
	if (!thread->pid_level)
		locked->slot = slot_of_holder(tid, thread);
	if (thread->pid_level || (shared && !locked->slot && !holder_is_unwanted(tid)))
		tid = holder_look(tid, shared, thread);
	holder = slot_thread(locked->slot);
	/* A private futex is only known to threads of its own process. */
	if (kd_many && operation & KD_FUTEX_PRIVATE && holder && holder->tgid != thread->tgid)
		return 0;
	if ((!locked->slot || !holder) && !holder_is_unwanted(tid) && !locked->holder_tgid)
		return 0;
	locked->kind = kind;
	locked->holder = tid;
	if (locked->slot && holder)
		activity_begin(slot, locked, t);
	return 0;
}

/* The current thread goes to sleep for a lock in user space. Global, to be verified once. */
__noinline int lock_sleep(u32 slot, u64 t)
{
	struct kd_thread *thread = slot_thread(slot);
	struct futex_arguments futex = {};

	if (thread && current_futex(thread->call, &futex))
		lock_begin(slot, futex.address, futex.operation, futex.value, t);
	return 0;
}

/* Difference between two moments, as far as it fits the wait. Branchless, because the verifier
 * would follow each case. */
static __always_inline u64 activity_share(u64 now, u64 before, u64 *left)
{
	u64 ns = lesser(elapsed(before, now), *left);

	*left -= ns;
	return ns;
}

/* left: length of the wait. */
static __always_inline void holder_add(struct kd_lock_waits *waits, u32 slot,
				       const struct kd_locked *locked, u64 left, u64 t)
{
	struct kd_thread *holder = slot_thread(locked->slot);
	const struct kd_activity *before = &locked->before, *now = &locked->now;
	u64 asleep;

	if (!locked->holder || !holder || holder->tid != locked->holder)
		return;
	activity_until(slot, locked->slot, t);
	asleep = activity_share(now->asleep, before->asleep, &left);
	waits->meanwhile.asleep += asleep;
	waits->meanwhile.ready += activity_share(now->ready, before->ready, &left);
	waits->meanwhile.running += activity_share(now->running, before->running, &left);
	if (asleep)
		waits->slept_in = holder->state == KD_UNSEEN ? holder->seed_call : holder->slept_in;
}

/* Adds a wait that ends at t to the window of this generation. in_progress: it is the window
 * that ends. */
__noinline int lock_add(u32 slot, u64 gen, u32 released_by, u64 t, bool in_progress)
{
	struct kd_thread *thread = slot_thread(slot);
	struct kd_lock_waits none = { .slept_in = KD_CALL_NONE }, *waits;
	struct kd_lock_key key = { .gen = gen, .slot = slot, .in_progress = in_progress };
	u64 ns;

	if (!thread)
		return 0;
	key.address = thread->locked.address;
	key.holder = thread->locked.holder;
	key.kind = thread->locked.kind;
	waits = TABLE_ROW(kd_locks, &key, &none, KD_LOSS_LOCKS);
	if (!waits)
		return 0;
	ns = elapsed(thread->since, t);
	count_add(&waits->waits, thread->since, ns);
	holder_add(waits, slot, &thread->locked, ns, t);
	waits->holder_tgid = thread->locked.holder_tgid;
	waits->holder_parent = thread->locked.holder_parent;
	if (waits->holder_tgid)
		__builtin_memcpy(waits->holder_comm, thread->locked.holder_comm, KD_COMM_LEN);
	if (in_progress)
		return 0;
	if (ns >= KD_CALLER_NS && ns >= waits->waits.max && thread->call != KD_CALL_NONE) {
		thread->waited = (struct kd_waited){ gen, key.address, ns };
		thread->long_wait = 1;
	}
	if (key.holder && released_by && released_by != key.holder)
		waits->others++;
	if (released_by && released_by != waits->released_by)
		bpf_get_current_comm(waits->released_comm, sizeof(waits->released_comm));
	waits->released_by = released_by;
	return 0;
}

/* Adds the wait to each window open at t, and to ended windows that are still unread. */
__noinline int lock_across(u32 slot, u32 released_by, u64 t)
{
	struct kd_thread *thread = slot_thread(slot);
	struct overlap overlap;

	if (!thread)
		return 0;
	FOR_EACH_BANK(bank)
	{
		if (window_overlap(bank, thread->since, t, &overlap))
			lock_add(slot, overlap.gen, released_by, overlap.to, overlap.to < t);
	}
	return 0;
}

/* The current thread, or 0 if an interrupt hit it: a timeout. Interrupts on the target's own
 * threads are tracked. */
static __always_inline u32 released_by(void *ctx)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	u32 tid = (u32)pid_tgid;
	struct kd_thread *thread;

	if (!current_is_ours(pid_tgid))
		return !tid || in_interrupt(ctx) ? 0 : tid;
	thread = slot_thread(tid_slot(tid));
	return thread && (thread->hardirq.since || thread->softirq.since) ? 0 : tid;
}

/* --- Locks of the kernel --- */

/* The tracepoints (since 5.19, 16edd9b511a1) fire when a lock is contended. Spinning is running;
 * a mutex spins first, and may spin again. So a wait is the sleep between the two tracepoints,
 * and the owner is read at switch-out. */

/* Low bits of owners: kernel/locking/mutex.h, rwsem.c, rtmutex_common.h. */
#define OWNER_FLAGS 7UL
#define RTMUTEX_OWNER_FLAGS 1UL
#define RWSEM_READER_OWNED 1UL /* the owner is, or was, one of several readers */

/* Called for every contended lock on the machine, mostly spinning ones. */
static __always_inline void contention_begin(u64 lock, u32 flags)
{
	struct kd_contended *contended;
	struct target target;

	if (likely(flags & LCB_F_SPIN))
		return;
	target = target_running();
	if (!target.thread)
		return;
	contended = &target.thread->contended;
	contended->lock = lock;
	contended->flags = flags;
	contended->call_since = target.thread->call_since;
}

/* An interrupt may have waited for another lock in between. */
static __always_inline void contention_end(u64 lock)
{
	struct target target = target_running();

	if (target.thread && target.thread->contended.lock == lock)
		target.thread->contended.lock = 0;
}

static __always_inline u32 contended_kind(const struct kd_contended *contended,
					  struct task_struct *task)
{
	u64 mm = (u64)BPF_CORE_READ(task, mm);
	u32 flags = contended->flags;
	bool write = flags & LCB_F_WRITE;

	if (flags & LCB_F_MUTEX)
		return KD_LOCK_KERNEL_MUTEX;
	if (flags & LCB_F_PERCPU)
		return write ? KD_LOCK_KERNEL_PERCPU_WRITE : KD_LOCK_KERNEL_PERCPU_READ;
	if (!(flags & (LCB_F_READ | LCB_F_WRITE)))
		return flags & LCB_F_RT ? KD_LOCK_KERNEL_RTMUTEX : KD_LOCK_KERNEL_SEMAPHORE;
	if (mm && contended->lock == mm + bpf_core_field_offset(struct mm_struct, mmap_lock))
		return write ? KD_LOCK_KERNEL_MMAP_WRITE : KD_LOCK_KERNEL_MMAP_READ;
	return write ? KD_LOCK_KERNEL_RWSEM_WRITE : KD_LOCK_KERNEL_RWSEM_READ;
}

/* Task that holds the lock, as far as the lock tells; NULL: it does not. *only_live: the task
 * may have ended. */
static __always_inline struct task_struct *contended_owner(const struct kd_contended *contended,
							   u32 kind, bool *only_live)
{
	u64 lock = contended->lock, owner = 0;

	if (kind == KD_LOCK_KERNEL_SEMAPHORE || kind == KD_LOCK_KERNEL_PERCPU_READ ||
	    kind == KD_LOCK_KERNEL_PERCPU_WRITE)
		return NULL;
	if (contended->flags & LCB_F_RT) {
		if (contended->flags & (LCB_F_READ | LCB_F_WRITE) &&
		    bpf_core_field_exists(struct rwbase_rt, rtmutex))
			lock += bpf_core_field_offset(struct rwbase_rt, rtmutex);
		if (bpf_core_field_exists(struct rt_mutex_base, owner))
			owner = (u64)BPF_CORE_READ((struct rt_mutex_base *)lock, owner);
		return (struct task_struct *)(owner & ~RTMUTEX_OWNER_FLAGS);
	}
	if (kind == KD_LOCK_KERNEL_MUTEX && bpf_core_field_exists(struct mutex, owner))
		owner = BPF_CORE_READ((struct mutex *)lock, owner.counter);
	else if (kind != KD_LOCK_KERNEL_MUTEX && bpf_core_field_exists(struct rw_semaphore, owner))
		owner = BPF_CORE_READ((struct rw_semaphore *)lock, owner.counter);
	/* The last of several readers, which may have released the lock by now, or ended. */
	if (kind != KD_LOCK_KERNEL_MUTEX && owner & RWSEM_READER_OWNED)
		*only_live = true;
	return (struct task_struct *)(owner & ~OWNER_FLAGS);
}

/* A thread goes to sleep for a kernel lock. Global, to be verified once. */
__noinline int contention_sleep(u32 slot, u64 t)
{
	struct kd_thread *thread = slot_thread(slot), *holder;
	struct kd_locked *locked;
	struct task_struct *owner;
	bool only_live = false;
	u32 tid;

	if (!thread)
		return 0;
	locked = &thread->locked;
	locked->address = thread->contended.lock;
	locked->kind = contended_kind(&thread->contended, (struct task_struct *)thread->task);
	locked->holder = locked->holder_tgid = locked->slot = 0;
	/* From memory: the verifier continues with one unknown number. */
	owner = contended_owner(&thread->contended, READ_ONCE(locked->kind), &only_live);
	if (!owner)
		return 0;
	tid = BPF_CORE_READ(owner, pid);
	locked->slot = slot_of(tid, (u64)owner);
	if (only_live && !locked->slot && task_of_tid(thread->task, 0, tid) != (u64)owner)
		return 0;
	locked->holder = tid;
	holder = slot_thread(locked->slot);
	if (locked->slot && holder)
		activity_begin(slot, locked, t);
	if (BPF_CORE_READ(owner, tgid) != process_of(thread->task))
		holder_outside(locked, owner);
	return 0;
}

#endif
