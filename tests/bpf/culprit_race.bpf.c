/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Two CPUs give one entry of kd_culprits away, again and again: what keys they get, and whether an
 * entry is what its key was given for. And both look at one limit, which has an entry. */
#include "bpf/kernel_types.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "bpf/culprit.bpf.h"
#include "bpf/limit.bpf.h"
#include "culprit_race.h"

char LICENSE[] SEC("license") = "GPL";

struct racer racers[RACERS];
struct limit limits[RACERS];

/* Whether all of the entry is this racer's, while it has the key that it was given. */
static __always_inline bool is_mixed(const struct kd_culprit *culprit, u32 key,
				     const struct kd_culprit *is)
{
	u64 differs = (culprit->start ^ is->start) | (culprit->used ^ is->used) |
		      (culprit->tid ^ is->tid) | (culprit->last ^ is->last) |
		      (culprit->tgid ^ is->tgid) | (culprit->prio ^ is->prio) |
		      (*(const u64 *)culprit->comm ^ *(const u64 *)is->comm) |
		      (*(const u64 *)culprit->process ^ *(const u64 *)is->comm);

	barrier();
	return differs && READ_ONCE(culprit->key) == key;
}

/* Global, to be verified once. */
__noinline int race_once(u32 who, u32 i)
{
	u64 task = bpf_get_current_task();
	struct kd_culprit is = { .start = i, .used = i, .tid = i, .last = i, .tgid = who };
	struct kd_culprit *culprit = culprit_at(0);
	struct racer *racer = &racers[BOUNDED(who, RACERS)];
	u32 key;

	if (!culprit)
		return 0;
	is.prio = who;
	BPF_CORE_READ_INTO(&is.comm, (struct task_struct *)task, comm);
	key = culprit_fill(0, task, &is);
	if (key < KD_WHO_TASK) {
		racer->refused++;
		return 0;
	}
	racer->mixed += is_mixed(culprit, key, &is);
	racer->keys[BOUNDED(racer->n++, RACER_KEYS)] = key;
	return 0;
}

SEC("raw_tp/sys_enter") int BPF_PROG(race, u64 who)
{
	for (u32 i = 0; i < RACE_TURNS; i++)
		race_once(who, i);
	return 0;
}

/* At the group that is above all, whether it has a quota or not. Global, as above. */
__noinline int limit_once(u32 who, u32 t)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	u64 entity = (u64)&task->se, above;
	u32 key;

	for (u32 i = 0; i < LIMIT_LEVELS && (above = entity_above(entity)); i++)
		entity = above;
	key = limit_find((u64)task, (u64)BPF_CORE_READ((struct sched_entity *)entity, cfs_rq), t);
	limits[BOUNDED(who, RACERS)].named += key >= KD_WHO_TASK;
	limits[BOUNDED(who, RACERS)].unnamed += key < KD_WHO_TASK;
	return 0;
}

SEC("raw_tp/sys_exit") int BPF_PROG(race_limit, u64 who)
{
	for (u32 i = 0; i < RACE_TURNS; i++)
		limit_once(who, i);
	return 0;
}
