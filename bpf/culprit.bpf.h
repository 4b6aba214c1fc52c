/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Who had the CPU: a key per task, and what each task took from a thread.
 *
 * Both tables are small, and lose nothing silently. A task without an entry among the culprits
 * replaces the one that has been off the CPU longest. The new key differs, so charges to the old
 * task lose their name, but never go to the new one. A task without a cell of a thread takes the
 * cell with the least time, which goes to KD_WHO_REST or KD_WHO_OWN. */
#ifndef CULPRIT_BPF_H
#define CULPRIT_BPF_H

#include "compat.bpf.h"
#include "target.bpf.h"
#include "window.bpf.h"

static __always_inline struct kd_culprit *culprit_at(u32 index)
{
	return bpf_map_lookup_elem(&kd_culprits, &index);
}

/* Threads of other processes are only distinguished by class and priority: otherwise a hundred
 * of them on a CPU would keep evicting each other. */
static __always_inline u32 culprit_home(u32 tid, u32 tgid, u32 prio, u32 ours)
{
	u32 id = (tgid ^ ((tid ^ tgid) * ours)) * 0x9e3779b1U + prio;

	return BOUNDED(id >> 16, KD_CULPRIT_SETS) * KD_CULPRIT_WAYS;
}

/* "ksoftirqd" */
static __always_inline bool comm_is_softirqd(const char *comm)
{
	return *(const u64 *)comm == 0x71726974666f736bULL && comm[8] == 'd';
}

/* True if this CPU owns the entry until it releases it: of two CPUs that claim it at once, at
 * most one gets it. No retry is needed, and there is no atomic exchange before 5.12. */
static __always_inline bool culprit_claim(struct kd_culprit *culprit)
{
	__sync_fetch_and_add(&culprit->claims, 1);
	return READ_ONCE(culprit->claims) == 1;
}

static __always_inline void culprit_release(struct kd_culprit *culprit)
{
	cpu_barrier();
	__sync_fetch_and_add(&culprit->claims, -1);
}

/* Clears the key of a claimed entry: readers take it for free until it has its new key. Returns
 * the new key. */
static __always_inline u32 culprit_clear(struct kd_culprit *culprit, u32 index, u32 flags)
{
	u32 serial = (culprit->key >> KD_WHO_SERIAL_SHIFT) + 1;

	WRITE_ONCE(culprit->key, 0);
	cpu_barrier();
	return serial % KD_WHO_SERIALS << KD_WHO_SERIAL_SHIFT | KD_WHO_TASK | index | flags;
}

/* Stores the rest of a task's identity in a claimed entry. */
static __always_inline u32 culprit_fill_claimed(struct kd_culprit *culprit, u32 index,
						struct task_struct *task, struct kd_culprit *is,
						u32 flags)
{
	u32 key = culprit_clear(culprit, index, flags);

	culprit->start = is->start;
	culprit->used = is->used;
	culprit->tid = is->tid;
	culprit->last = is->last;
	culprit->tgid = is->tgid;
	culprit->prio = is->prio;
	culprit->policy = BPF_CORE_READ(task, policy);
	culprit->flags = is->flags;
	culprit->parent = BPF_CORE_READ(task, real_parent, tgid);
	__builtin_memcpy(culprit->comm, is->comm, KD_COMM_LEN);
	BPF_CORE_READ_INTO(&culprit->process, task, group_leader, comm);
	culprit->executed = is->executed;
	cpu_barrier();
	WRITE_ONCE(culprit->key, key);
	return key;
}

/* Gives the entry to this task, unless another CPU has claimed it: then the key would be
 * ambiguous. */
static __noinline u32 culprit_fill(u32 index, u64 address, struct kd_culprit *is)
{
	struct task_struct *task = (struct task_struct *)address;
	struct kd_culprit *culprit = culprit_at(index);
	u32 flags = process_was_ours(is->tgid) ? KD_WHO_OF_TARGET : 0;
	u32 key = flags ? KD_WHO_OWN : KD_WHO_REST;

	if (!culprit)
		return KD_WHO_UNKNOWN;
	is->flags = BPF_CORE_READ(task, flags);
	if (is->flags & PF_KTHREAD && comm_is_softirqd(is->comm))
		flags |= KD_WHO_SOFTIRQD;
	if (culprit_claim(culprit))
		key = culprit_fill_claimed(culprit, index, task, is, flags);
	culprit_release(culprit);
	return key;
}

/* True if the entry has this task: another thread of its process; or the same thread, if it has
 * not executed another program or reused a TID. Collects differences in one word: the verifier
 * would follow each branch to the end. */
