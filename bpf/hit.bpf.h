/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Shared by hits of triggers: time, outcome counts, the shortest window, and setting of edges. */
#ifndef HIT_BPF_H
#define HIT_BPF_H

#include "compat.bpf.h"
#include "counter.bpf.h"
#include "maps.bpf.h"
#include "thread.bpf.h"
#include "window.bpf.h"

/* --- Shortest windows --- */

/* If it depends on the name of the thread that ends a window, the name is only read for windows not
 * shorter than the smallest delta. */

/* The first match counts. */
ARRAY_MAP(kd_deltas, KD_NAMED_DELTAS, struct kd_delta);

/* True if a delta matches a thread name, given in two words. */
static __noinline bool delta_is_of(const struct kd_delta *delta, u64 first, u64 second)
{
	return name_matches(&delta->names, first, second);
}

/* Global, to be verified once, in all runs with triggers: delta of the current thread. */
__noinline u64 delta_of_current(void)
{
	u64 name[KD_COMM_LEN / sizeof(u64)] = {};

	if (!kd_named_deltas)
		return kd_delta_others;
	current_comm((char *)name);
	for (u32 i = 0; i < KD_NAMED_DELTAS && i < kd_named_deltas; i++) {
		u32 key = i;
		struct kd_delta *delta = bpf_map_lookup_elem(&kd_deltas, &key);

		if (delta && delta_is_of(delta, name[0], name[1]))
			return delta->ns;
	}
	return kd_delta_others;
}

/* True if a window that ends here and now is to be skipped. */
static __always_inline bool is_short(u64 ns)
{
	if (ns < kd_delta)
		return true;
	return kd_named_deltas && ns < delta_of_current();
}

/* --- Hits --- */

#define TOKEN_TRIES 64

struct hit {
	u64 t; /* of the edge; 0: not yet read */
	u32 tid, tgid;
	s32 by;      /* TID that closed a window, or KD_BY_EXIT */
	bool atomic; /* compare-and-swap is available */
	u64 closed;  /* start of the window it closed, to be read; 0: none */
	struct kd_tally *tally;
	struct kd_thread *thread; /* NULL: another process's, or unknown */
	u32 slot;                 /* of the thread, else 0 */
};

/* Reads the clock as late as possible, and once: the end of a window may begin the next. */
static __always_inline u64 hit_time(struct hit *hit)
{
	if (!hit->t)
		hit->t = clock_now() + KD_LEAD_NS;
	return hit->t;
}

static __always_inline u64 hit_since(struct hit *hit, u64 since)
{
	return elapsed(since, hit_time(hit));
}

static __always_inline bool swap(u64 *word, u64 old, u64 new, bool atomic)
{
	if (atomic)
		return __sync_val_compare_and_swap(word, old, new) == old;
	if (READ_ONCE(*word) != old)
		return false;
	WRITE_ONCE(*word, new);
	return true;
}

/* Tallies are per CPU, but a program may be interrupted, and since 6.0 those of uprobes may be
 * preempted, by another one that counts there. */
static __always_inline void count_up(u64 *count)
{
	__sync_fetch_and_add(count, 1);
}

static __always_inline void tally_outcome(struct hit *hit, enum kd_role role,
					  enum kd_outcome outcome)
{
	count_up(&hit->tally->outcome[role][outcome]);
}

/* For a pair: the start is decided with its stop. */
static __always_inline void tally_pair(struct hit *hit, enum kd_outcome outcome)
{
	tally_outcome(hit, KD_START, outcome);
	tally_outcome(hit, KD_STOP, outcome);
}

static __always_inline void tally_duration(struct hit *hit, u64 ns)
{
	struct kd_tally *tally = hit->tally;

	if (ns > tally->max)
		tally->max = ns;
	if (~ns > tally->min)
		tally->min = ~ns;
	__sync_fetch_and_add(&tally->total, ns);
	count_up(
		&tally->durations[BOUNDED(duration_bucket(ns, KD_WINDOW_BITS), KD_WINDOW_BUCKETS)]);
}

/* Out of line: rare, and keeps its stack off the hot path. */
__noinline int event_send(u32 type, u32 tid, u64 start, u64 end)
{
	struct kd_event event = { .type = type, .tid = tid, .start = start, .end = end };
	bool urgent = type == KD_EVENT_OPENED || type == KD_EVENT_CLOSED;
	struct kd_tally *tally;
	u32 zero = 0;

	bpf_get_current_comm(event.comm, sizeof(event.comm));
	if (!bpf_ringbuf_output(&kd_ring, &event, sizeof(event),
				urgent ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP))
		return 0;
	tally = bpf_map_lookup_elem(&kd_tallies, &zero);
	if (tally && !urgent)
		count_up(&tally->unlisted);
	return 0;
}

