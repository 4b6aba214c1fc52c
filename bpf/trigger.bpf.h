/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Triggers: probes that open and close windows.
 *
 * Who swaps the window word for one that is closed until KD_FAR makes the edge:
 * no other hit can set one now, and every event looks at the banks. Then the
 * clock is read, the bank is written and the word says what is so. Between the
 * reading and the writing of the bank are a few instructions; edges are set a
 * little ahead (KD_LEAD_NS) to make up for them.
 *
 * Kernels before 5.12 have no compare-and-swap, and their verifier refuses one
 * even in code that is never reached: for them each program exists a second
 * time, with a token that it must hold. */
#ifndef TRIGGER_BPF_H
#define TRIGGER_BPF_H

#include "thread.bpf.h"
#include "window.bpf.h"

#define TOKEN_TRIES 64

/* A start that waits for its stop: its time << PAIR_SHIFT | what it did. */
enum pair {
	PAIR_OPENED, /* a window, recorded or not */
	PAIR_OVERLAPPED,
	PAIR_IDLE,
};
#define PAIR_SHIFT 2
#define PAIR_MASK 3

struct hit {
	u64 t; /* of the edge; 0: not read yet */
	u32 tid;
	bool atomic; /* there is a compare-and-swap */
	u64 kept;    /* start of the window that it closed and that is to be read; 0: none */
	struct kd_tally *tally;
	struct kd_thread *thread; /* NULL: of another process, or not known */
};

/* As late as possible, and once: what ends a window may begin the next one. */
static __always_inline u64 hit_time(struct hit *hit)
{
	if (!hit->t)
		hit->t = clock_now() + KD_LEAD_NS;
	return hit->t;
}

/* bpf_ktime_get_ns() may go back a little (ktime_get_mono_fast_ns()). */
static __always_inline u64 hit_since(struct hit *hit, u64 since)
{
	u64 t = hit_time(hit);

	return t > since ? t - since : 0;
}

static __always_inline bool swap(u64 *place, u64 old, u64 new, bool atomic)
{
	if (atomic)
		return __sync_val_compare_and_swap(place, old, new) == old;
	if (READ_ONCE(*place) != old)
		return false;
	WRITE_ONCE(*place, new);
	return true;
}

/* A tally is its CPU's own, but a program may be interrupted, and since 6.0 those
 * of user-space probes may be preempted, by another that counts there. */
static __always_inline void count_up(u64 *count)
{
	__sync_fetch_and_add(count, 1);
}

static __always_inline void tally_outcome(struct hit *hit, enum kd_role role,
					  enum kd_outcome outcome)
{
	count_up(&hit->tally->outcome[role][outcome]);
}

/* Of a pair: the start is decided with its stop. */
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
	count_up(&tally->durations[BOUNDED(duration_place(ns, KD_WINDOW_BITS), KD_WINDOW_PLACES)]);
}

/* Out of line: rare, and its stack is not the hot path's. */
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

/* A bank for the next window, preferably the one that was used last: a window
 * too short has just left it. */
static __always_inline u32 bank_take(u32 last, bool atomic)
{
	u32 bank = last < kd_banks ? last : 0;

	for (u32 i = 0; i < KD_MAX_BANKS && i < kd_banks; i++) {
		if (swap(&kd_windows[BOUNDED(bank, KD_BANKS)].bank, KD_BANK_FREE, KD_BANK_TAKEN,
			 atomic))
			return bank;
		bank = bank + 1 < kd_banks ? bank + 1 : 0;
	}
	return KD_NO_BANK;
}

/* Takes the word, if it has not changed: all others have to wait. */
static __always_inline bool word_take(u64 word, bool atomic)
{
	u64 far = KD_FAR << KD_WORD_SHIFT | (word & KD_WORD_BANK_MASK << KD_WORD_BANK_SHIFT);

	return swap(&kd_word, word, far, atomic);
}

static __always_inline bool is_paused(void)
{
	u64 until = READ_ONCE(kd_not_before);

	return until && clock_now() < until;
}