static __always_inline bool culprit_is(const struct kd_culprit *culprit, u32 key,
				       const struct kd_culprit *is, u32 ours)
{
	u64 same = is_zero(culprit->last ^ is->last);
	u64 differs = (culprit->tgid ^ is->tgid) | (culprit->prio ^ is->prio) |
		      (is_set(key & KD_WHO_OF_TARGET) ^ ours) | ((culprit->tid ^ is->tid) * ours);

	differs |= culprit->executed ^
		   is->executed; /* threads have it from the one that made them */
	differs |= (culprit->start ^ is->start) * same;
	barrier_var(differs);
	return key && !differs;
}

/* Key of an entry with this task, which is on the CPU now; 0: another task's. It has the name that
 * the task has now. If another CPU replaces the entry meanwhile, the key loses its name. */
static __always_inline u32 culprit_again(struct kd_culprit *culprit, const struct kd_culprit *is,
					 u32 ours)
{
	u32 key = READ_ONCE(culprit->key);

	cpu_barrier();
	if (!culprit_is(culprit, key, is, ours))
		return 0;
	if (culprit_claim(culprit) && culprit->key == key) {
		if (culprit->last != is->last)
			culprit->tid = 0;
		culprit->last = is->last;
		culprit->start = is->start;
		__builtin_memcpy(culprit->comm, is->comm, KD_COMM_LEN);
		if (is->tid == is->tgid)
			__builtin_memcpy(culprit->process, is->comm, KD_COMM_LEN);
		culprit->used = is->used;
	}
	culprit_release(culprit);
	return key;
}

/* Entry of a set that has been off the CPU longest, or is free. */
static __always_inline u32 culprit_oldest(u32 home)
{
	u64 oldest = KD_NEVER >> 1;

	for (u32 way = 0; way < KD_CULPRIT_WAYS; way++) {
		struct kd_culprit *culprit = culprit_at(home + way);

		/* Times are below KD_FAR, so the way fits in the low bits. */
		if (culprit)
			oldest = lesser(culprit->used * KD_CULPRIT_WAYS | way, oldest);
	}
	return home + BOUNDED(oldest, KD_CULPRIT_WAYS);
}

/* Key of a task that is not the last one in its home entry. Global, to be verified once, so the
 * task is an address. */
__noinline u32 culprit_find(u64 address, u64 t)
{
	struct task_struct *task = (struct task_struct *)address;
	struct kd_culprit is = {}, *culprit;
	u32 home, key, ours;

	is.tid = is.last = BPF_CORE_READ(task, pid);
	if (!is.tid)
		return KD_WHO_IDLE;
	is.tgid = BPF_CORE_READ(task, tgid);
	is.prio = BPF_CORE_READ(task, prio);
	is.start = BPF_CORE_READ(task, start_time);
	is.executed = BPF_CORE_READ(task, self_exec_id);
	is.used = t;
	BPF_CORE_READ_INTO(&is.comm, task, comm);
	ours = process_was_ours(is.tgid);
	home = culprit_home(is.tid, is.tgid, is.prio, ours);
	for (u32 way = 0; way < KD_CULPRIT_WAYS; way++) {
		culprit = culprit_at(home + way);
		key = culprit ? culprit_again(culprit, &is, ours) : KD_WHO_UNKNOWN;
		if (key)
			return key;
	}
	return culprit_fill(culprit_oldest(home), address, &is);
}

/* Another thread of the entry's process ran last. Not claimed: if another task is just taking
 * the entry, it shows only as a process (tid 0) until it runs again. */
static __always_inline void culprit_turn(struct kd_culprit *culprit, struct task_struct *task)
{
	culprit->tid = 0;
	culprit->last = task->pid;
	culprit->start = task->start_time;
	((u64 *)culprit->comm)[0] = ((u64 *)task->comm)[0];
	((u64 *)culprit->comm)[1] = ((u64 *)task->comm)[1];
}

/* True if the entry has this task, by plain loads. As culprit_is(), but misses rare cases.
 * Checks the key too: a process may have joined the target since. */
static __always_inline bool culprit_has(const struct kd_culprit *culprit, u32 key,
					struct task_struct *task, u32 ours)
{
	u64 leads = is_zero(task->pid ^ task->tgid), last = is_zero(culprit->last ^ task->pid);
	u64 name = *(u64 *)task->comm;
	u64 differs = (culprit->tgid ^ task->tgid) | (culprit->prio ^ task->prio) |
		      (is_set(key & KD_WHO_OF_TARGET) ^ ours);

