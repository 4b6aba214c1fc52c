/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict_sleep.h"

#include <string.h>

#include "cli/base/arith.h"
#include "asked.h"
#include "verdict_limits.h"
#include "wchan.h"

#define LOSS(of)                                                                                   \
	{                                                                                          \
		SLEEP_LOSS, of, NULL, NULL                                                         \
	}
static struct sleep sleep_of_kind(const struct descriptor_row *row)
{
	static const struct sleep sleeps[KD_AWAITED_KINDS] = {
		[KD_AWAITED_WORK] = { .class = SLEEP_IDLE },
		[KD_AWAITED_TIMER] = { .class = SLEEP_IDLE },
		[KD_AWAITED_SIGNAL] = { .class = SLEEP_IDLE },
		[KD_AWAITED_TTY] = { .class = SLEEP_IDLE },
		[KD_AWAITED_LOCK] = { .class = SLEEP_FUTEX },
		[KD_AWAITED_KERNEL_LOCK] = LOSS(CAUSE_KERNEL_LOCK),
		[KD_AWAITED_DISK] = LOSS(CAUSE_DISK),
		[KD_AWAITED_FILE] = LOSS(CAUSE_DISK),
		[KD_AWAITED_CHILD] = LOSS(CAUSE_CHILD),
		[KD_AWAITED_PIPE] = { SLEEP_ANSWER, CAUSE_PEER, NULL, NULL },
		[KD_AWAITED_SOCKET] = { SLEEP_ANSWER, CAUSE_PEER, NULL, NULL },
		[KD_AWAITED_EVENTFD] = { .class = SLEEP_IDLE },
		[KD_AWAITED_PAGE] = { .class = SLEEP_FAULT },
	};

	/* A file lock is not a futex. */
	if (row->awaited == KD_AWAITED_LOCK && row->is.fd >= 0)
		return (struct sleep)LOSS(CAUSE_LOCK);
	return sleeps[row->awaited < KD_AWAITED_KINDS ? row->awaited : KD_AWAITED_OTHER];
}
#undef LOSS

/* Causes by wait channel; CAUSES: not a loss to one. */
static const enum cause wchan_causes[WCHAN_CAUSES] = {
	[WCHAN_IDLE] = CAUSES,           [WCHAN_TIME] = CAUSES,
	[WCHAN_POLL] = CAUSES,           [WCHAN_FUTEX] = CAUSES,
	[WCHAN_PEER] = CAUSE_PEER,       [WCHAN_LOCK] = CAUSE_KERNEL_LOCK,
	[WCHAN_FILELOCK] = CAUSE_LOCK,   [WCHAN_LEASE] = CAUSE_LOCK,
	[WCHAN_CHILD] = CAUSE_CHILD,     [WCHAN_DISK] = CAUSE_DISK,
	[WCHAN_FS] = CAUSE_DISK,         [WCHAN_LIMIT] = CAUSE_DISK_LIMIT,
	[WCHAN_FUSE] = CAUSE_SERVER,     [WCHAN_PAGER] = CAUSE_SERVER,
	[WCHAN_DAEMON] = CAUSE_SERVER,   [WCHAN_NET] = CAUSE_SERVER,
	[WCHAN_MEMORY] = CAUSE_RECLAIM,  [WCHAN_PAGE] = CAUSE_PAGE_FAULT,
	[WCHAN_RCU] = CAUSE_KERNEL_WORK, [WCHAN_KERNEL] = CAUSE_KERNEL_WORK,
	[WCHAN_DEVICE] = CAUSE_DEVICE,   [WCHAN_STOP] = CAUSES,
	[WCHAN_THROUGH] = CAUSES,
};

static const char *const kept_words[KEPT_KINDS] = {
	[KEPT_OWN] = "an acknowledgement, until which Nagle's algorithm keeps the rest of its data "
		     "back",
	[KEPT_OTHER] = "data that Nagle's algorithm keeps back at the other end until this end "
		       "acknowledges what came before",
};

static struct sleep sleep_by_kernel(const struct descriptor_row *row)
{
	const struct wchan *wchan = wchan_of(row->wchan);
	const struct user_wait *user = user_wait_of_sleep(row);
	struct sleep sleep = sleep_of_kind(row);

