/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Pairs: with kd_same_thread a stop only counts on the thread that hit the start, see "Triggers" in
 * DETAILS.rst. If several may end a window (the thread, user space), the first to set
 * KD_BANK_CLOSING does.
 *
 * A start without stop is in the thread's slot, or in kd_pairs. It is the generation of its
 * window, or a similar word without a window, with the kind in bits unused by words. */
#ifndef PAIR_BPF_H
#define PAIR_BPF_H

#include "hit.bpf.h"

enum pair {
	PAIR_OPENED,     /* a window */
	PAIR_MISSED,     /* no window: all banks wait to be read */
	PAIR_OVERLAPPED, /* no window: open ones have all banks */
	PAIR_IDLE,       /* no window was wanted */
};
#define PAIR_SHIFT 5
#define PAIR_MASK 3
_Static_assert(PAIR_MASK << PAIR_SHIFT < 1 << KD_WORD_SHIFT, "room below the time");

#define WANTED_TRIES 8

static __always_inline enum pair pair_kind(u64 pair)
{
	return pair >> PAIR_SHIFT & PAIR_MASK;
}

/* Why there was no bank. */
static __always_inline enum pair bank_lacks(void)
{
	FOR_EACH_BANK(bank)
	{
		if (READ_ONCE(kd_windows[BOUNDED(bank, KD_BANKS)].bank) < KD_BANK_CLOSED)
			return PAIR_OVERLAPPED;
	}
	return PAIR_MISSED;
}

static __always_inline u64 pair_none(struct hit *hit, enum pair kind)
{
	return kd_word_compose(hit_time(hit), 0, KD_WORD_OPEN) | (u64)kind << PAIR_SHIFT;
}

static __always_inline u64 pair_open(struct hit *hit)
{
	struct kd_window *window;
	u64 gen;
	u32 bank;

	if (!READ_ONCE(kd_wanted) || is_paused())
		return pair_none(hit, PAIR_IDLE);
	bank = bank_take(0, hit->atomic);
	if (bank == KD_NO_BANK)
		return pair_none(hit, bank_lacks());
	window = &kd_windows[BOUNDED(bank, KD_BANKS)];
	window->end = KD_NEVER;
	window->opened_by = hit->tid;
	window->opened_in = hit->tgid;
	window->start = hit_time(hit);
	gen = kd_word_compose(hit->t, bank, KD_WORD_OPEN);
	cpu_barrier();
	WRITE_ONCE(window->gen, gen);
	counters_mark(hit->slot, gen, KD_MARK_START);
	return gen;
}

/* Takes one of the windows still wanted. */
static __always_inline bool wanted_take(struct hit *hit)
{
	for (u32 i = 0; i < WANTED_TRIES; i++) {
		u64 wanted = READ_ONCE(kd_wanted);

		if (!wanted)
			return false;
		if (swap(&kd_wanted, wanted, wanted - 1, hit->atomic))
			return true;
	}
	return false;
}

/* Claims the pair's window to end it. */
static __always_inline struct kd_window *pair_window(struct hit *hit, u64 pair)
{
	struct kd_window *window = &kd_windows[BOUNDED(kd_word_bank(pair), KD_BANKS)];

	if (window->gen != pair ||
	    !swap(&window->bank, KD_BANK_TAKEN, KD_BANK_CLOSING, hit->atomic))
		return NULL;
	return window;
}

static __always_inline enum kd_outcome pair_close(struct hit *hit, u64 pair, u64 ns)
{
	struct kd_window *window = pair_window(hit, pair);
	enum kd_outcome outcome = KD_HIT_USED;
	u64 start = pair >> KD_WORD_SHIFT;

	if (!window)
		return KD_HIT_IDLE; /* user space has ended it */
	WRITE_ONCE(window->end, start + ns);
	if (is_short(ns))
		outcome = KD_HIT_SKIPPED;
	else if (!wanted_take(hit))
		outcome = KD_HIT_IDLE;
	if (outcome != KD_HIT_USED || ns < READ_ONCE(kd_keep)) {
		window_free(window);
		return outcome;
	}
	if (kd_interval)
		WRITE_ONCE(kd_not_before, hit->t + kd_interval);
	window->closed_by = hit->by;
	cpu_barrier();
	WRITE_ONCE(window->bank, KD_BANK_CLOSED);
	hit->closed = start;
	return outcome;
}

/* Outcome of a pair without a window. */
static __always_inline enum kd_outcome pair_apart(struct hit *hit, enum pair kind, u64 since,
						  u64 ns)
{
	if (is_short(ns))
		return KD_HIT_SKIPPED;
	if (kind == PAIR_OVERLAPPED) {
		count_up(&hit->tally->nested);
		event_send(KD_EVENT_NESTED, hit->tid, since, since + ns);
		return KD_HIT_OVERLAPPED;
	}
	if (kind == PAIR_IDLE || !READ_ONCE(kd_wanted))
		return KD_HIT_IDLE;
	if (ns >= READ_ONCE(kd_keep))
		return KD_HIT_MISSED;
	return wanted_take(hit) ? KD_HIT_USED : KD_HIT_IDLE;
}