	differs |= (*(const u64 *)culprit->process ^ name) * leads;
	differs |= (*(const u64 *)culprit->comm ^ name) * (last & ~leads);
	differs |= (culprit->start ^ task->start_time) * last | (ours & ~last);
	barrier_var(differs);
	return key && !differs;
}

/* Key of the task being switched out, which is still current (the verifier does not accept a
 * tracepoint's pointer as an address). Uses plain loads, which cost almost nothing: most often
 * the home entry has the task, or another thread of its process. */
static __always_inline u32 culprit_of(struct task_struct *task, u64 t)
{
	struct kd_culprit *culprit;
	u32 ours, key;

	if (!task->pid)
		return KD_WHO_IDLE;
	ours = process_was_ours(task->tgid);
	culprit = culprit_at(culprit_home(task->pid, task->tgid, task->prio, ours));
	if (!culprit)
		return KD_WHO_UNKNOWN;
	key = READ_ONCE(culprit->key);
	cpu_barrier();
	if (!culprit_has(culprit, key, task, ours))
		return culprit_find(bpf_get_current_task(), t);
	if (culprit->last != (u32)task->pid)
		culprit_turn(culprit, task);
	culprit->used = t;
	return key;
}

static const struct kd_blame no_blame = {};

static __always_inline struct kd_blame *blame_raw(u32 slot, u32 bank)
{
	u32 index = bank * kd_slots + slot;

	return bpf_map_lookup_elem(&kd_blames, &index);
}

/* Clears it for a window. By a call, see record_reset(). */
static __always_inline void blame_reset(struct kd_blame *blame, u64 gen)
{
	bpf_probe_read_kernel(blame, sizeof(*blame), &no_blame);
	blame->gen = gen;
}

/* Adds what a thread lost in a waiting state, and what it lost to the same culprit in this wait.
 * Uses an index, because the verifier would follow both alternatives. */
static __always_inline void charge_add(struct kd_charge *charge, u32 state, u64 began, u64 ns,
				       u64 in_wait)
{
	u64 *sums = &charge->woken;

	sums[BOUNDED(state - KD_READY_WOKEN, 2)] += ns;
	if (in_wait > charge->longest) {
		charge->longest = in_wait;
		charge->began = began;
	}
}

_Static_assert(KD_READY_PREEMPTED == KD_READY_WOKEN + 1, "in the order of both sums");

#define BLAME_STEP 6
_Static_assert(KD_BLAMED % BLAME_STEP == 0, "all of them, and no others");

/* The least that one of the cells from first on has, or an earlier one: times are below KD_FAR, so
 * the index fits in the low bits. Global, to be verified once and not for each step. */
__noinline u64 blame_least(u32 slot, u32 bank, u32 first, u64 least)
{
	struct kd_blame *blame = blame_raw(slot, bank);
	u64 from = first;

	barrier_var(from); /* compared and used in the same form, for the verifier */
	if (!blame || from > KD_BLAMED - BLAME_STEP)
		return least;
	for (u32 i = 0; i < BLAME_STEP; i++) {
		struct kd_charge *charge = &blame->tasks[from + i];

		least = lesser((charge->woken + charge->preempted) * KD_BLAMED_PADDED | (from + i),
			       least);
	}
	return least;
}

/* Makes space: the smallest cell goes to the rest. Global, like the next one. */
__noinline u32 blame_evict(u32 slot, u32 bank)
{
	struct kd_blame *blame = blame_raw(slot, bank);
	struct kd_charge *rest, *charge;
	u64 least = KD_NEVER >> 1;
	u32 index, key;

	if (!blame)
		return 0;
	for (u32 first = 0; first < KD_BLAMED; first += BLAME_STEP)
		least = blame_least(slot, bank, first, least);
	index = BOUNDED(least, KD_BLAMED_PADDED);
	if (index >= KD_BLAMED)
		return 0;
	charge = &blame->tasks[index];
	key = blame->keys[index];
	rest = &blame->kinds[key & KD_WHO_LIMIT       ? KD_WHO_THROTTLED
			     : key & KD_WHO_OF_TARGET ? KD_WHO_OWN
						      : KD_WHO_REST];
	rest->woken += charge->woken;
	rest->preempted += charge->preempted;
	if (charge->longest > rest->longest) {
		rest->longest = charge->longest;
		rest->began = charge->began;
	}
	__builtin_memset(charge, 0, sizeof(*charge));
	return index;
}

