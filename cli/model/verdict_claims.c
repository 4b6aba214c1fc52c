/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict.h"

#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/syscall_set.h"
#include "thread_row.h"

#define CAUSE_ROW(cause, key, title, evidence) [cause] = { key, title, evidence },
const struct cause_words cause_words[CAUSES] = { CAUSE_WORDS(CAUSE_ROW) };

/* --- Waiting for work --- */

static bool is_named(const struct sample *sample, uint32_t call, const char *const *names)
{
	const char *name = sample->foreign_calls ? NULL : syscall_name(call);

	for (; name && *names; names++)
		if (!strcmp(name, *names))
			return true;
	return false;
}

/* Time in the window, number, and longest of the system calls with these names. */
static struct kd_count calls_of(const struct sample *sample, const struct thread_row *thread,
				const char *const *names)
{
	struct kd_count all = { .count = 0 };

	for (size_t i = 0; i < thread->n_calls; i++) {
		const struct call_row *call = &thread->calls[i];
		const struct kd_count calls = { call->count, call->total, call->max, call->began };

		if (is_named(sample, call->number, names))
			count_join(&all, &calls);
	}
	for (size_t i = 0; i < thread->n_open; i++) {
		const struct open_item *item = &thread->open[i];
		const struct kd_count calls = { item->count, item->inside, item->longest,
						item->since };

		if (item->kind == OPEN_CALL && item->number >= 0 &&
		    is_named(sample, (uint32_t)item->number, names))
			count_join(&all, &calls);
	}
	return all;
}

/* Estimates waiting for work by system calls, for samples without awaited kinds. */
static uint64_t work_by_calls(const struct sample *sample, const struct thread_row *thread)
{
	static const char *const names[] = {
		"accept",     "accept4",      "clock_nanosleep", "epoll_pwait",     "epoll_pwait2",
		"epoll_wait", "io_getevents", "nanosleep",       "pause",           "poll",
		"ppoll",      "pselect6",     "rt_sigsuspend",   "rt_sigtimedwait", "select",
		NULL,
	};

	return u64_min(calls_of(sample, thread, names).total, thread->ledger.ns[LEDGER_BLOCKED]);
}

static bool has_awaited(const struct thread_row *thread)
{
	for (size_t i = 0; i < KD_AWAITED_KINDS; i++)
		if (thread->ledger.awaited[i].count)
			return true;
	return false;
}

/* Waits for user-space locks with a known holder. */
static struct kd_count waits_for_holders(const struct thread_row *thread)
{
	struct kd_count waits = { .count = 0 };

	for (size_t i = 0; i < thread->n_locks; i++)
		if (thread->locks[i].holder && !kd_lock_is_kernel(thread->locks[i].kind))
			count_join(&waits, &thread->locks[i].waits);
	return waits;
}

/* Waits for file locks, which are not futexes. */
static struct kd_count waits_for_files(const struct sample *sample, const struct thread_row *thread)
{
	static const char *const names[] = { "flock", "fcntl", NULL };
	const struct kd_count *all = &thread->ledger.awaited[KD_AWAITED_LOCK];
	struct kd_count waits = calls_of(sample, thread, names);
	uint64_t left = all->total;

	for (size_t i = 0; i < thread->n_locks; i++)
		if (!kd_lock_is_kernel(thread->locks[i].kind))
			left = u64_sub(left, thread->locks[i].waits.total);
	waits.total = u64_min(waits.total, left);
	waits.count = u64_min(waits.count, all->count);
	waits.max = u64_min(waits.max, all->max);
	return waits;
}

/* Waits for mmap_lock, where the kernel reports no lock waits (before 5.19, or a wait already
 * open at the start). Estimated by the system calls that need the lock: their time neither
 * running nor waiting for page, disk or file. */
static struct kd_count waits_for_memory(const struct sample *sample,
					const struct thread_row *thread)
{
	static const char *const names[] = {
		"brk",     "madvise", "mlock",         "mmap",  "mprotect", "mremap",
		"munlock", "munmap",  "pkey_mprotect", "shmat", "shmdt",    NULL,
	};
	const struct kd_count *other = &thread->ledger.awaited[KD_AWAITED_OTHER];
	struct kd_count waits = calls_of(sample, thread, names);

	if (thread->ledger.awaited[KD_AWAITED_KERNEL_LOCK].count)
		return (struct kd_count){ .count = 0 };
	waits.total = u64_min(u64_min(waits.total, other->total),
			      thread->ledger.ns[LEDGER_BLOCKED_UNINT]);
	waits.count = u64_min(waits.count, other->count);
	waits.max = u64_min(waits.max, other->max);
	return waits;
}

