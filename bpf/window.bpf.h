/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Accounting of time in windows, see "Windows" in DETAILS.rst.
 *
 * Edges are announced ahead: a program that reads the clock after an edge also sees the edge. Read
 * the clock first, then the word. */
#ifndef WINDOW_BPF_H
#define WINDOW_BPF_H

#include "histogram.bpf.h"
#include "maps.bpf.h"
#include "thread.bpf.h"

/* Items that count if they began and ended inside a window. */
enum item {
	ITEM_CALL, /* key: number */
	ITEM_RUN,
	ITEM_READY,
	ITEM_STOPPED,
	ITEM_OVERSLEPT,
	ITEM_LONG_POLL,
	ITEM_OUT, /* switched out; key: it was runnable */
	ITEM_CPU, /* switched in; key: CPU << 3 | enum kd_move << 1 | CPU has changed */
};

static __always_inline struct kd_record *record_raw(u32 slot, u32 bank)
{
	u32 index = bank * kd_slots + slot;

	return bpf_map_lookup_elem(&kd_records, &index);
}

/* Zeros for a record, up to what interrupts write, which has its own generations. */
static const u8 no_record[__builtin_offsetof(struct kd_record, stolen)] = {};

/* Clears in one call: stores would be verified one by one. Global, to be verified once. */
__noinline int record_reset(u32 slot, u32 bank, u64 gen)
{
	struct kd_record *record = record_raw(slot, bank);
	struct kd_thread *thread = slot_thread(slot);

	if (!record)
		return 0;
	bpf_probe_read_kernel(record, sizeof(no_record), no_record);
	if (thread) {
		record->first = thread->since;
		record->before = thread->before;
		record->before_awaited = thread->awaited;
	}
	record->gen = gen;
	return 0;
}

static __always_inline struct kd_record *record_get(u32 slot, u32 bank, u64 gen)
{
	struct kd_record *record = record_raw(slot, bank);

	if (record && unlikely(record->gen != gen))
		record_reset(slot, bank, gen);
	return record;
}

static __always_inline u64 *record_state(struct kd_record *record, u32 state)
{
	return &record->ns[BOUNDED(state, KD_STATES_PADDED)];
}

static __always_inline void cell_add(struct kd_cell *cell, u64 gen, u64 ns)
{
	if (unlikely(cell->gen != gen)) {
		cell->count = 0;
		cell->total = 0;
		cell->max = 0;
		cell->gen = gen;
	}
	cell->count++;
	cell->total += ns;
	if (ns > cell->max)
		cell->max = ns;
}

/* longest: full length of the item, which began at since, and of which ns is a share. */
static __always_inline void count_add_share(struct kd_count *count, u64 since, u64 ns, u64 longest)
{
	count->count++;
	count->total += ns;
	if (longest > count->max) {
		count->max = longest;
		count->began = since;
	}
}

static __always_inline void count_add(struct kd_count *count, u64 since, u64 ns)
{
	count_add_share(count, since, ns, ns);
}

static __always_inline void span_add(struct kd_span *span, u64 since, u64 ns)
{
	if (!span->count || ns < span->min)
		span->min = ns;
	span->count++;
	span->total += ns;
	if (ns > span->max) {
		span->max = ns;
		span->began = since;
	}
}

static __always_inline void overslept_add(struct kd_overslept *overslept,
					  const struct kd_timer *timer, u64 since, u64 ns)
{
	count_add(&overslept->by, since, ns);
	if (ns >= KD_LATE_NS && ns * KD_LATE_PARTS >= timer->requested)
		count_add(&overslept->late, since, ns);
	overslept->requested += timer->requested;
	if (timer->slack > overslept->slack)
		overslept->slack = timer->slack;
}

static __noinline void call_add_overflow(u32 slot, u32 number, u64 gen, u64 since, u64 ns)
{
	struct kd_row_key key = { .gen = gen, .slot = slot, .rest = number };
	struct kd_count zero = {};
	struct kd_count *count = TABLE_ROW(kd_overflow, &key, &zero, KD_LOSS_CALLS);

	if (count)
		count_add(count, since, ns);
	if (kd_histograms_max)
		loss_count(KD_LOSS_DURATIONS);
}

/* First free or matching entry for a key, its home entry included; KD_CALLS if none. */
static __noinline u32 call_index(struct kd_thread *thread, u32 key)
{
	u32 index = key % KD_CALLS;

	for (u32 i = 0; i < KD_CALL_PROBES; i++) {
		u32 at = (index + i) % KD_CALLS;

		if (thread->call_keys[at] && thread->call_keys[at] != key)
			continue;
		thread->call_keys[at] = key;
		return at;
	}
	return KD_CALLS;
}

static __always_inline u32 counted_as(u32 kind, u64 count)
{
	return count == 1 ? kind | COUNTED_FIRST : kind;
}

