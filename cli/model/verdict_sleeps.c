/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict_sleeps.h"

#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/syscall_set.h"
#include "slow_calls.h"
#include "thread_row.h"
#include "verdict_chains.h"
#include "verdict_limits.h"
#include "verdict_sleep.h"

#define RING_MOST 8 /* threads that wait for one another */

/* --- System calls --- */

static bool is_named(const struct sample *sample, uint32_t call, const char *const *names)
{
	const char *name = sample->foreign_calls ? NULL : syscall_name(call);

	for (; name && *names; names++)
		if (!strcmp(name, *names))
			return true;
	return false;
}

/* Time in the window, number, and longest of the system calls with these names. */
static struct kd_count sleep_calls(const struct sample *sample, const struct thread_row *thread,
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

/* --- All sleeps of a thread --- */

/* What a sleep has of the time in the window; row is NULL for those of a kind without rows. */
struct sleep_part {
	const struct descriptor_row *row;
	enum kd_awaited kind;
	struct sleep is;
	struct kd_count in; /* total: in the window */
	bool lasts;         /* nobody may be to end it: see pipe_lasts() */
};

typedef void sleep_part_fn(void *context, const struct sleep_part *part);

/* Who reads from a pipe has asked nobody for anything there: what was handed work now and then may
 * be idle since, and who waits for a slow producer has waits that ended. */
static bool pipe_lasts(const struct thread_row *thread, const struct descriptor_row *row)
{
	return row->awaited == KD_AWAITED_PIPE && row->waits.max > row->waits.total / 2 &&
	       row->waits.max == thread->ledger.asleep[KD_AWAITED_PIPE].max;
}

/* Times in rows are whole lengths, of which the window may have less. What has no row, as it was
 * short, is taken for the same as most of its kind. */
static void sleeps_each(const struct thread_row *thread, sleep_part_fn *found, void *context)
{
	struct sleep_part rest[KD_AWAITED_KINDS];

	for (unsigned int kind = 0; kind < KD_AWAITED_KINDS; kind++) {
		const struct descriptor_row any = { .awaited = kind, .is.fd = -1 };

		rest[kind] = (struct sleep_part){ .kind = kind,
						  .is = sleep_of(thread, &any),
						  .in = thread->ledger.awaited[kind] };
	}
	for (size_t i = thread->n_descriptors; i--;)
		if (!thread->descriptors[i].shorter &&
		    !descriptor_row_is_others(&thread->descriptors[i]))
			rest[thread->descriptors[i].awaited].is = sleep_of(thread,
									   &thread->descriptors[i]);
	for (size_t i = 0; i < thread->n_descriptors; i++) {
		const struct descriptor_row *row = &thread->descriptors[i];
		struct kd_count *left = &rest[row->awaited].in;
		struct sleep_part part = { row, row->awaited, sleep_of(thread, row), row->waits,
					   pipe_lasts(thread, row) };

		if (row->shorter || descriptor_row_is_others(row))
			continue;
		part.in.total = u64_min(row->waits.total, left->total);
		left->total -= part.in.total;
		left->count = u64_sub(left->count, row->waits.count);
		found(context, &part);
	}
	for (unsigned int kind = 0; kind < KD_AWAITED_KINDS; kind++)
		if (rest[kind].in.total)
			found(context, &rest[kind]);
}

static void fault_add(void *context, const struct sleep_part *part)
{
	if (part->is.class == SLEEP_FAULT)
		count_join(context, &part->in);
}

static struct kd_count sleep_faults(const struct thread_row *thread)
{
	struct kd_count faults = { .count = 0 };

	sleeps_each(thread, fault_add, &faults);
	return faults;
}

/* The claim for what is left of the sleeps of a kind. The longest is certain only if none was taken
 * from them. */
static struct claim sleep_rest(const struct thread_row *thread, enum kd_awaited kind,
			       const struct kd_count *left)
{
	bool all = left->total == thread->ledger.awaited[kind].total;

	return (struct claim){ .ns = left->total,
			       .count = left->count,
			       .longest = all ? left->max : u64_min(left->max, left->total),
			       .began = all ? left->began : 0,
			       .so_far = thread->ledger.asleep[kind].max };
}

/* --- Idle --- */

static uint64_t stops_of(const struct thread_row *thread)
{
	uint64_t count = thread->stopped.count;

	for (size_t i = 0; i < thread->n_open; i++)
		if (thread->open[i].kind == OPEN_STOPPED)
			count += thread->open[i].count;
	return count;
}

/* True if it slept interruptibly from edge to edge, or only stops ended its sleeps. What it waited
 * for need not come. */
static bool is_silent(const struct thread_row *thread)
{
	uint64_t stops = stops_of(thread), sleeps = 0;
	enum ledger_state only;

	if (thread_is_silent(thread, &only))
		return only == LEDGER_BLOCKED;
	for (size_t i = 0; i < KD_AWAITED_KINDS; i++)
		sleeps = u64_add(sleeps, thread->ledger.awaited[i].count);
	return stops && sleeps && sleeps <= u64_add(stops, thread->members) &&
	       !thread->ledger.ns[LEDGER_BLOCKED_UNINT];
}

struct idle {
	const struct sample *sample;
	bool silent;
	uint64_t held;
	struct slow_calls slow;
	uint64_t ns;
	struct kd_count futex; /* those that a thread may have ended */
};

/* Waits for locks of which it is known who has them. */
static uint64_t locks_held(const struct thread_row *thread)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < thread->n_locks; i++)
		if (thread->locks[i].holder && !kd_lock_is_kernel(thread->locks[i].kind))
			ns = u64_add(ns, thread->locks[i].waits.total);
	return ns;
}