/* A pool thread that rarely sleeps in a futex without a holder is idle. If it sleeps often, it
 * may as well be held up. */
static uint64_t idle_in_futex(const struct sample *sample, const struct thread_row *thread)
{
	const struct kd_count *all = &thread->ledger.awaited[KD_AWAITED_LOCK];
	struct kd_count held = waits_for_holders(thread), files = waits_for_files(sample, thread);

	if (u64_sub(all->count, u64_add(held.count, files.count)) >=
	    VERDICT_TIMES * (uint64_t)thread->members)
		return 0;
	return u64_sub(all->total, u64_add(held.total, files.total));
}

static uint64_t open_count(const struct thread_row *thread, enum open_kind kind)
{
	uint64_t count = 0;

	for (size_t i = 0; i < thread->n_open; i++)
		if (thread->open[i].kind == kind)
			count += thread->open[i].count;
	return count;
}

/* True if only stops ended its sleeps. */
static bool is_stopped_asleep(const struct thread_row *thread)
{
	uint64_t stops = u64_add(thread->stopped.count, open_count(thread, OPEN_STOPPED)),
		 sleeps = 0;

	for (size_t i = 0; i < KD_AWAITED_KINDS; i++)
		sleeps = u64_add(sleeps, thread->ledger.awaited[i].count);
	return stops && sleeps && sleeps <= u64_add(stops, thread->members) &&
	       !thread->ledger.ns[LEDGER_BLOCKED_UNINT];
}

/* True if it slept interruptibly throughout, apart from stops. Nothing needs a thread that waits
 * this long, unless a lock holder keeps it waiting. */
static bool is_idle(const struct sample *sample, const struct thread_row *thread)
{
	enum ledger_state only;
	bool asleep = (thread_is_silent(thread, &only) && only == LEDGER_BLOCKED) ||
		      is_stopped_asleep(thread);

	return asleep && !waits_for_holders(thread).count &&
	       !waits_for_files(sample, thread).total &&
	       !thread->ledger.awaited[KD_AWAITED_KERNEL_LOCK].count;
}

uint64_t claims_work(const struct sample *sample, const struct thread_row *thread)
{
	const struct kd_count *awaited = thread->ledger.awaited;
	uint64_t ns;

	if (is_idle(sample, thread))
		return thread->ledger.ns[LEDGER_BLOCKED];
	if (!has_awaited(thread))
		return work_by_calls(sample, thread);
	ns = u64_add(awaited[KD_AWAITED_WORK].total, awaited[KD_AWAITED_TIMER].total);
	ns = u64_add(ns, awaited[KD_AWAITED_SIGNAL].total);
	ns = u64_add(ns, awaited[KD_AWAITED_TTY].total);
	ns = u64_add(ns, idle_in_futex(sample, thread));
	ns = u64_sub(ns, thread->overslept.late.total); /* it should have run again */
	return u64_min(ns, ledger_blocked(&thread->ledger));
}

/* --- Claims --- */

static void claim_give(struct claimant *claimant, enum cause cause, const struct claim *claim)
{
	if (claim->ns)
		claimant->take(claimant, cause, claim);
}

/* Claim for a state with periods of its own; counts at least one. */
static struct claim period_claim(const struct thread_row *thread, enum open_kind kind, uint64_t ns)
{
	const struct complete complete = complete_period(thread, kind);
	uint64_t count = thread_period(thread, kind).count + open_count(thread, kind);
	struct claim claim = {
		.ns = ns,
		.count = u64_max(count, 1),
		.longest = complete.max,
		.began = complete.began,
		.so_far = complete.open,
	};

	/* From edge to edge, nothing began or ended. */
	if (!claim.longest)
		claim.longest = ns / (thread->members ?: 1);
	return claim;
}