/* Ends what this thread started. */
static __always_inline void pair_stop(struct hit *hit, u64 *entry)
{
	u64 pair = *entry, since = pair >> KD_WORD_SHIFT, ns;
	enum kd_outcome outcome;

	if (!pair) {
		tally_outcome(hit, KD_STOP, KD_HIT_UNMATCHED);
		return;
	}
	*entry = 0;
	if (pair_kind(pair) == PAIR_OPENED)
		counters_mark(hit->slot, pair, KD_MARK_END);
	ns = hit_since(hit, since);
	if (pair_kind(pair) == PAIR_OPENED)
		outcome = pair_close(hit, pair, ns);
	else
		outcome = pair_apart(hit, pair_kind(pair), since, ns);
	tally_pair(hit, outcome);
	tally_duration(hit, ns);
	if (kd_list_skipped && outcome == KD_HIT_SKIPPED)
		event_send(KD_EVENT_SKIPPED, hit->tid, since, hit->t);
}

static __always_inline void pair_start(struct hit *hit, u64 *entry)
{
	if (*entry) /* recursion, or a missed stop */
		tally_outcome(hit, KD_START, KD_HIT_OVERLAPPED);
	else
		*entry = pair_open(hit);
}

/* Key for the start of a thread in another process; by CPU for idle threads. */
static __always_inline u64 foreign_key(u32 tid)
{
	return tid ?: (u64)bpf_get_smp_processor_id() << 32;
}

/* NULL: none, or no space. */
static __noinline u64 *pair_foreign(u32 tid, bool create)
{
	u64 key = foreign_key(tid), zero = 0;
	u64 *entry = bpf_map_lookup_elem(&kd_pairs, &key);

	if (entry || !create)
		return entry;
	if (bpf_map_update_elem(&kd_pairs, &key, &zero, BPF_NOEXIST))
		loss_count(KD_LOSS_PAIRS);
	return bpf_map_lookup_elem(&kd_pairs, &key);
}

/* Entry for a thread's start, made if create is set. The thread may have had no slot at the
 * start, and have one now: usually because it got a wanted name. */
static __always_inline u64 *pair_entry(struct hit *hit, bool create)
{
	u64 *foreign;

	if (hit->thread && (hit->thread->pair || (create && !kd_by_thread)))
		return &hit->thread->pair;
	foreign = pair_foreign(hit->tid, create && !hit->thread);
	if (!foreign && hit->thread)
		return &hit->thread->pair;
	return foreign;
}

static __always_inline void pair_forget(struct hit *hit, u64 *entry)
{
	u64 key = foreign_key(hit->tid);

	if (!hit->thread || entry != &hit->thread->pair)
		bpf_map_delete_elem(&kd_pairs, &key);
}

static __always_inline void pair_hit(struct hit *hit, bool start, bool stop)
{
	u64 *entry = pair_entry(hit, start);

	if (stop && entry)
		pair_stop(hit, entry);
	else if (stop)
		tally_outcome(hit, KD_STOP, KD_HIT_UNMATCHED);
	if (start && entry)
		pair_start(hit, entry);
	else if (stop && entry)
		pair_forget(hit, entry);
}

/* The end of its thread would have ended a window, had there been a bank. */
static __always_inline bool pair_is_missed(struct hit *hit, u64 pair)
{
	u64 ns = hit_since(hit, pair >> KD_WORD_SHIFT);

	return pair_kind(pair) == PAIR_MISSED && !is_short(ns) && ns >= READ_ONCE(kd_keep) &&
	       READ_ONCE(kd_wanted);
}

/* The thread or its program ends, so the stop can no longer come. Its window ends here (keep),
 * or is dropped. */
static __always_inline void pair_leave(struct hit *hit, bool keep)
{
	u64 *entry = pair_entry(hit, false);
	struct kd_window *window;
	u64 pair;

	if (!entry || !*entry || !hit_begin(hit))
		return;
	pair = *entry;
	*entry = 0;
	if (pair_kind(pair) == PAIR_OPENED && keep) {
		pair_close(hit, pair, hit_since(hit, pair >> KD_WORD_SHIFT));
	} else if (pair_kind(pair) == PAIR_OPENED) {
		window = pair_window(hit, pair);
		if (window)
			window_free(window);
	}
	tally_outcome(hit, KD_START,
		      keep && pair_is_missed(hit, pair) ? KD_HIT_MISSED : KD_HIT_ENDED);
	pair_forget(hit, entry);
	hit_end(hit);
}

#endif