static __always_inline enum pair window_open(struct hit *hit)
{
	u64 word = READ_ONCE(kd_word), next;
	struct kd_window *window;
	u32 bank;

	if (word & KD_WORD_OPEN || word >> KD_WORD_SHIFT == KD_FAR)
		return PAIR_OVERLAPPED;
	if (!READ_ONCE(kd_wanted) || is_paused())
		return PAIR_IDLE;
	if (!word_take(word, hit->atomic))
		return PAIR_OVERLAPPED;
	bank = bank_take(word_bank(word), hit->atomic);
	window = &kd_windows[BOUNDED(bank, KD_BANKS)];
	if (hit_time(hit) < word >> KD_WORD_SHIFT) { /* an end that user space announced */
		WRITE_ONCE(window->bank, KD_BANK_FREE);
		WRITE_ONCE(kd_word, word);
		return PAIR_OVERLAPPED;
	}
	window->end = KD_NEVER;
	window->opened_by = hit->tid;
	window->start = hit->t;
	next = hit->t << KD_WORD_SHIFT | bank << KD_WORD_BANK_SHIFT | KD_WORD_OPEN;
	barrier();
	window->gen = bank == KD_NO_BANK ? 0 : next;
	barrier();
	WRITE_ONCE(kd_word, next);
	return PAIR_OPENED;
}

/* Closes the window of the given word. KD_HIT_UNMATCHED: some other hit has done
 * so. */
static __always_inline enum kd_outcome window_close(struct hit *hit, u64 word)
{
	u64 start = word >> KD_WORD_SHIFT, ns;
	u32 bank = word_bank(word);
	struct kd_window *window = &kd_windows[BOUNDED(bank, KD_BANKS)];
	enum kd_outcome outcome = KD_HIT_USED;
	bool keep;

	if (!word_take(word, hit->atomic))
		return KD_HIT_UNMATCHED;
	if (hit_time(hit) <= start) { /* user space has announced it for later */
		WRITE_ONCE(kd_word, word);
		return KD_HIT_UNMATCHED;
	}
	window->end = hit->t;
	barrier();
	ns = hit->t - start;
	keep = ns >= kd_delta && ns >= READ_ONCE(kd_keep);
	if (ns < kd_delta)
		outcome = KD_HIT_SKIPPED;
	else if (keep && bank == KD_NO_BANK)
		outcome = KD_HIT_MISSED;
	else
		__sync_fetch_and_add(&kd_wanted, -1);
	keep = keep && bank != KD_NO_BANK;
	if (keep && kd_interval)
		WRITE_ONCE(kd_not_before, hit->t + kd_interval);
	if (keep)
		window->closed_by = hit->tid;
	else
		window->gen = 0;
	barrier();
	WRITE_ONCE(window->bank, keep ? KD_BANK_CLOSED : KD_BANK_FREE);
	WRITE_ONCE(kd_word, hit->t << KD_WORD_SHIFT | bank << KD_WORD_BANK_SHIFT);
	if (keep)
		hit->kept = start;
	return outcome;
}

static __always_inline void start_hit(struct hit *hit, u64 *pair)
{
	enum pair did;

	if (pair && *pair) { /* the function calls itself, or a stop was not seen */
		tally_outcome(hit, KD_START, KD_HIT_OVERLAPPED);
		return;
	}
	did = window_open(hit);
	if (!kd_closes_itself && did == PAIR_OPENED) {
		__sync_fetch_and_add(&kd_wanted, -1);
		tally_outcome(hit, KD_START, KD_HIT_USED);
		event_send(KD_EVENT_OPENED, hit->tid, hit->t, 0);
	} else if (pair) {
		*pair = hit_time(hit) << PAIR_SHIFT | did;
	} else if (did != PAIR_OPENED) {
		tally_outcome(hit, KD_START, did == PAIR_IDLE ? KD_HIT_IDLE : KD_HIT_OVERLAPPED);
	}
}

/* Ends the window that is open, whoever started it. */
static __always_inline void stop_hit_any(struct hit *hit)
{
	u64 word = READ_ONCE(kd_word);
	enum kd_outcome outcome = KD_HIT_UNMATCHED;

	if (word & KD_WORD_OPEN)
		outcome = window_close(hit, word);
	if (outcome == KD_HIT_UNMATCHED) {
		tally_outcome(hit, KD_STOP, outcome);
		return;
	}
	tally_pair(hit, outcome);
	tally_duration(hit, hit->t - (word >> KD_WORD_SHIFT));
	if (kd_list_skipped && outcome == KD_HIT_SKIPPED)
		event_send(KD_EVENT_SKIPPED, hit->tid, word >> KD_WORD_SHIFT, hit->t);
}

/* What becomes of a pair that opened no window. */
static __always_inline enum kd_outcome pair_apart(struct hit *hit, enum pair did, u64 since)
{
	if (hit_since(hit, since) < kd_delta)
		return KD_HIT_SKIPPED;
	if (did == PAIR_IDLE)
		return KD_HIT_IDLE;
	count_up(&hit->tally->nested);
	event_send(KD_EVENT_NESTED, hit->tid, since, since + hit_since(hit, since));
	return KD_HIT_OVERLAPPED;
}