/* Cause of a wait for a CPU; CAUSES: unknown. */
static enum cause culprit_cause(const struct culprit *culprit)
{
	static const enum cause causes[CULPRIT_KINDS] = {
		[CULPRIT_TASK] = CAUSE_TASK,           [CULPRIT_HARDIRQ] = CAUSE_HARDIRQ,
		[CULPRIT_SOFTIRQ] = CAUSE_SOFTIRQ,     [CULPRIT_IDLE] = CAUSE_IDLE,
		[CULPRIT_THROTTLED] = CAUSE_THROTTLED, [CULPRIT_DEADLINE] = CAUSE_DEADLINE,
		[CULPRIT_STOLEN] = CAUSE_STOLEN,       [CULPRIT_OWN] = CAUSE_OWN_THREADS,
		[CULPRIT_REST] = CAUSE_TASK,           [CULPRIT_UNKNOWN] = CAUSES,
	};

	if (culprit->rt_limit)
		return CAUSE_RT_LIMIT;
	if (culprit->kind == CULPRIT_TASK && culprit->own)
		return CAUSE_OWN_THREADS;
	if (culprit->kind == CULPRIT_TASK && culprit->ksoftirqd)
		return CAUSE_SOFTIRQ;
	return causes[culprit->kind];
}

static struct verdict_who culprit_who(const struct culprit *culprit)
{
	struct verdict_who who = { .quota_ns = culprit->quota_ns, .period_ns = culprit->period_ns };

	if (culprit->kind == CULPRIT_THROTTLED)
		memcpy(who.comm, culprit->group, sizeof(culprit->group));
	if (culprit->kind != CULPRIT_TASK)
		return who;
	who.tid = culprit->tid ? culprit->tid : culprit->pid;
	who.pid = culprit->pid;
	memcpy(who.comm, culprit->name, sizeof(culprit->name));
	who.scheduled = true;
	who.policy = culprit->policy;
	who.priority = culprit->priority;
	who.same_group = culprit->same_group;
	memcpy(who.group, culprit->group, sizeof(who.group));
	who.parent = culprit->parent;
	memcpy(who.parent_name, culprit->parent_name, sizeof(who.parent_name));
	who.kernel = culprit->kernel;
	return who;
}

/* A culprit's number of cases is unknown, but at most that of the waits. If the longest wait for
 * an idle CPU is too long for a wakeup, it had another reason. */
static void ready_claims(struct claimant *claimant, const struct thread_row *thread)
{
	const uint64_t *ns = thread->ledger.ns;
	uint64_t ready = u64_add(ns[LEDGER_READY_WOKEN], ns[LEDGER_READY_PREEMPTED]);
	struct claim claim = period_claim(thread, OPEN_READY, ready);

	if (!thread->n_culprits)
		claim_give(claimant, CAUSE_TASK, &claim);
	for (size_t i = 0; i < thread->n_culprits; i++) {
		const struct culprit *culprit = &thread->culprits[i];
		enum cause cause = culprit_cause(culprit);

		claim.ns = culprit_ns(culprit);
		claim.longest = culprit->longest_ns;
		claim.began = culprit->longest_began;
		claim.who = culprit_who(culprit);
		if (cause == CAUSE_IDLE && claim.longest >= WAKE_UP_NS) {
			claim.ns = u64_sub(claim.ns, claim.longest);
			claim.longest = claim.began = 0;
		}
		if (cause != CAUSES)
			claim_give(claimant, cause, &claim);
	}
}

/* Sleeps that lasted much longer than requested. */
static void timer_claims(struct claimant *claimant, const struct thread_row *thread)
{
	const struct kd_count *late = &thread->overslept.late;
	const struct claim claim = { .ns = u64_min(late->total, ledger_blocked(&thread->ledger)),
				     .count = late->count,
				     .longest = late->max,
				     .began = late->began };

	claim_give(claimant, CAUSE_TIMER, &claim);
}

static void stopped_claims(struct claimant *claimant, const struct thread_row *thread)
{
	struct claim claim = period_claim(thread, OPEN_STOPPED, thread->ledger.ns[LEDGER_STOPPED]);

	if (!thread->n_stops)
		claim_give(claimant, CAUSE_STOPPED, &claim);
	for (size_t i = 0; i < thread->n_stops; i++) {
		const struct stop_row *stop = &thread->stops[i];

		claim.ns = stop->stops.total;
		claim.count = stop->stops.count;
		/* A period that crosses an edge is longer than its part in the window. */
		if (thread->n_stops > 1) {
			claim.longest = stop->stops.max;
			claim.began = stop->stops.began;
		}
		claim.who = (struct verdict_who){ .tid = stop->tid, .pid = stop->pid };
		memcpy(claim.who.comm, stop->name, sizeof(stop->name));
		if (stop->kind != KD_STOP_UNKNOWN)
			stop_how(stop, claim.who.stopped_by);
		claim_give(claimant, CAUSE_STOPPED, &claim);
	}
}

