/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Booking time into windows.
 *
 * The fast path is one compare: an interval that began after the last edge lies
 * in the open window as a whole, or in none. Others are clipped against every
 * window that is still to be read, in functions of their own (global ones: the
 * verifier looks at them once, not once per caller).
 *
 * An edge is announced a few microseconds ahead (its time is in the future when
 * the word is written), so every program that reads the clock after an edge
 * also sees it. Read the clock first, the word after. */
#ifndef WINDOW_BPF_H
#define WINDOW_BPF_H

#include "histogram.bpf.h"
#include "maps.bpf.h"
#include "thread.bpf.h"

/* Something to be counted if it began and ended inside a window. */
enum item {
	ITEM_CALL, /* key: number */
	ITEM_RUN,
	ITEM_READY,
	ITEM_STOPPED,
	ITEM_LONG_POLL,
	ITEM_VOLUNTARY,
	ITEM_INVOLUNTARY,
	ITEM_CPU, /* switched in; key: CPU << 1 | it is another one than before */
};

/* Everything up to the overlays; those and the cells have their own
 * generations. */
static __noinline void record_reset(struct kd_record *record, u32 slot, u64 gen)
{
	struct kd_thread *thread = slot_thread(slot);

	__builtin_memset(record, 0, __builtin_offsetof(struct kd_record, hardirq_ns));
	record->open_start.call = KD_CALL_NONE;
	record->open_end.call = KD_CALL_NONE;
	if (thread) {
		record->first = thread->since;
		record->before = thread->before;
	}
	record->gen = gen;
}

static __always_inline struct kd_record *record_raw(u32 slot, u32 bank)
{
	u32 index = bank * kd_slots + slot;

	return bpf_map_lookup_elem(&kd_records, &index);
}

static __always_inline struct kd_record *record_get(u32 slot, u32 bank, u64 gen)
{
	struct kd_record *record = record_raw(slot, bank);

	if (record && unlikely(record->gen != gen))
		record_reset(record, slot, gen);
	return record;
}

static __always_inline u64 *record_state(struct kd_record *record, u32 state)
{
	return &record->ns[BOUNDED(state, KD_STATES_ROOM)];
}