/* Index of a task's cell, or of the first free one, among some; KD_BLAMED: it has none there.
 * Global, like blame_least(). */
__noinline u32 blame_index_of(u32 slot, u32 bank, u32 key, u32 first)
{
	struct kd_blame *blame = blame_raw(slot, bank);
	u64 from = first;

	barrier_var(from);
	if (!blame || from > KD_BLAMED - BLAME_STEP)
		return KD_BLAMED;
	for (u32 i = 0; i < BLAME_STEP; i++)
		if (blame->keys[from + i] == key || !blame->keys[from + i])
			return from + i;
	return KD_BLAMED;
}

/* Index of a task among the charged ones. Global, so that the verifier continues with one
 * unknown number instead of each of them. */
__noinline u32 blame_index(u32 slot, u32 bank, u32 key)
{
	struct kd_blame *blame = blame_raw(slot, bank);
	u32 index = KD_BLAMED;

	for (u32 first = 0; first < KD_BLAMED && index == KD_BLAMED; first += BLAME_STEP)
		index = blame_index_of(slot, bank, key, first);
	if (index == KD_BLAMED)
		index = blame_evict(slot, bank);
	if (!blame)
		return KD_BLAMED;
	index = BOUNDED(index, KD_BLAMED_PADDED);
	if (index < KD_BLAMED)
		blame->keys[index] = key;
	return index;
}

/* Time a key has taken in a thread's current wait. Global, to be verified once. */
__noinline u64 taker_ns(u32 slot, u32 key)
{
	struct kd_thread *thread = slot_thread(slot);

	for (u32 i = 0; thread && i < KD_TAKERS && i < thread->waiting.takers.n; i++)
		if (thread->waiting.takers.of[i].key == key)
			return thread->waiting.takers.of[i].ns;
	return 0;
}

/* Charges a key with time taken from a thread. Global, to be verified once. */
__noinline int blame_charge(u32 slot, u32 bank, u32 key, u64 ns)
{
	struct kd_blame *blame = blame_raw(slot, bank);
	struct kd_thread *thread = slot_thread(slot);
	u64 in_wait = taker_ns(slot, key);
	u32 state, index;

	if (!blame || !thread)
		return 0;
	/* If it runs, the state in which it waited: see waiting_end_late(). Branchless, because
	 * the verifier would follow both sides. */
	state = state_now(thread);
	state += (thread->ready_state - state) * (thread->on_cpu & 1);
	if (key < KD_WHO_TASK) {
		charge_add(&blame->kinds[BOUNDED(key, KD_WHO_PADDED)], state, thread->waiting.began,
			   ns, in_wait);
		return 0;
	}
	index = BOUNDED(blame_index(slot, bank, key), KD_BLAMED_PADDED);
	if (index >= KD_BLAMED)
		return 0;
	charge_add(&blame->tasks[index], state, thread->waiting.began, ns, in_wait);
	thread->waiting.cells[KD_CELL_HINT(key)] = index;
	return 0;
}

/* Charges the segment of a wait in the thread's kd_waiting.part_*, inside of which lies in a
 * bank's window. Edges are rare: assumes the parts are spread evenly. Global, to be verified
 * once. */
__noinline int blame_book(u32 slot, u32 bank, u64 gen, u64 inside, u32 key)
{
	struct kd_blame *blame = blame_raw(slot, bank);
	struct kd_thread *thread = slot_thread(slot);
	struct kd_waiting *waiting;
	u64 total, ns;

	if (!blame || !thread)
		return 0;
	if (blame->gen != gen)
		blame_reset(blame, gen);
	waiting = &thread->waiting;
	total = waiting->share_total;
#define BOOK_SHARE(who, member)                                                                    \
	if (waiting->member) {                                                                     \
		ns = lesser(share_of(waiting->member, inside, total), inside);                     \
		blame_charge(slot, bank, who, ns);                                                 \
		inside -= ns;                                                                      \
		total -= lesser(waiting->member, total);                                           \
	}
	BOOK_SHARE(waiting->share_limit, share_limited)
	BOOK_SHARE(KD_WHO_HYPERVISOR, share_steal)
	BOOK_SHARE(KD_WHO_HARDIRQ, share_hard)
	BOOK_SHARE(KD_WHO_SOFTIRQ, share_soft)
	BOOK_SHARE(KD_WHO_OWN, share_own)
	BOOK_SHARE(KD_WHO_IDLE, share_idle)
#undef BOOK_SHARE
	if (inside)
		blame_charge(slot, bank, key, inside);
	return 0;
}

#endif