/* The only descriptor of a thread's waits of a kind, NULL if there are several. */
static const struct descriptor *waits_at(const struct thread_row *thread, enum kd_awaited kind)
{
	const struct descriptor *at = NULL;

	for (size_t i = 0; i < thread->n_descriptors; i++) {
		if (thread->descriptors[i].awaited != kind || thread->descriptors[i].is.fd < 0)
			continue;
		if (at)
			return NULL;
		at = &thread->descriptors[i].is;
	}
	return at;
}

/* Claims of locks with known holder, and of file locks, whose holder is unknown. Waits have full
 * length; time outside the window is no loss of it. */
static void lock_claims(struct claimant *claimant, const struct thread_row *thread)
{
	const struct sleeping *asleep = thread->ledger.asleep;
	struct kd_count files = waits_for_files(claimant->sample, thread);
	struct kd_count memory = waits_for_memory(claimant->sample, thread);
	const struct claim of_memory = { .ns = memory.total,
					 .count = memory.count,
					 .longest = memory.max,
					 .began = memory.began,
					 .so_far = asleep[KD_AWAITED_OTHER].max };
	const struct claim of_files = { .ns = files.total,
					.count = files.count,
					.longest = files.max,
					.began = files.began,
					.so_far = asleep[KD_AWAITED_LOCK].max,
					.at = waits_at(thread, KD_AWAITED_LOCK) };
	uint64_t left = u64_sub(thread->ledger.awaited[KD_AWAITED_LOCK].total, files.total);

	claim_give(claimant, CAUSE_LOCK, &of_files);
	claim_give(claimant, CAUSE_KERNEL_LOCK, &of_memory);
	for (size_t i = 0; i < thread->n_locks; i++) {
		const struct lock_row *lock = &thread->locks[i];
		struct claim claim = {
			.ns = u64_min(lock->waits.total, left),
			.count = lock->waits.count,
			.longest = lock->waits.max,
			.began = lock->waits.began,
			.so_far = asleep[KD_AWAITED_LOCK].max,
			.who = { .tid = lock->holder,
				 .pid = thread->pid ? thread->pid : claimant->sample->pid },
		};

		if (!lock->holder || kd_lock_is_kernel(lock->kind))
			continue;
		memcpy(claim.who.comm, lock->holder_name, sizeof(lock->holder_name));
		left -= claim.ns;
		claim_give(claimant, CAUSE_LOCK, &claim);
	}
}

/* Holder of a kernel lock. With many readers the owner is a guess, which is right if the owner
 * ended the waits. */
static struct verdict_who kernel_holder(const struct sample *sample,
					const struct thread_row *thread,
					const struct lock_row *lock)
{
	struct verdict_who who = { .tid = 0 };

	if (!lock->holder ||
	    (lock->kind != KD_LOCK_KERNEL_MUTEX && lock->others > lock->waits.count / 10))
		return who;
	who.tid = lock->holder;
	who.pid = lock->holder_pid ? lock->holder_pid : thread->pid ? thread->pid : sample->pid;
	memcpy(who.comm, lock->holder_name, sizeof(lock->holder_name));
	who.parent = lock->holder_parent;
	memcpy(who.parent_name, lock->holder_parent_name, sizeof(who.parent_name));
	return who;
}

/* Where a thread waited for a kernel lock, if it waited for only one. */
static const struct descriptor *kernel_lock_at(const struct thread_row *thread)
{
	size_t n = 0;

	for (size_t i = 0; i < thread->n_locks; i++)
		n += (size_t)kd_lock_is_kernel(thread->locks[i].kind);
	for (size_t i = 0; n == 1 && i < thread->n_descriptors; i++)
		if (thread->descriptors[i].awaited == KD_AWAITED_KERNEL_LOCK &&
		    thread->descriptors[i].is.fd >= 0)
			return &thread->descriptors[i].is;
	return NULL;
}

