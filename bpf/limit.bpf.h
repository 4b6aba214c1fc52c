/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What limits take from a thread that waits for a CPU: current quotas of its cgroup and the
 * ancestors; and the runtime that a SCHED_DEADLINE thread has reserved. A limit has a key like a
 * task.
 *
 * No event tells when a limit takes or loses effect. So a thread notes the state of its limits,
 * and looks again when it is charged: always if a limit was in effect then. Otherwise most
 * kernels need no look, because only a running thread can reach its limit. Where a quota takes a
 * group's entire run queue, this can happen in the middle of a wait: look from time to time. */
#ifndef LIMIT_BPF_H
#define LIMIT_BPF_H

#include "compat.bpf.h"
#include "culprit.bpf.h"

#define LIMIT_LOOK_NS 100000
#define LIMIT_LEVELS 10 /* of cgroups */

/* Key of an entry with a limit; 0: it has something else. */
static __always_inline u32 limit_key(const struct kd_culprit *culprit, u64 id, u32 tid)
{
	u32 key = READ_ONCE(culprit->key);

	cpu_barrier();
	return key & KD_WHO_LIMIT && culprit->start == id && culprit->tid == tid ? key : 0;
}

/* Finds the entry of a limit, or one for it. Global, to be verified once. */
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

/* Finds what keeps a task from running, upwards from its group: the nearest throttled one, or
 * else the nearest with a quota. found: result for the groups below; address of a run queue with
 * one of the above in its low bits, or 0. Returns the result including the group of this
 * scheduling entity. Global, like the next one, to be verified once, not per level. */
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

/* Group whose quota keeps a task from running. Returns the address of its run queue. Global as
 * well. */
__noinline u64 limit_group(u64 address)
{
	u64 entity = (u64) & ((struct task_struct *)address)->se, found = 0;

	for (u32 i = 0; i < LIMIT_LEVELS && entity; i++) {
		found = quota_nearest(entity, found);
		entity = entity_above(entity);
	}
	return found & ~QUOTA_STATES;
}

/* Gives a claimed entry to this limit, effective once it has the returned key. */
static __always_inline u32 limit_name(struct kd_culprit *culprit, u32 index, u64 id, u32 tid,
				      struct task_group *group)
{
	u32 key = culprit_clear(culprit, index, KD_WHO_LIMIT);

	culprit->start = id;
	culprit->tid = tid;
	culprit->tgid = 0; /* no task belongs to it */
	if (group)
		bpf_probe_read_kernel_str(culprit->comm, KD_LIMIT_NAME_LEN,
					  BPF_CORE_READ(group, css.cgroup, kn, name));
	return key;
}

/* Key of what keeps a task from running, by the run queue from limit_group(); updates its entry.
 * Global, to be verified once. */
__noinline u32 limit_find(u64 address, u64 address_of_queue, u64 t)
{
	struct task_struct *task = (struct task_struct *)address;
	u64 of_deadline = BPF_CORE_READ(task, prio) >> 31; /* negative */
	u32 tid = BPF_CORE_READ(task, pid) * of_deadline, index, key;
	/* What is read by way of NULL is 0. */
	struct cfs_rq *queue = (struct cfs_rq *)(address_of_queue * (of_deadline ^ 1));
	struct task_group *group = BPF_CORE_READ(queue, tg);
	u64 id = BPF_CORE_READ(group, css.cgroup, kn, id);
	struct kd_culprit *culprit;

	index = limit_index(id, tid);
	culprit = culprit_at(index);
	if (!culprit || (!id && !tid))
		return KD_WHO_THROTTLED;
	/* All CPUs where a group is throttled look at the same time: each needs its name. */
	key = limit_key(culprit, id, tid);
	if (culprit_claim(culprit)) {
		key = limit_key(culprit, id, tid) ?: limit_name(culprit, index, id, tid, group);
		culprit->used = t;
		culprit->quota_ns = of_deadline ? BPF_CORE_READ(task, dl.dl_runtime)
						: BPF_CORE_READ(group, cfs_bandwidth.quota);
		culprit->period_ns = of_deadline ? BPF_CORE_READ(task, dl.dl_period)
						 : BPF_CORE_READ(group, cfs_bandwidth.period);
		cpu_barrier();
		WRITE_ONCE(culprit->key, key);
	}
	culprit_release(culprit);
	return key ?: KD_WHO_THROTTLED;
}