/* True for waits in a futex that a time-out ended, or nothing in the window, and that nobody holds.
 * held: as locks_held(). */
static bool ends_by_itself(const struct sleep_part *part, uint64_t held)
{
	const struct descriptor_row *row = part->row;

	return part->is.class == SLEEP_FUTEX && row && *row->wchan && !row->ended_by &&
	       !descriptor_row_of_several(row) && held < part->in.total / 2;
}

/* True if an answer need not come. Where triggers make the windows something is due. */
static bool is_unasked(const struct sample *sample, const struct sleep_part *part, bool silent)
{
	return silent || (part->lasts && !sample_is_triggered(sample));
}

/* True for sleeps that are waiting for work, without a doubt. */
static bool is_idle(const struct sample *sample, const struct sleep_part *part, bool silent,
		    uint64_t held)
{
	const enum sleep_class class = part->is.class;

	return class == SLEEP_IDLE || (class == SLEEP_FUTEX && ends_by_itself(part, held)) ||
	       (class == SLEEP_ANSWER && is_unasked(sample, part, silent)) ||
	       (class == SLEEP_UNKNOWN && silent);
}

/* The part of an idle sleep in slow calls that the user chose. */
static uint64_t slow_take(struct slow_calls *slow, const struct sleep_part *part)
{
	return part->row && part->is.class != SLEEP_FUTEX
		       ? slow_calls_take(slow, part->row->call, part->in.total)
		       : 0;
}

static void idle_add(void *context, const struct sleep_part *part)
{
	struct idle *idle = context;

	if (is_idle(idle->sample, part, idle->silent, idle->held))
		idle->ns = u64_add(idle->ns, part->in.total - slow_take(&idle->slow, part));
	else if (part->is.class == SLEEP_FUTEX)
		count_join(&idle->futex, &part->in);
}

/* Samples of old versions, without kinds of sleeps: estimates by system calls. */
static uint64_t idle_by_calls(const struct sample *sample, const struct thread_row *thread)
{
	static const char *const names[] = {
		"accept",     "accept4",      "clock_nanosleep", "epoll_pwait",     "epoll_pwait2",
		"epoll_wait", "io_getevents", "nanosleep",       "pause",           "poll",
		"ppoll",      "pselect6",     "rt_sigsuspend",   "rt_sigtimedwait", "select",
		NULL,
	};

	return u64_min(sleep_calls(sample, thread, names).total, thread->ledger.ns[LEDGER_BLOCKED]);
}