/* Claim for the rest of the sleeps of a kind. The longest is certain only if nothing was taken. */
static struct claim rest_claim(const struct thread_row *thread, enum kd_awaited kind,
			       const struct kd_count *left)
{
	bool all = left->total == thread->ledger.awaited[kind].total;

	return (struct claim){ .ns = left->total,
			       .count = left->count,
			       .longest = all ? left->max : u64_min(left->max, left->total),
			       .began = all ? left->began : 0,
			       .so_far = thread->ledger.asleep[kind].max };
}

/* Any sleep for a kernel lock is a loss, even if the holder is unknown. */
static void kernel_lock_claims(struct claimant *claimant, const struct thread_row *thread)
{
	const struct sleeping *asleep = &thread->ledger.asleep[KD_AWAITED_KERNEL_LOCK];
	struct kd_count left = thread->ledger.awaited[KD_AWAITED_KERNEL_LOCK];
	struct claim rest;

	for (size_t i = 0; i < thread->n_locks; i++) {
		const struct lock_row *lock = &thread->locks[i];
		const struct claim claim = { .ns = u64_min(lock->waits.total, left.total),
					     .count = lock->waits.count,
					     .longest = lock->waits.max,
					     .began = lock->waits.began,
					     .so_far = asleep->max,
					     .who = kernel_holder(claimant->sample, thread, lock),
					     .at = kernel_lock_at(thread) };

		if (!kd_lock_is_kernel(lock->kind))
			continue;
		left.total -= claim.ns;
		left.count = u64_sub(left.count, lock->waits.count);
		claim_give(claimant, CAUSE_KERNEL_LOCK, &claim);
	}
	rest = rest_claim(thread, KD_AWAITED_KERNEL_LOCK, &left);
	claim_give(claimant, CAUSE_KERNEL_LOCK, &rest);
}

/* Waker, if it was nearly always the same; for a disk, its name. */
static struct verdict_who descriptor_who(enum cause cause, const struct descriptor_row *row)
{
	struct verdict_who who = { .tid = 0 };

	if (cause == CAUSE_DISK)
		memcpy(who.comm, row->is.device, sizeof(row->is.device));
	if (cause != CAUSE_PEER || !row->ended_by || row->others > row->waits.count / 10)
		return who;
	who.tid = row->ended_by;
	who.pid = row->ended_pid;
	memcpy(who.comm, row->ended_name, sizeof(row->ended_name));
	return who;
}

/* Claims of waits of a kind by descriptor, and of the rest. Waits have full length; time outside
 * the window is no loss of it. */
static void kind_claims(struct claimant *claimant, const struct thread_row *thread,
			enum cause cause, enum kd_awaited kind)
{
	struct kd_count left = thread->ledger.awaited[kind];
	struct claim claim;

	for (size_t i = 0; i < thread->n_descriptors; i++) {
		const struct descriptor_row *row = &thread->descriptors[i];

		if (row->awaited != kind)
			continue;
		claim = (struct claim){ .ns = u64_min(row->waits.total, left.total),
					.count = row->waits.count,
					.longest = row->waits.max,
					.began = row->waits.began,
					.so_far = thread->ledger.asleep[kind].max,
					.who = descriptor_who(cause, row),
					.at = row->is.fd >= 0 ? &row->is : NULL,
					.requests = row->requests };
		left.total -= claim.ns;
		left.count = u64_sub(left.count, row->waits.count);
		claim_give(claimant, cause, &claim);
	}
	claim = rest_claim(thread, kind, &left);
	claim_give(claimant, cause, &claim);
}

/* Claims of sleeps. A futex may be a lock or a condition variable, and the program may be idle:
 * only a holder makes it a lock. */
static void blocked_claims(struct claimant *claimant, const struct thread_row *thread)
{
	static const struct {
		enum cause cause;
		enum kd_awaited kind;
	} all[] = {
		{ CAUSE_DISK, KD_AWAITED_DISK },    { CAUSE_DISK, KD_AWAITED_FILE },
		{ CAUSE_PEER, KD_AWAITED_PIPE },    { CAUSE_PEER, KD_AWAITED_SOCKET },
		{ CAUSE_PEER, KD_AWAITED_EVENTFD }, { CAUSE_CHILD, KD_AWAITED_CHILD },
	};

	if (is_idle(claimant->sample, thread))
		return;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		kind_claims(claimant, thread, all[i].cause, all[i].kind);
}