/* Takes a bank for the next window, preferably the last one: a skipped window has just left it. */
static __always_inline u32 bank_take(u32 last, bool atomic)
{
	u32 bank = last < kd_banks ? last : 0;

	for (u32 i = 0; i < KD_MAX_BANKS && i < kd_banks; i++) {
		if (swap(&kd_windows[BOUNDED(bank, KD_BANKS)].bank, KD_BANK_FREE, KD_BANK_TAKEN,
			 atomic)) {
			kd_windows[BOUNDED(bank, KD_BANKS)].traces_lost = 0;
			return bank;
		}
		bank = bank + 1 < kd_banks ? bank + 1 : 0;
	}
	return KD_NO_BANK;
}

static __always_inline bool is_paused(void)
{
	u64 until = READ_ONCE(kd_not_before);

	return until && clock_now() < until;
}

static __always_inline bool token_take(void)
{
	u32 token;

	for (u32 i = 0; i < TOKEN_TRIES; i++)
		if (!bpf_map_pop_elem(&kd_edge_token, &token))
			return true;
	return false;
}

static __always_inline void token_give(void)
{
	u32 token = 1;

	bpf_map_push_elem(&kd_edge_token, &token, BPF_ANY);
}

/* Counts the hit, which may set edges until hit_end(). */
static __always_inline bool hit_begin(struct hit *hit)
{
	u32 zero = 0;

	hit->tally = bpf_map_lookup_elem(&kd_tallies, &zero);
	if (!hit->tally)
		return false;
	if (hit->atomic || token_take())
		return true;
	loss_count(KD_LOSS_EDGES);
	return false;
}

/* --- The longest windows, where no others are wanted --- */

/* Lengths of the longest windows that were kept; 0: fewer were. Two that close at the same time may
 * write the same one: what is lost in that way makes kd_keep too small, never too large. */
__u64 kd_longest[KD_LONGEST] = {};

static __always_inline u64 longest_least(void)
{
	u64 least = KD_NEVER >> 1;

	for (u32 i = 0; i < KD_LONGEST && i < kd_worst; i++)
		least = lesser(kd_longest[i], least);
	return least;
}

/* Adds a window that was kept. Global, to be verified once, in runs that want this only. */
__noinline int longest_add(u64 ns)
{
	u64 least;

	if (!kd_worst)
		return 0;
	least = longest_least();
	for (u32 i = 0; i < KD_LONGEST && i < kd_worst; i++) {
		if (kd_longest[i] == least && ns > least) {
			kd_longest[i] = ns;
			break;
		}
	}
	least = longest_least();
	WRITE_ONCE(kd_keep, least ? least + 1 : 0);
	return 0;
}

/* True if a window is shorter than all that are wanted. */
static __always_inline bool is_outdone(const struct kd_window *window)
{
	return window->closed_by != KD_BY_SIGNAL &&
	       READ_ONCE(window->end) - window->start + 1 < READ_ONCE(kd_keep);
}

static __always_inline void window_free(struct kd_window *window)
{
	window->gen = 0;
	cpu_barrier();
	WRITE_ONCE(window->bank, KD_BANK_FREE);
}

/* Frees the banks of windows that nobody needs to read, as longer ones have closed since. The last
 * of several threads that do so sees all of them. */
static __always_inline void outdone_free(bool atomic)
{
	FOR_EACH_BANK(bank)
	{
		struct kd_window *window = &kd_windows[BOUNDED(bank, KD_BANKS)];

		if (!is_outdone(window) ||
		    !swap(&window->bank, KD_BANK_CLOSED, KD_BANK_CLOSING, atomic))
			continue;
		if (is_outdone(window)) /* still, or the bank has another one now */
			window_free(window);
		else
			WRITE_ONCE(window->bank, KD_BANK_CLOSED);
	}
}

static __always_inline void hit_end(struct hit *hit)
{
	if (kd_worst && hit->closed) {
		longest_add(elapsed(hit->closed, hit->t));
		outdone_free(hit->atomic);
	}
	if (!hit->atomic)
		token_give();
}

#endif