/* Reads a thread's limits at t into its kd_waiting.limited of that index. Returns whether one is
 * in effect. Global, like the next one: frames are small. */
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
	if (prio < MAX_RT_PRIO || !quotas_are_supported())
		return 0;
	group = BPF_CORE_READ(task, se.cfs_rq);
	limited->group = (u64)group;
	limited->before = quota_before(group, false);
	limited->ns = limited->before + quota_since(group);
	if (quotas_take_tasks())
		return BPF_CORE_READ(task, throttled);
	return BPF_CORE_READ(group, throttle_count) != 0;
}

/* A SCHED_DEADLINE task whose runtime is not used up now. If it was, the task has had to wait
 * since only if another deadline task ran. Runtime is replenished at the start of a period,
 * which the kernel counts from the deadline. Returns how much of a wait of ns up to now was
 * before that. key: what had the CPU. */
__noinline u64 limit_of_deadline(u64 address, u32 was_limited, u32 key, u64 ns)
{
	struct task_struct *task = (struct task_struct *)address;
	struct kd_culprit *culprit = culprit_at(key % KD_CULPRITS);
	struct rq *rq;
	u64 began, now;

	if ((s32)BPF_CORE_READ(task, prio) >= 0)
		return 0; /* another real-time class */
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

/* The same, and by which one, which is named. */
__noinline int limit_note(u32 slot, u32 index, u64 t)
{
	struct kd_thread *thread = slot_thread(slot);
	struct kd_limited *limited;

	if (!thread)
		return 0;
	limited = &thread->waiting.limited[BOUNDED(index, 2)];
	limited->limit = limit_read(slot, index, t)
				 ? limit_find(thread->task, limit_group(thread->task), t)
				 : 0;
	/* From memory, here and below: the verifier continues with one unknown number. */
	if (READ_ONCE(limited->limit))
		limited->look_at = 0;
	return 0;
}

enum limit_look { LIMIT_CHARGE, LIMIT_VISIT };

/* Looks at the limits of a waiting thread when it is charged up to t, or visited by the iterator;
 * key: what had the CPU. The part of the time since the mark taken by a limit follows from their
 * states then and now. Global, to be verified once. */
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
	limit_note(slot, why == LIMIT_VISIT, t);
	limit_now = READ_ONCE(now->limit);
	if (t <= waiting->mark)
		return 0;
	ns = t - waiting->mark;
	if (limit && limit_now &&
	    (quotas_take_tasks() || !now->group || (group == now->group && before == now->before)))
		taken = ns; /* all the time: it did not run */
	else if (!now->group)
		taken = limit_of_deadline(thread->task, limit, key, ns);
	else if (group == now->group && !(quotas_take_tasks() && !limit))
		taken = now->ns > then ? now->ns - then : 0;
	else if (limit_now)
		taken = now->ns - now->before; /* only known for this group and CPU */
	taken = lesser(taken, ns);
	if (!limit)
		limit = limit_now
				?: taken ? limit_find(thread->task, limit_group(thread->task), t)
					 : 0;
	if (why == LIMIT_VISIT) {
		waiting->iter_limit = limit;
		waiting->iter_limited = taken;
	} else {
		waiting->share_limit = limit;
		waiting->share_limited = taken;
	}
	return 0;
}

/* The thread begins to wait at t. woken: no quota has taken a sleeper off its run queue, because
 * that only happens on the way to user mode; checking would cost a cache miss, about 20 ns.
 * By plain loads: nearly always nothing limits the thread. */
static __always_inline void limit_begin(struct kd_waiting *waiting, u32 slot,
					struct task_struct *task, bool woken, u64 t)
{
	struct kd_limited *limited = waiting->limited;
	struct cfs_rq *group;

	limited->look_at = KD_NEVER;
	limited->limit = 0;
	if (unlikely((s32)task->prio < 0)) {
		limit_note(slot, 0, t);
	} else if (!quotas_are_supported()) {
		return;
	} else if (quotas_take_tasks()) {
		if (!woken && unlikely(task->throttled))
			limit_note(slot, 0, t);
	} else if (task->prio >= MAX_RT_PRIO) {
		group = task->se.cfs_rq;
		limited->group = (u64)group;
		limited->before = limited->ns = quota_before(group, true);
		limited->look_at = t + LIMIT_LOOK_NS;
		if (unlikely(group->throttle_count))
			limit_note(slot, 0, t);
	}
}

/* A waiting thread was put on the run queue chosen at its wakeup. Its group may have no runtime
 * left there. */
static __always_inline void limit_queued(struct kd_waiting *waiting, u32 slot,
					 struct task_struct *task)
{
	if (quotas_are_supported() && !quotas_take_tasks() &&
	    (u64)task->se.cfs_rq != waiting->limited->group)
		limit_begin(waiting, slot, task, true, clock_now());
}

#endif