/* Claims of page faults and reclaim, on CPU and asleep. The longest case is known for major
 * faults, and for sleeps if none of them is a major fault's. How often memory was reclaimed is
 * unknown. */
static void memory_claims(struct claimant *claimant, const struct thread_row *thread)
{
	const struct kd_majors *majors = &thread->majors;
	const struct claim reclaim = { .ns = thread->ledger.ns[LEDGER_RECLAIM] };
	uint64_t ran = thread->ledger.ns[LEDGER_FAULT];
	struct kd_count asleep = thread->ledger.awaited[KD_AWAITED_PAGE];
	uint64_t reading = u64_min(majors->asleep, asleep.total);
	uint64_t running = u64_min(u64_sub(majors->times.total, majors->asleep), ran);
	const struct claim major = { .ns = u64_add(running, reading),
				     .count = majors->times.count,
				     .longest = majors->times.max,
				     .began = majors->times.began };
	struct claim others;

	asleep.total -= reading;
	others = rest_claim(thread, KD_AWAITED_PAGE, &asleep);
	others.ns = u64_add(others.ns, ran - running);
	others.count = u64_sub(u64_add(thread->minor_faults, thread->major_faults), major.count);
	if (reading)
		others.longest = others.began = 0;
	else
		others.count = u64_max(others.count, asleep.count);
	claim_give(claimant, CAUSE_MAJOR_FAULT, &major);
	claim_give(claimant, CAUSE_PAGE_FAULT, &others);
	claim_give(claimant, CAUSE_RECLAIM, &reclaim);
}

/* One claim, named after the action with most of the time. */
static void irq_claims(struct claimant *claimant, enum cause cause, const struct irq_row *rows,
		       size_t n, uint64_t ns)
{
	struct claim claim = { .ns = ns };
	const struct irq_row *most = NULL;
	uint64_t total = 0;

	for (size_t i = 0; i < n; i++) {
		claim.count += rows[i].count;
		if (rows[i].max > claim.longest)
			claim.began = rows[i].began;
		claim.longest = u64_max(claim.longest, rows[i].max);
		total = u64_add(total, rows[i].total);
		if (!most || rows[i].total > most->total)
			most = &rows[i];
	}
	if (most && most->total > total / 2)
		memcpy(claim.who.comm, most->name, sizeof(claim.who.comm));
	claim_give(claimant, cause, &claim);
}

static void interrupt_claims(struct claimant *claimant, const struct thread_row *thread)
{
	irq_claims(claimant, CAUSE_HARDIRQ, thread->hardirqs, thread->n_hardirqs,
		   thread->ledger.ns[LEDGER_HARDIRQ]);
	irq_claims(claimant, CAUSE_SOFTIRQ, thread->softirqs, thread->n_softirqs,
		   thread->ledger.ns[LEDGER_SOFTIRQ]);
}

static void stolen_claims(struct claimant *claimant, const struct thread_row *thread)
{
	uint64_t ns = thread->ledger.ns[LEDGER_STOLEN];
	const struct claim claim = {
		.ns = ns,
		.count = thread->stolen.count,
		.longest = u64_min(thread->stolen.max, ns),
	};

	claim_give(claimant, CAUSE_STOLEN, &claim);
}

/* How often it was frozen is unknown. */
static void frozen_claims(struct claimant *claimant, const struct thread_row *thread)
{
	struct claim claim = { .ns = thread->ledger.ns[LEDGER_FROZEN] };
	const char *group = claimant->sample->frozen_group;
	size_t length = strlen(group), capacity = sizeof(claim.who.comm) - 1;

	/* The end of a long path says more. */
	memcpy(claim.who.comm, group + (length > capacity ? length - capacity : 0),
	       length > capacity ? capacity : length);
	claim_give(claimant, CAUSE_FROZEN, &claim);
}

void claims_find(struct claimant *claimant, const struct thread_row *thread)
{
	/* A finder may claim for several causes that share a ledger state. */
	static void (*const finders[])(struct claimant *, const struct thread_row *) = {
		ready_claims,   interrupt_claims, memory_claims,  lock_claims,   kernel_lock_claims,
		blocked_claims, timer_claims,     stopped_claims, stolen_claims, frozen_claims,
	};

	for (size_t i = 0; i < sizeof(finders) / sizeof(*finders); i++)
		finders[i](claimant, thread);
}