static bool has_kinds(const struct thread_row *thread)
{
	for (size_t i = 0; i < KD_AWAITED_KINDS; i++)
		if (thread->ledger.awaited[i].count)
			return true;
	return false;
}

/* Of the time in futexes, that which is not for locks: other threads signal conditions, if there is
 * work. Without rows of any, it is not known. */
static uint64_t signals_of(const struct thread_row *thread, uint64_t in_futex)
{
	bool any = false;

	for (size_t i = 0; i < thread->n_locks; i++) {
		const struct lock_row *lock = &thread->locks[i];
		bool unknown = lock->kind == KD_LOCK_OTHER && !lock->shorter;

		any |= lock->kind == KD_LOCK_CONDITION;
		if (lock->kind == KD_LOCK_NO_OWNER || unknown)
			in_futex = u64_sub(in_futex, lock->waits.total);
	}
	return any ? in_futex : 0;
}

/* A pool thread that rarely sleeps in a futex without a holder is idle, as it is until a time-out
 * or a signal. If it sleeps often, it may as well be held up. */
uint64_t sleep_idle(const struct sample *sample, const struct thread_row *thread)
{
	const struct kd_count held = locks_had(thread);
	struct idle idle = { .sample = sample,
			     .silent = is_silent(thread),
			     .held = locks_held(thread) };
	uint64_t ns, in_futex;
	uint64_t frozen = limit_frozen_asleep(sample, thread);

	if (!has_kinds(thread))
		return idle.silent ? thread->ledger.ns[LEDGER_BLOCKED]
				   : idle_by_calls(sample, thread);
	slow_calls_of(&idle.slow, sample, thread);
	sleeps_each(thread, idle_add, &idle);
	in_futex = u64_sub(idle.futex.total, held.total);
	if (u64_sub(idle.futex.count, held.count) >= VERDICT_TIMES * (uint64_t)thread->members)
		in_futex = signals_of(thread, in_futex);
	ns = u64_add(idle.ns, in_futex);
	/* It should have run again. */
	ns = u64_sub(ns, u64_max(thread->overslept.late.total, frozen));
	return u64_min(ns, ledger_blocked(&thread->ledger));
}

/* --- Locks --- */

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
	struct kd_count waits = sleep_calls(sample, thread, names);

	if (thread->ledger.awaited[KD_AWAITED_KERNEL_LOCK].count)
		return (struct kd_count){ .count = 0 };
	waits.total = u64_min(u64_min(waits.total, other->total),
			      thread->ledger.ns[LEDGER_BLOCKED_UNINT]);
	waits.count = u64_min(waits.count, other->count);
	waits.max = u64_min(waits.max, other->max);
	return waits;
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
	who.pid = lock->holder_pid ? lock->holder_pid : thread_pid(sample, thread);
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

/* Words for the lock, if the function that wants it says what it is, as that of a frozen file
 * system; NULL: it does not, or there are several locks. */
static const char *kernel_lock_words(const struct thread_row *thread)
{
	const char *words = NULL;

	for (size_t i = 0; i < thread->n_descriptors; i++) {
		const struct wchan *wchan = wchan_of(thread->descriptors[i].wchan);

		if (thread->descriptors[i].awaited != KD_AWAITED_KERNEL_LOCK)
			continue;
		if (!wchan || !wchan->caller || (words && strcmp(words, wchan->words) != 0))
			return NULL;
		words = wchan->words;
	}
	return words;
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
					     .at = kernel_lock_at(thread),
					     .wait.words = kernel_lock_words(thread),
					     .lock = lock->symbol ? lock : NULL };

		if (!kd_lock_is_kernel(lock->kind))
			continue;
		left.total -= claim.ns;
		left.count = u64_sub(left.count, lock->waits.count);
		claim_give(claimant, CAUSE_KERNEL_LOCK, &claim);
	}
	rest = sleep_rest(thread, KD_AWAITED_KERNEL_LOCK, &left);
	rest.wait.words = kernel_lock_words(thread);
	claim_give(claimant, CAUSE_KERNEL_LOCK, &rest);
}