/* Returns the same as item_add(). */
static __always_inline u32 call_add(struct kd_record *record, u32 slot, struct kd_thread *thread,
				    u32 number, u64 gen, u64 since, u64 ns)
{
	u32 key = number + 1;
	u32 index = key % KD_CALLS;
	struct kd_count *count;

	if (unlikely(thread->call_keys[index] != key)) {
		index = call_index(thread, key);
		if (index >= KD_CALLS) {
			call_add_overflow(slot, number, gen, since, ns);
			return COUNTED_NO_DURATION;
		}
	}
	count = &record->calls[BOUNDED(index, KD_CALLS)];
	count_add(count, since, ns);
	return counted_as(index, count->count);
}

static __always_inline void cpu_add(struct kd_record *record, u32 key)
{
	u32 cpu = key >> 3, move = key >> 1 & 3;
	u64 *by_move;

	if (likely(cpu < KD_CPU_WORDS * 64))
		record->cpus[BOUNDED(cpu / 64, KD_CPU_WORDS)] |= 1ULL << (cpu % 64);
	else
		record->cpus_beyond = 1;
	if (likely(!(key & 1)))
		return;
	record->migrations++;
	/* Adds by index: the verifier would follow each branch. */
	by_move = &record->other_migrations;
	by_move[BOUNDED(move, 4)]++;
}
_Static_assert(KD_MOVE_OTHER == 0 && KD_MOVE_AFFINITY == 3 &&
		       __builtin_offsetof(struct kd_record, affinity_migrations) ==
			       __builtin_offsetof(struct kd_record, other_migrations) + 3 * 8,
	       "in the order of the counts");

/* By index, as in cpu_add(). */
static __always_inline void out_add(struct kd_record *record, u32 runnable)
{
	u64 *outs = &record->voluntary;

	outs[BOUNDED(runnable, 2)]++;
}
_Static_assert(__builtin_offsetof(struct kd_record, involuntary) ==
		       __builtin_offsetof(struct kd_record, voluntary) + 8,
	       "in the order of keys");

/* Returns enum counted. */
static __always_inline u32 item_add(struct kd_record *record, u32 slot, struct kd_thread *thread,
				    enum item item, u32 key, u64 gen, u64 since, u64 ns)
{
	switch (item) {
	case ITEM_CALL:
		return call_add(record, slot, thread, key, gen, since, ns);
	case ITEM_RUN:
		span_add(&record->run, since, ns);
		return counted_as(KD_HISTOGRAM_RUN, record->run.count);
	case ITEM_READY:
		count_add(&record->ready, since, ns);
		return counted_as(KD_HISTOGRAM_READY, record->ready.count);
	case ITEM_STOPPED:
		count_add(&record->stopped, since, ns);
		break;
	case ITEM_OVERSLEPT:
		overslept_add(&record->overslept, &thread->timer, since, ns);
		break;
	case ITEM_LONG_POLL:
		span_add(&record->long_poll, since, ns);
		break;
	case ITEM_OUT:
		out_add(record, key);
		break;
	case ITEM_CPU:
		cpu_add(record, key);
		break;
	}
	return COUNTED_NO_DURATION;
}

/* What of [since, t] is in a window. */
struct overlap {
	u64 gen, from, to;
};

/* Returns false if the interval has no overlap with this bank's window. since == 0: before tracing.
 * The generation has the start; an earlier end is that of the bank's previous window. */
static __always_inline bool window_overlap(u32 bank, u64 since, u64 t, struct overlap *overlap)
{
	struct kd_window *window = &kd_windows[BOUNDED(bank, KD_BANKS)];
	u64 start, end;

	overlap->gen = READ_ONCE(window->gen);
	if (!overlap->gen)
		return false;
	start = overlap->gen >> KD_WORD_SHIFT;
	end = READ_ONCE(window->end);
#if !defined(__TARGET_ARCH_x86) /* x86 loads in program order */
	if (unlikely(end < start))
		end = KD_NEVER;
#endif
	/* Has no branches, because the verifier would follow each. */
	overlap->from = since + elapsed(since, start);
	overlap->to = lesser(t, end & KD_NEVER >> 1);
	return t > start && since < end && since <= t;
}

/* Share of a value for inside out of total, as if spread evenly. Long times are scaled to units
 * of 2^8 ns or more, so that a product fits. Global, to be verified once. */
__noinline u64 share_of(u64 value, u64 inside, u64 total)
{
	u32 shift = total >> 48 ? 28 : total >> 40 ? 20 : total >> 32 ? 8 : 0;

	inside >>= shift;
	total >>= shift;
	if (inside == total || !total)
		return value;
	return value / total * inside + value % total * inside / total;
}

#define FOR_EACH_BANK(bank) for (u32 bank = 0; bank < KD_MAX_BANKS && bank < kd_banks; bank++)

/* Stores an item that crosses a window edge. */
static __always_inline void open_set(struct kd_opens *opens, enum item item, u32 key, u64 since,
				     u64 t)
{
	struct kd_open open = { .since = since, .until = t };

	switch (item) {
	case ITEM_CALL:
		open.what = (s32)key;
		opens->call = open;
		break;
	case ITEM_RUN:
	case ITEM_READY:
	case ITEM_STOPPED:
		open.what = item == ITEM_RUN     ? KD_USER
			    : item == ITEM_READY ? KD_READY_WOKEN
						 : KD_STOPPED;
		opens->period = open;
		break;
	case ITEM_LONG_POLL:
		opens->round = open;
		break;
	default: /* points in time */
		break;
	}
}