/* Ends what this thread started. */
static __always_inline void stop_hit_same(struct hit *hit, u64 *pair)
{
	u64 since = *pair >> PAIR_SHIFT, word = READ_ONCE(kd_word);
	enum kd_outcome outcome;
	enum pair did = *pair & PAIR_MASK;

	if (!*pair) {
		tally_outcome(hit, KD_STOP, KD_HIT_UNMATCHED);
		return;
	}
	*pair = 0;
	if (did != PAIR_OPENED)
		outcome = pair_apart(hit, did, since);
	else if (word & KD_WORD_OPEN && word >> KD_WORD_SHIFT == since)
		outcome = window_close(hit, word);
	else
		outcome = KD_HIT_IDLE; /* user space has ended the window */
	if (outcome == KD_HIT_UNMATCHED)
		outcome = KD_HIT_IDLE;
	tally_pair(hit, outcome);
	tally_duration(hit, hit_since(hit, since));
	if (kd_list_skipped && outcome == KD_HIT_SKIPPED)
		event_send(KD_EVENT_SKIPPED, hit->tid, since, hit->t);
}

/* Where a thread of another process keeps its start. NULL: no room. */
static __noinline u64 *pair_foreign(u32 tid, bool create)
{
	u64 key = tid ?: (u64)bpf_get_smp_processor_id() << 32, zero = 0;
	u64 *pair = bpf_map_lookup_elem(&kd_pairs, &key);

	if (pair || !create)
		return pair;
	if (bpf_map_update_elem(&kd_pairs, &key, &zero, BPF_NOEXIST))
		loss_count(KD_LOSS_PAIRS);
	return bpf_map_lookup_elem(&kd_pairs, &key);
}

static __always_inline void pair_forget(struct hit *hit)
{
	u64 key = hit->tid ?: (u64)bpf_get_smp_processor_id() << 32;

	if (!hit->thread)
		bpf_map_delete_elem(&kd_pairs, &key);
}

static __always_inline void role_hit(struct hit *hit, bool start, bool stop)
{
	u64 *pair;

	if (!kd_same_thread) {
		if (stop)
			stop_hit_any(hit);
		if (start)
			start_hit(hit, NULL);
		return;
	}
	pair = hit->thread ? &hit->thread->pair : pair_foreign(hit->tid, start);
	if (stop && pair)
		stop_hit_same(hit, pair);
	else if (stop)
		tally_outcome(hit, KD_STOP, KD_HIT_UNMATCHED);
	if (start && pair)
		start_hit(hit, pair);
	else if (stop && pair)
		pair_forget(hit);
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

/* A probe was hit. One that is start and stop at once counts as both. */
static __always_inline void trigger_hit(bool start, bool stop, bool atomic)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	bool ours = pid_tgid >> 32 == kd_tgid;
	struct hit hit = { .tid = pid_tgid, .atomic = atomic };
	u32 zero = 0;
	u16 *entry;

	if (!READ_ONCE(kd_armed) || (!ours && kd_target_only[start ? KD_START : KD_STOP]))
		return;
	hit.tally = bpf_map_lookup_elem(&kd_tallies, &zero);
	if (!hit.tally)
		return;
	entry = ours ? tid_entry(hit.tid) : NULL;
	if (entry && *entry != KD_SLOT_FREE && *entry != KD_SLOT_REFUSED)
		hit.thread = slot_thread(*entry);
	if (hit.thread)
		hit.thread->hits++;
	else
		count_up(&hit.tally->foreign);
	if (start)
		count_up(&hit.tally->hits[KD_START]);
	if (stop)
		count_up(&hit.tally->hits[KD_STOP]);
	if (!atomic && !token_take()) {
		loss_count(KD_LOSS_EDGES);
		return;
	}
	role_hit(&hit, start, stop);
	if (!atomic)
		token_give();
	/* Last: who is woken by it may read the tallies at once. */
	if (hit.kept)
		event_send(KD_EVENT_CLOSED, hit.tid, hit.kept, hit.t);
}

/* Whether the system call at hand is one of a trigger's; the cookie says whether
 * this is its exit. Entry and exit have the number in the same place. */
static __always_inline bool call_is_trigger(struct trace_event_raw_sys_enter *ctx,
					    enum kd_role role)
{
	u64 number = ctx->id;

	return number < KD_CLASSES &&
	       kd_trigger_calls[number] & KD_AT(role, bpf_get_attach_cookie(ctx) & 1);
}

#endif