/* True if the thread has waited for this lock for most of the window, and goes on to: then it is
 * known who has it at the end. */
static bool lock_is_awaited(const struct sample *sample, const struct thread_row *thread,
			    const struct lock_row *lock)
{
	return lock->holder && !kd_lock_is_kernel(lock->kind) &&
	       lock->waits.max == thread->ledger.asleep[KD_AWAITED_LOCK].max &&
	       lock->waits.max > (sample->end - sample->start) / 2;
}

/* Who has the lock for which a thread goes on to wait; 0: unknown, or it waits for none. */
static pid_t holder_awaited(const struct sample *sample, pid_t tid)
{
	const struct thread_row *thread = sample_thread(sample, tid);

	for (size_t i = 0; thread && i < thread->n_locks; i++)
		if (lock_is_awaited(sample, thread, &thread->locks[i]))
			return thread->locks[i].holder;
	return 0;
}

/* Why the holder of a lock will never release it; NULL: it may. */
static const char *holder_hangs(const struct sample *sample, const struct thread_row *thread,
				const struct lock_row *lock)
{
	pid_t next = lock->holder;

	if (!lock_is_awaited(sample, thread, lock))
		return NULL;
	if (next == thread->tid)
		return "the same thread: a deadlock";
	for (int i = 0; i < RING_MOST && next; i++) {
		next = holder_awaited(sample, next);
		if (next == thread->tid)
			return "in a deadlock with it";
	}
	return *lock->holder_name ? NULL : "gone, and did not unlock it";
}

/* Sets what the holder does while the thread goes on to wait. */
static void holder_describe(struct wait_words *wait, const struct sample *sample,
			    const struct thread_row *thread, const struct lock_row *lock)
{
	wait->state = holder_hangs(sample, thread, lock);
	wait->hangs = wait->state;
	for (size_t i = 0; i < thread->n_descriptors && !wait->state; i++) {
		const struct descriptor_row *row = &thread->descriptors[i];

		if (row->awaited == KD_AWAITED_LOCK && row->is.fd < 0 && *row->awaited_state &&
		    row->awaited_pid == lock->holder)
			wait->state = row->awaited_state;
	}
}

/* What chains do not explain of a claim, of which the longest is not known then. */
static struct claim chain_rest(struct claimant *claimant, const struct thread_row *thread,
			       const struct chain_of *of)
{
	struct claim rest = of->claim;

	rest.ns = chain_claims(claimant, thread, of);
	if (rest.ns < of->claim.ns) {
		rest.longest = u64_min(rest.longest, rest.ns);
		rest.began = 0;
	}
	return rest;
}

/* Claims of user-space locks whose holder is known, or who gave it up, as far as the sleeps in
 * futexes go. Returns what is left of these. */
static uint64_t lock_claims(struct claimant *claimant, const struct thread_row *thread,
			    uint64_t left)
{
	struct chain_of of = { .cause = CAUSE_LOCK };

	for (size_t i = 0; i < thread->n_locks; i++) {
		const struct lock_row *lock = &thread->locks[i];
		struct claim claim = {
			.ns = u64_min(lock->waits.total, left),
			.count = lock->waits.count,
			.longest = lock->waits.max,
			.began = lock->waits.began,
			.so_far = thread->ledger.asleep[KD_AWAITED_LOCK].max,
			.who = { .tid = lock->holder,
				 .pid = lock->holder_pid ?: thread_pid(claimant->sample, thread) },
		};

		if (!lock_is_had(lock))
			continue;
		if (lock->holder) {
			memcpy(claim.who.comm, lock->holder_name, sizeof(lock->holder_name));
			holder_describe(&claim.wait, claimant->sample, thread, lock);
		} else {
			claim.who.tid = lock->released_by;
			memcpy(claim.who.comm, lock->released_name, sizeof(lock->released_name));
		}
		left -= claim.ns;
		/* Where others had it in between, these ended the waits. */
		of.via = lock->others > lock->waits.count / 10 ? 0 : claim.who.tid;
		of.claim = claim;
		claim = chain_rest(claimant, thread, &of);
		claim_give(claimant, CAUSE_LOCK, &claim);
	}
	return left;
}

