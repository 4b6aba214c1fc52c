/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What limits take from a thread that waits for a CPU: the quotas of its own control group and of
 * those above that, as they are at that time; and the runtime that a thread of SCHED_DEADLINE
 * has asked for. A limit has a key as tasks have.
 *
 * Nothing tells when a limit begins and ends. So a thread notes how it stands, and looks again
 * when it is charged: always if a limit kept it from running then. Else most kernels need no
 * look, as only a thread that runs can reach its limit. Where a group's run queue is taken as a
 * whole, that may begin in the middle of a wait: a look from time to time. */
#ifndef LIMIT_BPF_H
#define LIMIT_BPF_H

#include "compat.bpf.h"
#include "culprit.bpf.h"

#define LIMIT_LOOK_NS 100000
#define LIMIT_LEVELS 10 /* of control groups */
#define MAX_RT_PRIO 100 /* include/linux/sched/prio.h */

/* The key of an entry that has a limit; 0: it has something else. */
static __always_inline u32 limit_key(const struct kd_culprit *culprit, u64 id, u32 tid)
{
	u32 key = READ_ONCE(culprit->key);

	barrier();
	return key & KD_WHO_LIMIT && culprit->start == id && culprit->tid == tid ? key : 0;
}

/* The entry that has a limit, or is to have it. Global, to be verified once. */
__noinline u32 limit_index(u64 id, u32 tid)
{
	u32 home = culprit_home((u32)id, (u32)id, tid, false);

	for (u32 way = 0; way < KD_CULPRIT_WAYS; way++) {
		struct kd_culprit *culprit = culprit_at(home + way);

		if (culprit && limit_key(culprit, id, tid))
			return home + way;
	}
	return culprit_oldest(home);
}

enum { QUOTA_LEFT = 1, QUOTA_USED_UP = 2 };
#define QUOTA_STATES 3ULL

/* What keeps a task from running, going up from its group: the nearest one that is throttled now,
 * else the nearest that has a quota. found: that of the groups below; the address of a run queue,
 * and one of the above in its lowest bits, or 0. Returns the same with the group of this entity of
 * the scheduler. Global, as the next: verified once, and not for each level. */
__noinline u64 quota_nearest(u64 address, u64 found)
{
	struct sched_entity *entity = (struct sched_entity *)address;
	struct cfs_rq *group = BPF_CORE_READ(entity, cfs_rq);

	if (found & QUOTA_USED_UP)
		return found;
	if (BPF_CORE_READ_BITFIELD_PROBED(group, throttled))
		return (u64)group | QUOTA_USED_UP;
	return found || !BPF_CORE_READ(group, runtime_enabled) ? found : (u64)group | QUOTA_LEFT;
}

__noinline u64 entity_above(u64 address)
{
	return (u64)BPF_CORE_READ((struct sched_entity *)address, parent);
}

/* The group whose quota keeps a task from running. Returns the address of its run queue. Global,
 * too. */
__noinline u64 limit_group(u64 address)
{
	u64 entity = (u64) & ((struct task_struct *)address)->se, found = 0;

	for (u32 i = 0; i < LIMIT_LEVELS && entity; i++) {
		found = quota_nearest(entity, found);
		entity = entity_above(entity);
	}
	return found & ~QUOTA_STATES;
}

/* A claimed entry has this limit from now on, as soon as it has the key that this returns. */
static __always_inline u32 limit_name(struct kd_culprit *culprit, u32 index, u64 id, u32 tid,
				      struct task_group *group)
{
	u32 key = culprit_clear(culprit, index, KD_WHO_LIMIT);

	culprit->start = id;
	culprit->tid = tid;
	culprit->tgid = 0; /* no task is of this */
	if (group)
		bpf_probe_read_kernel_str(culprit->comm, KD_LIMIT_NAME_LEN,
					  BPF_CORE_READ(group, css.cgroup, kn, name));
	return key;
}

/* The key of what keeps a task from running, by the run queue of limit_group(); its entry has what
 * that is now. Global, to be verified once. */
