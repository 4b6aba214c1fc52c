// SPDX-License-Identifier: Apache-2.0
/* Long sleeps, and the chains that they lead to. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/capture/session/hashes.h"
#include "cli/capture/session/parts.h"
#include "cli/capture/session/types.h"
#include "cli/model/chain.h"
#include "files.h"
#include "locks.h"

struct reading {
	struct session *session;
	const struct session_view *view;
	struct chains chains;
};

/* Copies an entry unless it was, or is being, overwritten. */
static bool entry_read(struct kd_long_sleep *sleep, const struct kd_long_sleep *from,
		       uint64_t number)
{
	if (__atomic_load_n(&from->number, __ATOMIC_ACQUIRE) != number)
		return false;
	*sleep = *from;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&from->number, __ATOMIC_RELAXED) == number;
}

/* 0 if the slot has another thread by now. */
static uint32_t waker_of(const struct session_view *view, uint32_t slot, uint32_t tid)
{
	return slot < view->slots && view->threads[slot].task && view->threads[slot].tid == tid
		       ? slot
		       : 0;
}

static void sleep_add(const struct reading *reading, struct chain_thread *thread,
		      const struct kd_long_sleep *sleep)
{
	struct chain_sleep *added = &thread->sleeps[thread->n++];

	*added = (struct chain_sleep){
		.since = sleep->since,
		.until = sleep->until,
		.call = sleep->call < 0 ? KD_CALL_NONE : sleep->call,
		.waker = waker_of(reading->view, sleep->waker, sleep->waker_tid),
		.did = sleep->did,
		.woken = sleep->woken,
	};
	if (sleep->until > reading->view->start) /* of others only the times matter */
		session_wchan_name(reading->session, &sleep->wchan, added->wchan);
}

/* A sleep that goes on at the window's end. If it is for a lock, it leads to the holder. */
static void open_add(const struct reading *reading, struct chain_thread *thread,
		     const struct kd_thread *of)
{
	const struct session_view *view = reading->view;
	const bool seeded = of->state == KD_UNSEEN;
	struct kd_long_sleep sleep = {
		.since = of->since,
		.until = view->end,
		.wchan = of->wchan[1],
		.call = seeded ? of->seed_call : of->slept_in,
		.did = { of->run_ns, of->ready_ns },
	};

	if (!seeded && of->locked.address && of->locked.holder) {
		sleep.waker = waker_of(view, of->locked.slot, of->locked.holder);
		sleep.waker_tid = of->locked.holder;
	}
	if (sleep.waker) {
		const struct kd_thread holder = view->threads[sleep.waker];
		const struct kd_activity until = locks_activity(&holder, view->end);

		sleep.woken = (struct kd_times){ until.running, until.ready };
	}
	sleep_add(reading, thread, &sleep);
}

static int by_end(const void *x_, const void *y_)
{
	const struct chain_sleep *x = x_, *y = y_;

	return x->until < y->until ? -1 : x->until > y->until;
}

/* Adds those of a class that were not overwritten. Returns whether that is all of them. */
static bool class_read(const struct reading *reading, struct chain_thread *thread, uint32_t slot,
		       uint32_t class, uint64_t last)
{
	const struct kd_ring_of ring = kd_sleeps_of(slot, class);
	const struct kd_long_sleep *entries = &reading->session->long_sleeps[ring.first];
	const uint64_t first = u64_sub(last, ring.n);
	struct kd_long_sleep sleep;
	bool all = !first;

	for (uint64_t i = first; i < last; i++) {
		if (entry_read(&sleep, &entries[i % ring.n], i + 1))
			sleep_add(reading, thread, &sleep);
		else
			all = false;
	}
	return all;
}

/* Returns 0 or -ENOMEM. */
static int thread_read(const struct reading *reading, uint32_t slot)
{
	const struct kd_thread of = reading->view->threads[slot];
	struct chain_thread *thread = &reading->chains.threads[slot];

	if (!of.task)
		return 0;
	thread->tid = (pid_t)of.tid;
	memcpy(thread->name, of.comm, sizeof(thread->name));
	thread->from = of.tracked;
	thread->sleeps = calloc(kd_ring_of(slot).n + 1, sizeof(*thread->sleeps));
	if (!thread->sleeps)
		return -ENOMEM;
	for (uint32_t i = 0; i < KD_SLEEP_CLASSES; i++)
		if (!class_read(reading, thread, slot, i, of.long_sleeps[i]))
			thread->from = UINT64_MAX;
	qsort(thread->sleeps, thread->n, sizeof(*thread->sleeps), by_end);
	if (of.since < reading->view->end && thread_is_blocked(&of))
		open_add(reading, thread, &of);
	return 0;
}

static bool has_any(const struct session_view *view)
{
	for (uint32_t slot = 1; slot < view->slots; slot++)
		for (size_t i = 0; view->threads[slot].task && i < KD_SLEEP_CLASSES; i++)
			if (view->threads[slot].long_sleeps[i])
				return true;
	return false;
}

static int long_sleeps_read(struct session *session, struct session_hash hash)
{
	const struct session_view *view = hash.view;
	struct reading reading = { session, view, { .n = view->slots } };
	int result = 0;

	/* Threads that end while the window is open are read many times a second: too often for all
	 * of this, so they have no chains. */
	if (view->end == KD_NEVER || !has_any(view))
		return 0;
	reading.chains.start = view->start;
	reading.chains.end = view->end;
	reading.chains.threads = calloc(view->slots, sizeof(*reading.chains.threads));
	if (!reading.chains.threads)
		return -ENOMEM;
	for (uint32_t slot = 1; slot < view->slots && !result; slot++)
		result = thread_read(&reading, slot);
	for (uint32_t slot = 1; slot < view->slots && !result; slot++)
		if (hash.row_of[slot])
			result = chains_add(&reading.chains, slot, session_hash_row(&hash, slot));
	for (uint32_t slot = 1; slot < view->slots; slot++)
		free(reading.chains.threads[slot].sleeps);
	free(reading.chains.threads);
	return result;
}

SESSION_PART(long_sleeps) = { .read = long_sleeps_read };