static __always_inline u32 word_bank(u64 word)
{
	return (word >> KD_WORD_BANK_SHIFT) & KD_WORD_BANK_MASK;
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

static __always_inline void count_add(struct kd_count *count, u64 ns)
{
	count->count++;
	count->total += ns;
	if (ns > count->max)
		count->max = ns;
}

static __always_inline void span_add(struct kd_span *span, u64 ns)
{
	if (!span->count || ns < span->min)
		span->min = ns;
	span->count++;
	span->total += ns;
	if (ns > span->max)
		span->max = ns;
}

static __noinline void call_add_overflow(u32 slot, u32 number, u64 gen, u64 ns)
{
	struct kd_overflow_key key = { .gen = gen, .slot = slot, .number = number };
	struct kd_count zero = {};
	struct kd_count *count = bpf_map_lookup_elem(&kd_overflow, &key);

	if (!count) {
		kd_overflowed = 1;
		bpf_map_update_elem(&kd_overflow, &key, &zero, BPF_NOEXIST);
		count = bpf_map_lookup_elem(&kd_overflow, &key);
	}
	if (count)
		count_add(count, ns);
	else
		loss_count(KD_LOSS_CALLS);
	if (kd_histogram_room)
		loss_count(KD_LOSS_DURATIONS);
}

/* The first free or matching place of a key that is not in its home place;
 * KD_CALLS if there is none. */
static __noinline u32 call_place(struct kd_thread *thread, u32 key)
{
	u32 place = key % KD_CALLS;

	for (u32 i = 0; i < KD_PROBES; i++) {
		u32 at = (place + i) % KD_CALLS;

		if (!thread->call_keys[at])
			thread->call_keys[at] = key;
		if (thread->call_keys[at] == key)
			return at;
	}
	return KD_CALLS;
}

static __always_inline u32 counted_as(u32 kind, u64 count)
{
	return count == 1 ? kind | COUNTED_FIRST : kind;
}

/* Returns what item_add() does. */
static __always_inline u32 call_add(struct kd_record *record, u32 slot, struct kd_thread *thread,
				    u32 number, u64 gen, u64 ns)
{
	u32 key = number + 1;
	u32 place = key % KD_CALLS;
	struct kd_cell *cell;

	if (unlikely(thread->call_keys[place] != key)) {
		place = call_place(thread, key);
		if (place >= KD_CALLS) {
			call_add_overflow(slot, number, gen, ns);
			return COUNTED_NO_DURATION;
		}
	}
	cell = &record->calls[BOUNDED(place, KD_CALLS)];
	cell_add(cell, gen, ns);
	return counted_as(place, cell->count);
}

static __always_inline void cpu_add(struct kd_record *record, u32 key)
{
	u32 cpu = key >> 1;

	if (likely(cpu < KD_CPU_WORDS * 64))
		record->cpus[BOUNDED(cpu / 64, KD_CPU_WORDS)] |= 1ULL << (cpu % 64);
	else
		record->cpus_beyond = 1;
	record->migrations += key & 1;
}

/* Returns enum counted. */
static __always_inline u32 item_add(struct kd_record *record, u32 slot, struct kd_thread *thread,
				    enum item item, u32 key, u64 gen, u64 ns)
{
	switch (item) {
	case ITEM_CALL:
		return call_add(record, slot, thread, key, gen, ns);
	case ITEM_RUN:
		span_add(&record->run, ns);
		return counted_as(KD_HISTOGRAM_RUN, record->run.count);
	case ITEM_READY:
		count_add(&record->ready, ns);
		return counted_as(KD_HISTOGRAM_READY, record->ready.count);
	case ITEM_STOPPED:
		count_add(&record->stopped, ns);
		break;
	case ITEM_LONG_POLL:
		span_add(&record->long_poll, ns);
		break;
	case ITEM_VOLUNTARY:
		record->voluntary++;
		break;
	case ITEM_INVOLUNTARY:
		record->involuntary++;
		break;
	case ITEM_CPU:
		cpu_add(record, key);
		break;
	}
	return COUNTED_NO_DURATION;
}

/* What of [since, t] lies in a window. */
struct part {
	u64 gen, from, to;
};

/* Returns false if nothing does. since == 0: it began before we looked. */
static __always_inline bool window_part(u32 bank, u64 since, u64 t, struct part *part)
{
	struct kd_window *window = &kd_windows[BOUNDED(bank, KD_BANKS)];
	u64 start = window->start, end = window->end;

	part->gen = window->gen;
	part->from = since > start ? since : start;
	part->to = t < end ? t : end;
	return part->gen && t > start && since < end;
}

#define FOR_EACH_BANK(bank) for (u32 bank = 0; bank < KD_MAX_BANKS && bank < kd_banks; bank++)

/* Counts an item of [since, t] in every window that it lies in. key_item is
 * key << 8 | item. A system call that crosses an edge is kept as open there. */
__noinline int item_across(u32 slot, u64 key_item, u64 since, u64 t)
{
	struct kd_open_call open = { .since = since, .until = t, .call = (s32)(key_item >> 8) };
	struct kd_thread *thread = slot_thread(slot);
	enum item item = key_item & 0xff;
	struct kd_record *record;
	struct part part;

	if (!thread)
		return 0;
	FOR_EACH_BANK(bank)
	{
		if (!window_part(bank, since, t, &part))
			continue;
		record = record_get(slot, bank, part.gen);
		if (!record)
			continue;
		if (part.from == since && part.to == t)
			histogram_across(slot,
					 item_add(record, slot, thread, item, key_item >> 8,
						  part.gen, t - since),
					 part.gen, t - since);
		else if (item == ITEM_CALL && part.from != since)
			record->open_start = open;
		else if (item == ITEM_CALL)
			record->open_end = open;
	}
	return 0;
}

/* Books an interval in every window that it touches. */
__noinline int state_across(u32 slot, u32 state, u64 since, u64 t)
{
	struct kd_record *record;
	struct part part;

	FOR_EACH_BANK(bank)
	{
		if (!window_part(bank, since, t, &part))
			continue;
		record = record_get(slot, bank, part.gen);
		if (!record)
			continue;
		*record_state(record, state) += part.to - part.from;
		record->upto = part.to;
		record->last = state;
	}
	return 0;
}

/* One event of one thread: when, and where it is to be written. */
struct event {
	u32 slot;
	struct kd_thread *thread;
	u64 t;
	u64 edge; /* the last one announced */
	u64 gen;
	struct kd_record *record; /* of the open window; NULL if there is none */
};

static __always_inline struct event event_at(struct target target, u64 t)
{
	u64 word = READ_ONCE(kd_word);
	struct event event = {
		.slot = target.slot,
		.thread = target.thread,
		.t = t,
		.edge = word >> KD_WORD_SHIFT,
		.gen = word,
	};

	if (word & KD_WORD_OPEN && likely(t >= event.edge))
		event.record = record_get(target.slot, word_bank(word), word);
	return event;
}

/* Counts [since, the event's time]. */
static __always_inline void item_book(struct event event, enum item item, u32 key, u64 since)
{
	if (unlikely(since < event.edge))
		item_across(event.slot, (u64)key << 8 | item, since, event.t);
	else if (event.record)
		histogram_add(event.slot,
			      item_add(event.record, event.slot, event.thread, item, key, event.gen,
				       event.t - since),
			      event.gen, event.t - since);
}

/* Ends the thread's interval: it was in the given state until the event. */
static __always_inline void state_book(struct event event, u32 state)
{
	u64 since = event.thread->since;

	if (unlikely(since < event.edge)) {
		state_across(event.slot, state, since, event.t);
	} else if (event.record) {
		*record_state(event.record, state) += event.t - since;
		event.record->upto = event.t;
		event.record->last = state;
	}
}

#endif