	if (row->kept_back)
		return (struct sleep){ .class = SLEEP_LOSS,
				       .cause = CAUSE_KERNEL_WORK,
				       .words = kept_words[row->kept_back] };
	if (row->by_turns)
		return (struct sleep){ .class = SLEEP_IDLE, .words = "its turn to accept" };
	/* Its own request is open, or its child is at the other end, or was until it ended. */
	if (row->unanswered)
		return (struct sleep){ .class = SLEEP_LOSS, .cause = CAUSE_PEER };
	if (row->for_child ||
	    (sleep.class == SLEEP_ANSWER && *row->child && descriptor_row_of_several(row) &&
	     !row->accepted) ||
	    (user_wait_kind(row) == WCHAN_POLL && row->awaited_pid &&
	     !(user && user->cause == WCHAN_LOCK)))
		return (struct sleep){ .class = SLEEP_LOSS, .cause = CAUSE_CHILD };
	/* A client may take its time. */
	if (row->accepted && sleep.class == SLEEP_ANSWER && (!wchan || wchan->cause == WCHAN_IDLE))
		return (struct sleep){ .class = SLEEP_IDLE, .words = wchan ? wchan->words : NULL };
	/* The kernel says when it waits for a lock of its own; and where it is the same, what a
	 * descriptor is says more. */
	if (!wchan || row->awaited == KD_AWAITED_KERNEL_LOCK)
		return sleep;
	if (wchan->cause == WCHAN_FUTEX || sleep.class == SLEEP_FUTEX)
		return (struct sleep){ .class = SLEEP_FUTEX, .words = wchan->words };
	/* A disk's request ended it: asynchronous I/O, io_uring. */
	if (wchan->cause == WCHAN_POLL && sleep.cause == CAUSE_DISK)
		return (struct sleep){ SLEEP_ANSWER, CAUSE_DISK, NULL, NULL };
	if (wchan_causes[wchan->cause] == CAUSES)
		return (struct sleep){ sleep.class == SLEEP_ANSWER ? SLEEP_ANSWER : SLEEP_IDLE,
				       sleep.cause, wchan->words, NULL };
	if (sleep.class == SLEEP_FAULT &&
	    (wchan_causes[wchan->cause] == CAUSE_DISK || wchan->cause == WCHAN_PAGE))
		return sleep;
	if (sleep.class != SLEEP_LOSS || sleep.cause != CAUSE_LOCK)
		sleep.cause = wchan_causes[wchan->cause];
	sleep.class = SLEEP_LOSS;
	sleep.words = wchan->cause == WCHAN_FILELOCK ? NULL : wchan->words;
	return sleep;
}

bool lock_is_had(const struct lock_row *lock)
{
	if (kd_lock_is_kernel(lock->kind))
		return false;
	return lock->holder || (lock->kind == KD_LOCK_NO_OWNER && lock->released_by &&
				lock->waits.count >= VERDICT_TIMES);
}

struct kd_count locks_had(const struct thread_row *thread)
{
	struct kd_count waits = { .count = 0 };

	for (size_t i = 0; i < thread->n_locks; i++)
		if (lock_is_had(&thread->locks[i]))
			count_join(&waits, &thread->locks[i].waits);
	return waits;
}

/* A semaphore (System V) is a lock for who gives it back: a call for each one that waited. Who only
 * takes what others give is handed work. */
static struct sleep semaphore_sleep(const struct thread_row *thread,
				    const struct descriptor_row *row, const char *words)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < thread->n_calls; i++)
		if ((int32_t)thread->calls[i].number == row->call)
			calls = u64_add(calls, thread->calls[i].count);
	if (row->ended_by && row->waits.count >= VERDICT_TIMES &&
	    calls >= u64_add(row->waits.count, row->waits.count / 2))
		return (struct sleep){ SLEEP_LOSS, CAUSE_LOCK, words, NULL };
	return (struct sleep){ .class = SLEEP_IDLE, .words = words };
}

/* What the program calls it says more than a futex, a poll or a timer; but not who has a lock, if
 * that is known. */
struct sleep sleep_of(const struct thread_row *thread, const struct descriptor_row *row)
{
	struct sleep sleep = sleep_by_kernel(row);
	const struct user_wait *user = user_wait_of_sleep(row);

	if (sleep.class == SLEEP_FUTEX && strstr(row->wchan, "semtimedop"))
		return semaphore_sleep(thread, row, sleep.words);
	if (!user || sleep.class == SLEEP_LOSS || sleep.class == SLEEP_FAULT)
		return sleep;
	if (user->cause == WCHAN_LOCK && sleep.class == SLEEP_FUTEX &&
	    locks_had(thread).total >= row->waits.total / 2)
		return sleep;
	sleep.words = user->words;
	sleep.cause = user->cause == WCHAN_LOCK ? CAUSE_LOCK : wchan_causes[user->cause];
	sleep.class = sleep.cause == CAUSES ? SLEEP_IDLE : SLEEP_LOSS;
	sleep.user = user;
	return sleep;
}

