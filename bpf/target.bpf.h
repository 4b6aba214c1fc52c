/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Membership of tasks in the target.
 *
 * With a single process, a task belongs if its TGID is the target's. With a thread filter or
 * several processes (kd_by_thread), a task belongs if a lookup finds a slot or KD_SLOT_REFUSED.
 * Slots are then assigned when a thread begins, is renamed, or is found by the iterator. */
#ifndef TARGET_BPF_H
#define TARGET_BPF_H

#include <bpf/bpf_core_read.h>

#include "maps.bpf.h"

/* --- From a TID to its slot ---
 *
 * The hash kd_tids is authoritative. kd_tid_fronts has the number of TIDs in the hash with the same
 * low bits, and the slot of one of them. The front alone is enough if the number is 0, as for
 * nearly all other tasks, or if it has the wanted TID. No compare-and-swap is needed (5.10 has
 * none):
 * - A TID is counted from after its insertion into the hash until after its removal. The hash lets
 *   only one program insert or remove a TID. So TIDs in the hash are always looked up there.
 * - If two TIDs claim an empty front at once, one wins, and the other is found in the hash. A
 *   program empties a front where it finds its TID; one that just claims it is in the hash as well.
 * - A thread is added before it runs, or by the iterator, and removed when it runs for the last
 *   time; see slot_adopt(). It leaves the front before the hash, so that no front leads to a slot
 *   of another thread. The iterator may add a thread that is just ending, which is not removed: its
 *   slot then has another task, and the next thread with the TID replaces it. */

static __always_inline struct kd_tid_front *tid_front(u32 tid)
{
	u32 index = tid & (kd_tid_fronts_size - 1);

	return bpf_map_lookup_elem(&kd_tid_fronts, &index);
}

/* Slot of a TID, or one of the marks: for rare lookups. Global, to be verified once. */
__noinline u32 tid_slot_hashed(u32 tid)
{
	u32 *slot = bpf_map_lookup_elem(&kd_tids, &tid);

	return slot ? *slot : KD_SLOT_FREE;
}

/* Bounds the slot like a front's, for the verifier. */
static __always_inline u32 tid_slot_rarely(u32 tid)
{
	return tid_slot_hashed(tid) & 0xffff;
}

static __always_inline u32 front_slot(const struct kd_tid_front *front, u32 tid)
{
	u32 named = READ_ONCE(*(u32 *)front), slot = named & 0xffff;

	if (unlikely(named >> 16 != (tid >> KD_TID_BITS) + 1))
		slot = tid_slot_rarely(tid);
	return slot;
}

/* Slot of a TID that is most likely the target's. */
static __always_inline u32 tid_slot(u32 tid)
{
	struct kd_tid_front *front = tid_front(tid);

	return front ? front_slot(front, tid) : KD_SLOT_FREE;
}

#define TID_TRIES 2

/* Writes to the hash; KD_SLOT_FREE: removes. Retries if a lock is refused, see queue_take().
 * Global, like its caller. */
__noinline int tid_write(u32 tid, u32 slot, u64 flags)
{
	int error = 0;

	for (u32 i = 0; i < TID_TRIES; i++) {
		error = slot == KD_SLOT_FREE
				? (int)bpf_map_delete_elem(&kd_tids, &tid)
				: (int)bpf_map_update_elem(&kd_tids, &tid, &slot, flags);
		if (likely(error > -EBUSY || error == -EEXIST))
			break;
	}
	return error;
}

/* Maps the TID to this slot or mark; KD_SLOT_FREE: unmaps it. Returns whether that worked: there
 * may be no space. */
__noinline bool tid_set(u32 tid, u32 slot)
{
	struct kd_tid_front *front = tid_front(tid);
	u32 upper = (tid >> KD_TID_BITS) + 1, named, word;
	int error;

	if (!front)
		return false;
	named = READ_ONCE(*(u32 *)front);
	if (slot == KD_SLOT_FREE) {
		if (named >> 16 == upper)
			WRITE_ONCE(*(u32 *)front, 0);
		if (!tid_write(tid, slot, 0))
			__sync_fetch_and_add(&front->tids, -1);
		return true;
	}
	error = tid_write(tid, slot, BPF_NOEXIST);
	if (!error) {
		__sync_fetch_and_add(&front->tids, 1);
	} else if (tid_write(tid, slot, BPF_EXIST)) {
		loss_count(KD_LOSS_UNTRACKED);
		return false;
	}
	word = upper << 16 | slot;
	if (!named || named >> 16 == upper)
		WRITE_ONCE(*(u32 *)front, word);
	return true;
}