__noinline u32 limit_find(u64 address, u64 address_of_queue, u64 t)
{
	struct task_struct *task = (struct task_struct *)address;
	bool of_deadline = (s32)BPF_CORE_READ(task, prio) < 0;
	u32 tid = of_deadline ? BPF_CORE_READ(task, pid) : 0, index, key;
	struct cfs_rq *queue = of_deadline ? NULL : (struct cfs_rq *)address_of_queue;
	struct task_group *group = queue ? BPF_CORE_READ(queue, tg) : NULL;
	u64 id = group ? BPF_CORE_READ(group, css.cgroup, kn, id) : 0;
	struct kd_culprit *culprit;

	index = limit_index(id, tid);
	culprit = culprit_at(index);
	if (!culprit || (!id && !tid))
		return KD_WHO_THROTTLED;
	/* All CPUs on which a group is throttled look at the same time: its name is there for each.
	 */
	key = limit_key(culprit, id, tid);
	if (culprit_claim(culprit)) {
		key = limit_key(culprit, id, tid) ?: limit_name(culprit, index, id, tid, group);
		culprit->used = t;
		culprit->quota_ns = of_deadline ? BPF_CORE_READ(task, dl.dl_runtime)
						: BPF_CORE_READ(group, cfs_bandwidth.quota);
		culprit->period_ns = of_deadline ? BPF_CORE_READ(task, dl.dl_period)
						 : BPF_CORE_READ(group, cfs_bandwidth.period);
		barrier();
		WRITE_ONCE(culprit->key, key);
	}
	culprit_release(culprit);
	return key ?: KD_WHO_THROTTLED;
}

/* How a thread's limits stand at t: into its kd_waiting.limited of that index. Returns whether one
 * keeps it from running. Global, as the next: frames are small. */
__noinline int limit_read(u32 slot, u32 index, u64 t)
{
	struct kd_thread *thread = slot_thread(slot);
	struct kd_limited *limited;
	struct task_struct *task;
	struct cfs_rq *group;
	s32 prio;

	if (!thread)
		return 0;
	limited = &thread->waiting.limited[BOUNDED(index, 2)];
	task = (struct task_struct *)thread->task;
	prio = (s32)BPF_CORE_READ(task, prio);
	limited->look_at = prio < 0 ? 0 : quotas_take_tasks() ? KD_NEVER : t + LIMIT_LOOK_NS;
	limited->group = 0;
	if (prio < 0)
		return BPF_CORE_READ_BITFIELD_PROBED(task, dl.dl_throttled);
	if (prio < MAX_RT_PRIO || !quotas_are_known())
		return 0;
	group = BPF_CORE_READ(task, se.cfs_rq);
	limited->group = (u64)group;
	limited->before = quota_before(group);
	limited->ns = limited->before + quota_since(group);
	if (quotas_take_tasks())
		return BPF_CORE_READ(task, throttled);
	return BPF_CORE_READ(group, throttle_count) != 0;
}

/* A task of SCHED_DEADLINE whose runtime is not used up now. If it was, it has had to wait since
 * then only if another of them ran. The runtime is given back at the beginning of a period, which
 * the kernel counts from the deadline. How much of a wait that went on for ns until now was before
 * that. key: who had the CPU. */
__noinline u64 limit_of_deadline(u64 address, u32 was_limited, u32 key, u64 ns)
{
	struct task_struct *task = (struct task_struct *)address;
	struct kd_culprit *culprit = culprit_at(key % KD_CULPRITS);
	struct rq *rq;
	u64 began, now;

	if ((s32)BPF_CORE_READ(task, prio) >= 0)
		return 0; /* of other real-time classes */
	if (was_limited && (key < KD_WHO_TASK || (culprit && (s32)culprit->prio >= 0)))
		return ns;
	rq = task_rq(task);
	if (!rq)
		return 0;
	began = BPF_CORE_READ(task, dl.deadline) - BPF_CORE_READ(task, dl.dl_deadline);
	now = BPF_CORE_READ(rq, clock);
	if (now < began)
		return ns;
	return now - began < ns ? ns - (now - began) : 0;
}

enum limit_look { LIMIT_BEGIN, LIMIT_CHARGE, LIMIT_VISIT };