/* --- Claims of one sleep --- */

/* A disk's name, or the group with a limit; the address of who does not answer; else the waker, if
 * it was nearly always the same, or who could have been; or the program of several children. */
static struct verdict_who sleep_who(const struct sample *sample, enum cause cause,
				    const struct descriptor_row *row, bool held)
{
	struct verdict_who who = { .tid = 0 };

	/* Neither end is to blame, whoever sent in the end. */
	if (row->kept_back)
		return who;
	if (cause == CAUSE_DISK_LIMIT)
		return limit_who(sample->disk_limit.group);
	if (cause == CAUSE_RECLAIM && *sample->memory_limit.group)
		return limit_who(sample->memory_limit.group);
	if (cause == CAUSE_DISK)
		memcpy(who.comm, row->is.device, sizeof(row->is.device));
	if (held ||
	    (cause != CAUSE_DISK && row->awaited_pid && (row->unanswered || !row->ended_by))) {
		who.tid = who.pid = row->awaited_pid;
		memcpy(who.comm, row->awaited_name, sizeof(row->awaited_name));
	}
	if (row->unanswered && !row->awaited_pid)
		memcpy(who.comm, row->asked, sizeof(row->asked));
	/* What they have open may be used by others, too. */
	if (row->for_child && !*row->child && !who.tid)
		memcpy(who.comm, row->awaited_name, sizeof(row->awaited_name));
	if (held || cause == CAUSE_DISK || row->unanswered || !row->ended_by ||
	    (row->for_child && !*row->child))
		return who;
	if (descriptor_row_of_several(row)) {
		memcpy(who.comm, row->child, sizeof(row->child));
		return who;
	}
	who.tid = row->ended_by;
	who.pid = row->ended_pid;
	memcpy(who.comm, row->ended_name, sizeof(row->ended_name));
	return who;
}

/* Who ended the longest of sleeps that several ended. Time-outs may have ended nearly all sleeps
 * for a futex: then who ended the last that went on until then. */
static void waker_set(struct wait_words *wait, const struct thread_row *thread,
		      const struct descriptor_row *row)
{
	wait->woken_by = row->ended_by;
	wait->woken_name = row->ended_name;
	for (size_t i = 0; i < thread->n_locks && !wait->woken_by; i++) {
		const struct lock_row *lock = &thread->locks[i];

		if (row->awaited != KD_AWAITED_LOCK || lock->holder ||
		    lock->waits.total < row->waits.total / 2)
			continue;
		wait->woken_by = lock->released_by;
		wait->woken_name = lock->released_name;
	}
}

void sleep_describe(struct claim *claim, const struct sample *sample, enum cause cause,
		    const struct thread_row *thread, const struct descriptor_row *row,
		    const struct sleep *sleep)
{
	const bool held = sleep->user && sleep->user->cause == WCHAN_LOCK && row->awaited_pid;

	claim->who = sleep_who(sample, cause, row, held);
	claim->at = row->is.fd >= 0 ? &row->is : NULL;
	claim->requests = row->requests;
	claim->queued = row->queued;
	claim->wait = (struct wait_words){
		.words = sleep->words,
		.wchan = *row->wchan ? row->wchan : NULL,
		.state = *row->awaited_state ? row->awaited_state : NULL,
		.asked = row->unanswered && !row->kept_back ? row : NULL,
		.kept_back = row->kept_back,
		.function = *row->user_function && !row->kept_back ? row->user_function : NULL,
		.user = sleep->user,
		.held = held,
	};
	if (sleep->user)
		waker_set(&claim->wait, thread, row);
}

enum cause sleep_loss(struct claim *claim, const struct sample *sample,
		      const struct thread_row *thread, const struct descriptor_row *row)
{
	const struct sleep sleep = sleep_of(thread, row);
	enum cause cause = sleep.cause;

	if (sleep.class == SLEEP_FAULT)
		cause = CAUSE_PAGE_FAULT;
	else if (sleep.class != SLEEP_LOSS && sleep.class != SLEEP_ANSWER)
		return CAUSES;
	if (cause == CAUSE_DISK && limit_holds_disk(sample, row, claim->ns))
		cause = CAUSE_DISK_LIMIT;
	sleep_describe(claim, sample, cause, thread, row, &sleep);
	return cause;
}
