/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What a long wait was for, for traces.
 *
 * The lock is noted when the thread goes to sleep (lock.bpf.h, contention.bpf.h), the disk's
 * request at wakeup. Both are combined at switch-in, when the wait turns out to be long. */
#ifndef BLOCKER_BPF_H
#define BLOCKER_BPF_H

#include "descriptor.bpf.h"
#include "thread.bpf.h"

static __always_inline void blocker_clear(struct kd_blocker *blocker)
{
	__builtin_memset(blocker, 0, sizeof(*blocker));
}

static __always_inline bool awaits_disk(u32 awaited)
{
	return awaited == KD_AWAITED_DISK || awaited == KD_AWAITED_PAGE;
}

/* A thread that waits for a disk is woken at t. Global, to be verified once. */
TRACES_GLOBAL int blocker_wake(u32 slot, u64 t)
{
	struct kd_wait *wait = bpf_map_lookup_elem(&kd_waits, &slot);
	const struct kd_completion *last = request_at(t);

	if (!wait)
		return 0;
	wait->request_ns = last ? last->ns : 0;
	wait->request_disk = last ? last->disk : 0;
	return 0;
}

/* Reads the current name of a target thread. */
static __always_inline void holder_name(char comm[KD_COMM_LEN], const struct kd_thread *holder)
{
	if (holder->died)
		__builtin_memcpy(comm, holder->comm, KD_COMM_LEN);
	else
		bpf_probe_read_kernel(comm, KD_COMM_LEN,
				      (char *)holder->task +
					      bpf_core_field_offset(struct task_struct, comm));
}

/* Lock of a thread's last sleep, if any. */
static __always_inline void blocker_take_lock(struct kd_blocker *blocker,
					      const struct kd_thread *thread)
{
	const struct kd_locked *locked = &thread->locked;
	struct kd_thread *holder;

	if (!locked->address)
		return;
	blocker->lock = locked->address;
	blocker->lock_kind = locked->kind;
	blocker->holder = locked->holder;
	blocker->holder_tgid = locked->holder_tgid;
	if (!locked->holder)
		return;
	holder = slot_thread(locked->slot);
	if (locked->holder_tgid)
		__builtin_memcpy(blocker->holder_comm, locked->holder_comm, KD_COMM_LEN);
	else if (locked->slot && holder && holder->tid == locked->holder)
		holder_name(blocker->holder_comm, holder);
}

/* Blocker of a thread's last sleep, which has ended. */
static __always_inline void blocker_take(struct kd_blocker *blocker, const struct kd_thread *thread,
					 const struct kd_wait *wait)
{
	blocker_take_lock(blocker, thread);
	if (!awaits_disk(thread->awaited) || !wait->request_ns)
		return;
	blocker->request_ns = wait->request_ns;
	if (bpf_core_type_exists(struct gendisk) && wait->request_disk)
		bpf_probe_read_kernel_str(blocker->disk, KD_DISK_NAME,
					  (char *)wait->request_disk +
						  bpf_core_field_offset(struct gendisk, disk_name));
}

#endif