/* Looks at the limits of a thread that waits: when it begins to, is charged up to t, or is visited
 * by the iterator; key: who had the CPU. How much of the time since the mark a limit took follows
 * from how they stood then, and stand now. Global, to be verified once. */
__noinline int limit_look(u32 slot, u32 why, u32 key, u64 t)
{
	struct kd_thread *thread = slot_thread(slot);
	struct kd_waiting *waiting;
	struct kd_limited *now;
	u64 group, then, before, ns, taken = 0;
	u32 limit, limit_now;

	if (!thread)
		return 0;
	waiting = &thread->waiting;
	group = waiting->limited->group;
	then = waiting->limited->ns;
	before = waiting->limited->before;
	limit = waiting->limited->limit;
	now = &waiting->limited[why == LIMIT_VISIT];
	now->limit = limit_read(slot, why == LIMIT_VISIT, t)
			     ? limit_find(thread->task, limit_group(thread->task), t)
			     : 0;
	/* From memory, here and below: the verifier goes on with one unknown number. */
	limit_now = READ_ONCE(now->limit);
	if (limit_now)
		now->look_at = 0;
	if (why == LIMIT_BEGIN || t <= waiting->mark)
		return 0;
	ns = t - waiting->mark;
	if (limit && limit_now &&
	    (quotas_take_tasks() || !now->group || (group == now->group && before == now->before)))
		taken = ns; /* all the time: it has not run */
	else if (!now->group)
		taken = limit_of_deadline(thread->task, limit, key, ns);
	else if (group == now->group && !(quotas_take_tasks() && !limit))
		taken = now->ns > then ? now->ns - then : 0;
	else if (limit_now)
		taken = now->ns - now->before; /* of this group and CPU only that is known */
	taken = lesser(taken, ns);
	if (!limit)
		limit = limit_now
				?: taken ? limit_find(thread->task, limit_group(thread->task), t)
					 : 0;
	if (why == LIMIT_VISIT) {
		waiting->seen_limit = limit;
		waiting->seen_limited = taken;
	} else {
		waiting->part_limit = limit;
		waiting->part_limited = taken;
	}
	return 0;
}

/* By plain loads: it is nearly always so that nothing limits the thread. */
static __always_inline u64 limit_before(struct cfs_rq *group)
{
	if (bpf_core_field_exists(group->throttled_clock_self))
		return group->throttled_clock_self_time;
	if (bpf_core_field_exists(group->throttled_clock_pelt))
		return group->throttled_clock_pelt_time;
	if (bpf_core_field_exists(group->throttled_clock_task))
		return group->throttled_clock_task_time;
	return 0;
}

/* The thread begins to wait at t. woken: what has slept was not taken off its run queue, which
 * happens on the way to user mode only; to ask for it costs a miss in the cache, some 20 ns. */
static __always_inline void limit_begin(struct kd_waiting *waiting, u32 slot,
					struct task_struct *task, bool woken, u64 t)
{
	struct kd_limited *limited = waiting->limited;
	struct cfs_rq *group;

	limited->look_at = KD_NEVER;
	limited->limit = 0;
	if (unlikely((s32)task->prio < 0)) {
		limit_look(slot, LIMIT_BEGIN, 0, t);
	} else if (!quotas_are_known()) {
		return;
	} else if (quotas_take_tasks()) {
		if (!woken && unlikely(task->throttled))
			limit_look(slot, LIMIT_BEGIN, 0, t);
	} else if (task->prio >= MAX_RT_PRIO) {
		group = task->se.cfs_rq;
		limited->group = (u64)group;
		limited->before = limited->ns = limit_before(group);
		limited->look_at = t + LIMIT_LOOK_NS;
		if (unlikely(group->throttle_count))
			limit_look(slot, LIMIT_BEGIN, 0, t);
	}
}

/* A thread that waits has been put on the run queue that was chosen when it was woken. Its group
 * may have no CPU time left there. */
static __always_inline void limit_queued(struct kd_waiting *waiting, u32 slot,
					 struct task_struct *task)
{
	if (quotas_are_known() && !quotas_take_tasks() &&
	    (u64)task->se.cfs_rq != waiting->limited->group)
		limit_begin(waiting, slot, task, true, clock_now());
}

#endif