/* --- Memory --- */

/* The process with which the thread has had the same pages since a fork, so that it copies them. */
static struct verdict_who copies_who(const struct sample *sample, const struct thread_row *thread)
{
	const struct faulted_thread *faulted = &sample->faulted;
	struct verdict_who who = { .tid = 0 };

	if (faulted->tid != thread->tid || !faulted->shared_pid)
		return who;
	who.tid = who.pid = faulted->shared_pid;
	memcpy(who.comm, faulted->shared_name, sizeof(faulted->shared_name));
	return who;
}

/* Claims of page faults and reclaim, on CPU and asleep. The longest case is known for major
 * faults, and for sleeps if none of them is a major fault's. How often memory was reclaimed is
 * unknown. */
static void memory_claims(struct claimant *claimant, const struct thread_row *thread)
{
	const struct kd_majors *majors = &thread->majors;
	const struct verdict_who limit = limit_who(claimant->sample->memory_limit.group);
	const struct claim reclaim = { .ns = thread->ledger.ns[LEDGER_RECLAIM], .who = limit };
	uint64_t ran = thread->ledger.ns[LEDGER_FAULT];
	struct kd_count asleep = sleep_faults(thread);
	uint64_t reading = u64_min(majors->asleep, asleep.total);
	uint64_t running = u64_min(u64_sub(majors->times.total, majors->asleep), ran);
	const struct claim major = { .ns = u64_add(running, reading),
				     .count = majors->times.count,
				     .longest = majors->times.max,
				     .began = majors->times.began,
				     .who = limit };
	struct claim others;

	asleep.total -= reading;
	others = sleep_rest(thread, KD_AWAITED_PAGE, &asleep);
	others.ns = u64_add(others.ns, ran - running);
	others.count = u64_sub(u64_add(thread->minor_faults, thread->major_faults), major.count);
	if (reading)
		others.longest = others.began = 0;
	else
		others.count = u64_max(others.count, asleep.count);
	claim_give(claimant, CAUSE_MAJOR_FAULT, &major);
	others.who = copies_who(claimant->sample, thread);
	claim_give(claimant, CAUSE_PAGE_FAULT, &others);
	claim_give(claimant, CAUSE_RECLAIM, &reclaim);
}

/* --- Claims --- */

struct claiming {
	struct claimant *claimant;
	const struct thread_row *thread;
	struct slow_calls slow;
	bool silent;
	uint64_t held;
	uint64_t in_futex;
	struct claim futex; /* the largest of those that are not idle */
	uint64_t futexes;   /* how many these are */
};

/* CAUSES: none, or claimed elsewhere. */
static enum cause loss_cause(const struct claiming *claiming, const struct sleep_part *part)
{
	if (part->kind == KD_AWAITED_KERNEL_LOCK)
		return CAUSES;
	switch (part->is.class) {
	case SLEEP_LOSS:
		return part->is.cause;
	case SLEEP_ANSWER:
		return is_unasked(claiming->claimant->sample, part, claiming->silent) &&
				       !claiming->claimant->of_subject
			       ? CAUSES
			       : part->is.cause;
	case SLEEP_FUTEX:
	case SLEEP_IDLE:
	case SLEEP_UNKNOWN:
		return claiming->claimant->of_subject ? CAUSE_WAIT : CAUSES;
	case SLEEP_FAULT:
		break;
	}
	return CAUSES;
}