/* Counts an item of [since, t] in a bank's window, if it lies inside. key_item is key << 8 |
 * item. An item that crosses an edge is stored as open there. Global, to be verified once, not
 * per bank. */
__noinline int item_in_bank(u32 slot, u32 bank, u64 key_item, u64 since, u64 t)
{
	struct kd_thread *thread = slot_thread(slot);
	enum item item = key_item & 0xff;
	struct kd_record *record;
	struct overlap overlap;

	if (!thread || !window_overlap(bank, since, t, &overlap))
		return 0;
	record = record_get(slot, bank, overlap.gen);
	if (!record)
		return 0;
	if (overlap.from == since && overlap.to == t)
		histogram_add(slot,
			      item_add(record, slot, thread, item, key_item >> 8, overlap.gen,
				       since, t - since),
			      overlap.gen, t - since);
	else
		open_set(overlap.from != since ? &record->open_start : &record->open_end, item,
			 key_item >> 8, since, t);
	return 0;
}

__noinline int item_across(u32 slot, u64 key_item, u64 since, u64 t)
{
	FOR_EACH_BANK(bank)
	{
		item_in_bank(slot, bank, key_item, since, t);
	}
	return 0;
}

static __always_inline bool state_is_blocked(u32 state)
{
	return state == KD_BLOCKED || state == KD_BLOCKED_UNINT;
}

/* Adds a sleep, or its part in the window, to those of the same kind. */
static __always_inline void awaited_add(struct kd_record *record, struct kd_thread *thread,
					u64 since, u64 ns, u64 longest)
{
	u32 awaited = thread->awaited;

	count_add_share(&record->awaited[BOUNDED(awaited, KD_AWAITED_PADDED)], since, ns, longest);
	record->last_awaited = awaited;
}

/* Accounts an interval in a bank's window, if they overlap. Global, like item_in_bank(). */
__noinline int state_in_bank(u32 slot, u32 bank, u32 state, u64 since, u64 t)
{
	struct kd_thread *thread = slot_thread(slot);
	struct kd_record *record;
	struct overlap overlap;

	if (!thread || !window_overlap(bank, since, t, &overlap))
		return 0;
	record = record_get(slot, bank, overlap.gen);
	if (!record)
		return 0;
	*record_state(record, state) += overlap.to - overlap.from;
	record->upto = overlap.to;
	record->last = state;
	if (state_is_blocked(state)) {
		/* Full length since it began, or since tracing began. */
		if (since < thread->tracked)
			since = thread->tracked;
		record->asleep_since = since;
		awaited_add(record, thread, since, overlap.to - overlap.from,
			    elapsed(since, overlap.to));
	}
	return 0;
}

__noinline int state_across(u32 slot, u32 state, u64 since, u64 t)
{
	FOR_EACH_BANK(bank)
	{
		state_in_bank(slot, bank, state, since, t);
	}
	return 0;
}

/* An event of a thread: when, and where to write it. */
struct event {
	u32 slot;
	struct kd_thread *thread;
	u64 t;
	u64 edge; /* last announced one */
	u64 gen;
	struct kd_record *record; /* of the open window; NULL: none */
};

static __always_inline struct event event_at(struct target target, u64 t)
{
	u64 word = READ_ONCE(kd_word), since = target.thread->since;
	struct event event = {
		.slot = target.slot,
		.thread = target.thread,
		.t = since + elapsed(since, t),
		.edge = word >> KD_WORD_SHIFT,
		.gen = word,
	};

	if (word & KD_WORD_OPEN && likely(event.t >= event.edge))
		event.record = record_get(target.slot, kd_word_bank(word), word);
	return event;
}

/* Prepares a rare event: booking looks at all windows, in functions that are verified once. */
static __always_inline struct event event_rarely(struct target target, u64 t)
{
	u64 since = target.thread->since;

	return (struct event){
		.slot = target.slot,
		.thread = target.thread,
		.t = since + elapsed(since, t),
		.edge = KD_NEVER,
	};
}

/* Counts [since, the event's time]; since is no later than the thread's last event. */
static __always_inline void item_book(struct event event, enum item item, u32 key, u64 since)
{
	u64 ns = event.t - since;

	if (unlikely(since < event.edge))
		item_across(event.slot, (u64)key << 8 | item, since, event.t);
	else if (event.record)
		histogram_add(event.slot,
			      item_add(event.record, event.slot, event.thread, item, key, event.gen,
				       since, ns),
			      event.gen, ns);
}

/* Ends the thread's interval: it was in the given state until the event. */
static __always_inline void state_book(struct event event, u32 state)
{
	u64 since = event.thread->since, ns = elapsed(since, event.t);

	if (unlikely(since < event.edge)) {
		state_across(event.slot, state, since, event.t);
	} else if (event.record) {
		*record_state(event.record, state) += ns;
		event.record->upto = event.t;
		event.record->last = state;
		if (state_is_blocked(state))
			awaited_add(event.record, event.thread, since, ns, ns);
	}
}

#endif