static __always_inline bool task_is_ours(u32 tid, u32 tgid)
{
	struct kd_tid_front *front;
	u32 slot;

	if (!kd_by_thread)
		return tgid == kd_tgid;
	front = tid_front(tid);
	if (!front || likely(!front->tids))
		return false;
	slot = front_slot(front, tid);
	return slot != KD_SLOT_FREE && slot != KD_SLOT_UNWANTED;
}

/* pid_tgid: from bpf_get_current_pid_tgid(). */
static __always_inline bool current_is_ours(u64 pid_tgid)
{
	return task_is_ours((u32)pid_tgid, pid_tgid >> 32);
}

/* TGID of a task in the target. */
static __always_inline u32 process_of(u64 task)
{
	return kd_many ? BPF_CORE_READ((struct task_struct *)task, tgid) : kd_tgid;
}

/* Slot of the last thread of a process that entered execve. */
static __always_inline u32 *exec_slot_of(u32 tgid)
{
	struct kd_process *process = kd_many ? bpf_map_lookup_elem(&kd_processes, &tgid) : NULL;

	return process ? &process->exec_slot : &kd_exec_slot;
}

/* Last time a process mapped code. 0: not in the target. */
static __always_inline u64 mapped_at_of(u32 tgid)
{
	struct kd_process *process;

	if (!kd_many)
		return READ_ONCE(kd_mapped_at);
	process = bpf_map_lookup_elem(&kd_processes, &tgid);
	if (!process)
		return 0;
	return READ_ONCE(process->mapped_at);
}

static __always_inline void mapped_at_set(u32 tgid, u64 t)
{
	struct kd_process *process;

	if (!kd_many) {
		WRITE_ONCE(kd_mapped_at, t);
		return;
	}
	process = bpf_map_lookup_elem(&kd_processes, &tgid);
	if (process)
		WRITE_ONCE(process->mapped_at, t);
}

/* Time when a process joined the target: identifies the process along with its TGID, which may be
 * reused. */
static __always_inline u64 process_began(u32 tgid)
{
	struct kd_process *process = kd_many ? bpf_map_lookup_elem(&kd_processes, &tgid) : NULL;

	return process ? process->began : 0;
}

/* True for a target process, whose threads may be filtered. */
static __always_inline bool process_is_ours(u32 tgid)
{
	struct kd_process *process;

	if (!kd_many)
		return tgid == kd_tgid;
	process = bpf_map_lookup_elem(&kd_processes, &tgid);
	return process && !process->ended;
}

/* True until user space removes the process: after its end the last threads still run. */
static __always_inline u32 process_was_ours(u32 tgid)
{
	return kd_many ? bpf_map_lookup_elem(&kd_processes, &tgid) != NULL
		       : is_zero(tgid ^ kd_tgid);
}

/* True if a cgroup is the target's, or below it. */
static __noinline bool group_is_ours(struct cgroup *group)
{
	for (u32 i = 0; i < KD_GROUP_LEVELS && group; i++) {
		if (BPF_CORE_READ(group, kn, id) == kd_group)
			return true;
		group = BPF_CORE_READ(group, self.parent, cgroup);
	}
	return false;
}

/* Global, to be verified once. */
__noinline bool name_is_wanted(u64 first, u64 second)
{
	return name_matches(&kd_names, first, second);
}

/* True if a thread of a target process should have a slot. */
static __always_inline bool thread_is_wanted(struct task_struct *task)
{
	if (kd_filter == KD_FILTER_NAMES)
		return name_is_wanted(((u64 *)task->comm)[0], ((u64 *)task->comm)[1]);
	return kd_filter == KD_FILTER_NONE;
}

#endif
