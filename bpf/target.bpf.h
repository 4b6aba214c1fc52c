/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Which tasks are the target's.
 *
 * Of one process all threads are: a task's TGID says it, for the price of a compare. With a
 * filter of threads, or several processes, those are that have a slot or were refused one
 * (kd_by_thread), for the price of a lookup. Then it is decided where threads begin, get another
 * name, or are found by the iterator, whether they get one. */
#ifndef TARGET_BPF_H
#define TARGET_BPF_H

#include <bpf/bpf_core_read.h>

#include "maps.bpf.h"

static __always_inline u16 *tid_entry(u32 tid)
{
	u32 page = tid / KD_TID_PAGE;
	struct kd_tid_page *tids = bpf_map_lookup_elem(&kd_tids, &page);

	return tids ? &tids->slot[tid % KD_TID_PAGE] : NULL;
}

static __always_inline bool task_is_ours(u32 tid, u32 tgid)
{
	u16 *entry;

	if (!kd_by_thread)
		return tgid == kd_tgid;
	entry = tid_entry(tid);
	return entry && *entry != KD_SLOT_FREE && *entry != KD_SLOT_UNWANTED;
}

/* Of bpf_get_current_pid_tgid(). */
static __always_inline bool current_is_ours(u64 pid_tgid)
{
	return task_is_ours((u32)pid_tgid, pid_tgid >> 32);
}

/* Of one of its tasks. */
static __always_inline u32 process_of(u64 task)
{
	return kd_many ? BPF_CORE_READ((struct task_struct *)task, tgid) : kd_tgid;
}

/* Where the last thread of one of its processes is kept that entered execve. */
static __always_inline u32 *exec_slot_of(u32 tgid)
{
	struct kd_process *process = kd_many ? bpf_map_lookup_elem(&kd_processes, &tgid) : NULL;

	return process ? &process->exec_slot : &kd_exec_slot;
}

/* When a process has mapped code last. 0: it is none of the target's. */
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

/* When it has begun to be one of several: with its TGID, which may be used again, this is its
 * identity. */
static __always_inline u64 process_began(u32 tgid)
{
	struct kd_process *process = kd_many ? bpf_map_lookup_elem(&kd_processes, &tgid) : NULL;

	return process ? process->began : 0;
}

/* Whether it is one of its processes, whose threads may be filtered. */
static __always_inline bool process_is_ours(u32 tgid)
{
	struct kd_process *process;

	if (!kd_many)
		return tgid == kd_tgid;
	process = bpf_map_lookup_elem(&kd_processes, &tgid);
	return process && !process->ended;
}

/* The same, or was until a moment ago: its last threads run on after its end, and then user space
 * takes it out. */
static __always_inline u32 process_was_ours(u32 tgid)
{
	return kd_many ? bpf_map_lookup_elem(&kd_processes, &tgid) != NULL
		       : is_zero(tgid ^ kd_tgid);
}

/* Whether a control group is the target's, or below it. */
static __noinline bool group_is_ours(struct cgroup *group)
{
	for (u32 i = 0; i < KD_GROUP_LEVELS && group; i++) {
		if (BPF_CORE_READ(group, kn, id) == kd_group)
			return true;
		group = BPF_CORE_READ(group, self.parent, cgroup);
	}
	return false;
}

/* Global, to be verified once: the name in two words. */
__noinline bool name_is_wanted(u64 first, u64 second)
{
	u64 words[2] = { first, second }, states = kd_names.starts;
	const u8 *name = (const u8 *)words;

#pragma unroll
	for (u32 i = 0; i < KD_COMM_LEN; i++) {
		if (!name[i])
			break;
		states = (states & kd_names.takes[name[i]]) << 1 | (states & kd_names.stays);
	}
	return states & kd_names.ends;
}

/* Whether a thread of one of its processes is to have a slot. */
static __always_inline bool thread_is_wanted(struct task_struct *task)
{
	if (kd_filter == KD_FILTER_NAMES)
		return name_is_wanted(((u64 *)task->comm)[0], ((u64 *)task->comm)[1]);
	return kd_filter == KD_FILTER_NONE;
}

#endif