/* In a window that the user chose, what ended a sleep is followed, and is its cause. */
static void subject_claim(struct claiming *claiming, enum cause cause,
			  const struct sleep_part *part, struct claim *claim)
{
	struct chain_of of = { .cause = cause, .claim = *claim };

	if (part->row && *part->row->wchan) {
		of.wchan = part->row->wchan;
		of.call = part->row->call;
		*claim = chain_rest(claiming->claimant, claiming->thread, &of);
	}
	claim_give(claiming->claimant, cause, claim);
}

static void part_claim(void *context, const struct sleep_part *part)
{
	struct claiming *claiming = context;
	const struct descriptor_row *row = part->row;
	struct claim claim = sleep_rest(claiming->thread, part->kind, &part->in);
	const struct sample *sample = claiming->claimant->sample;
	enum cause cause = loss_cause(claiming, part);

	if (cause == CAUSES && is_idle(sample, part, claiming->silent, claiming->held)) {
		claim.ns = slow_take(&claiming->slow, part);
		cause = claim.ns ? CAUSE_WAIT : CAUSES;
	}
	if (row && cause == CAUSE_DISK && limit_holds_disk(sample, row, claim.ns))
		cause = CAUSE_DISK_LIMIT;
	if (row) {
		sleep_describe(&claim, sample, cause, claiming->thread, row, &part->is);
		claim.longest = row->waits.max;
		claim.began = row->waits.began;
	}
	claim.wait.words = part->is.words;
	claim.wait.user = part->is.user;
	if (part->is.class == SLEEP_FUTEX) {
		claiming->in_futex = u64_add(claiming->in_futex, claim.ns);
		if (ends_by_itself(part, claiming->held) && !claiming->claimant->of_subject)
			return;
		claiming->futexes = u64_add(claiming->futexes, claim.count);
		if (claim.ns > claiming->futex.ns)
			claiming->futex = claim;
	} else if (cause == CAUSE_WAIT || (claiming->claimant->of_subject &&
					   (cause == CAUSE_PEER || cause == CAUSE_CHILD))) {
		subject_claim(claiming, cause, part, &claim);
	} else if (cause != CAUSES) {
		claim_give(claiming->claimant, cause, &claim);
	} else if (part->is.class == SLEEP_UNKNOWN && !claiming->silent) {
		claiming->claimant->unclaimed(claiming->claimant, &claim);
	}
}

/* A futex may be a lock or a condition variable, and the program may be idle: only a holder makes
 * it a lock. In a window that the user chose it is a loss anyway. */
void sleep_claims(struct claimant *claimant, const struct thread_row *thread)
{
	struct claiming claiming = { .claimant = claimant,
				     .thread = thread,
				     .silent = is_silent(thread),
				     .held = locks_held(thread) };
	uint64_t left;
	const struct kd_count memory = waits_for_memory(claimant->sample, thread);
	const struct claim of_memory = { .ns = memory.total,
					 .count = memory.count,
					 .longest = memory.max,
					 .began = memory.began,
					 .so_far = thread->ledger.asleep[KD_AWAITED_OTHER].max };

	memory_claims(claimant, thread);
	slow_calls_of(&claiming.slow, claimant->sample, thread);
	sleeps_each(thread, part_claim, &claiming);
	left = lock_claims(claimant, thread, claiming.in_futex);
	claiming.futex.ns = u64_min(claiming.futex.ns, left);
	if (claimant->of_subject) {
		claiming.futex.ns = left;
		claiming.futex = chain_rest(
			claimant, thread,
			&(struct chain_of){ .cause = CAUSE_WAIT, .claim = claiming.futex });
		claim_give(claimant, CAUSE_WAIT, &claiming.futex);
	} else if (claiming.futexes >= VERDICT_TIMES * (uint64_t)thread->members) {
		left -= signals_of(thread, left);
		claiming.futex.ns = u64_min(claiming.futex.ns, left);
		claimant->unclaimed(claimant, &claiming.futex);
	}
	claim_give(claimant, CAUSE_KERNEL_LOCK, &of_memory);
	kernel_lock_claims(claimant, thread);
}
