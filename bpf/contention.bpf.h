/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Kernel locks that threads sleep for, and their holders.
 *
 * The tracepoints (since 5.19, 16edd9b511a1) fire when a lock is contended. Spinning is running;
 * a mutex spins first, and may spin again. So a wait is the sleep between the two tracepoints,
 * and the owner is read at switch-out. */
#ifndef CONTENTION_BPF_H
#define CONTENTION_BPF_H

#include "lock.bpf.h"

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
	u32 tid, tgid;

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
	tgid = BPF_CORE_READ(owner, tgid);
	locked->slot = slot_of(tid, (u64)owner);
	if (only_live && !locked->slot)
		return 0;
	locked->holder = tid;
	holder = slot_thread(locked->slot);
	if (locked->slot && holder)
		activity_begin(slot, locked, t);
	if (tgid == process_of(thread->task))
		return 0;
	locked->holder_tgid = tgid;
	bpf_probe_read_kernel(locked->holder_comm, KD_COMM_LEN,
			      (char *)owner + bpf_core_field_offset(struct task_struct, comm));
	return 0;
}

#endif
