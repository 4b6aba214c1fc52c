/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Perf events per thread. Each CPU's counters count whatever runs there. They are read when a
 * target thread begins or ends a run, or hits a trigger. User space also asks for it near window
 * edges. These programs are only loaded with --counters. */
#ifndef COUNTER_BPF_H
#define COUNTER_BPF_H

#include "thread.bpf.h"
#include "window.bpf.h"

/* Set before loading. */
const volatile __u32 kd_counters = 0; /* number of events */
const volatile __u8 kd_per_cpu = 0;   /* of --counters */
/* The kernel also reports how long an event was counted (bpf_perf_event_read_value). */
const volatile __u8 kd_counters_timed = 0;

MAP(kd_events, PERF_EVENT_ARRAY, 1, TYPES(u32, u32)); /* KD_COUNTERS per CPU */

PERCPU_MAP(kd_counter_cpus, struct kd_counter_cpu);

TABLE(kd_counts, 1, struct kd_row_key, struct kd_counts); /* by CPU, see counters.c */

/* With triggers: each bank has all slots, as in kd_records. */
ARRAY_MAP(kd_counter_marks, 1, struct kd_counter_marks); /* see counters.c */

static const struct kd_counts no_counts = {};

/* Returns false if this CPU lacks the event. */
static __always_inline bool event_read(u32 event, struct kd_counted *now)
{
	if (kd_counters_timed)
		return !bpf_perf_event_read_value(&kd_events, event, (void *)now, sizeof(*now));
	now->value = bpf_perf_event_read(&kd_events, event);
	return (s64)now->value >= 0 || (s64)now->value <= -KD_ERRNOS;
}

static __always_inline u32 first_event(void)
{
	return bpf_get_smp_processor_id() * KD_COUNTERS;
}

/* The thread running here hits a window edge (gen; enum kd_mark_edge). Another reading of the
 * same counters may interrupt this, when the thread is switched out. So this writes nothing that
 * such a reading writes; the run is accounted later by looking here. Global, to be verified
 * once. */
__noinline int counters_mark(u32 slot, u64 gen, u32 edge)
{
	u32 index = kd_word_bank(gen) * kd_slots + slot;
	struct kd_counter_marks *marks;
	struct kd_counter_mark *mark;
	u64 t;

	if (!kd_counters || !slot || kd_word_bank(gen) == KD_NO_BANK)
		return 0;
	marks = bpf_map_lookup_elem(&kd_counter_marks, &index);
	if (!marks)
		return 0;
	mark = &marks->edges[BOUNDED(edge, KD_MARK_EDGES)];
	if (marks->gen != gen)
		marks->edges[KD_MARK_START].at = marks->edges[KD_MARK_END].at = 0;
	marks->gen = gen;
	WRITE_ONCE(mark->at, 0);
	t = clock_now();
	for (u32 i = 0; i < KD_COUNTERS && i < kd_counters; i++) {
		struct kd_counted now = {};

		if (!event_read(first_event() + i, &now))
			return 0;
		mark->values[i] = now.value;
	}
	cpu_barrier();
	WRITE_ONCE(mark->at, t);
	return 0;
}

static __always_inline void counter_read(struct kd_counter_cpu *cpu, u32 index, u32 event)
{
	struct kd_counted *last = &cpu->last[BOUNDED(index, KD_COUNTERS)];
	struct kd_counted *grown = &cpu->grown[BOUNDED(index, KD_COUNTERS)];
	struct kd_counted now = {};

	if (!event_read(event, &now))
		now = *last;
	/* Its CPU was offline: this is a new event. */
	if (unlikely(now.value < last->value || now.enabled < last->enabled ||
		     now.running < last->running))
		*last = (struct kd_counted){};
	grown->value = now.value - last->value;
	grown->enabled = now.enabled - last->enabled;
	grown->running = now.running - last->running;
	*last = now;
}

/* Mark of an edge between the CPU's last two readings, else NULL: no hit, another thread's, or
 * the thread was switched out during the mark. */
static __always_inline const struct kd_counter_mark *
mark_find(u32 slot, u32 bank, u64 gen, enum kd_mark_edge edge, u64 since, u64 t)
{
	u32 index = bank * kd_slots + slot;
	const struct kd_counter_marks *marks = bpf_map_lookup_elem(&kd_counter_marks, &index);
	const struct kd_counter_mark *mark;

	if (!marks || marks->gen != gen)
		return NULL;
	mark = &marks->edges[edge];
	return mark->at >= since && mark->at <= t ? mark : NULL;
}

/* Growth up to an edge: by the mark, else assumed to be even. Both windows at an edge together
 * get everything. */
static __always_inline u64 value_until(const struct kd_counter_cpu *cpu, u32 i,
				       const struct kd_counter_mark *mark, u64 inside, u64 total)
{
	if (mark)
		return cpu->grown[i].value - (cpu->last[i].value - mark->values[i]);
	return share_of(cpu->grown[i].value, inside, total);
}

static __always_inline void counts_add(struct kd_counts *counts, const struct kd_counter_cpu *cpu,
				       u32 bank, const struct overlap *overlap, u64 t)
{
	u64 total = t - cpu->at, from = overlap->from - cpu->at, to = overlap->to - cpu->at;
	const struct kd_counter_mark *start = NULL, *end = NULL;

	if (from)
		start = mark_find(cpu->slot, bank, overlap->gen, KD_MARK_START, cpu->at, t);
	if (to != total)
		end = mark_find(cpu->slot, bank, overlap->gen, KD_MARK_END, cpu->at, t);
	for (u32 i = 0; i < KD_COUNTERS && i < kd_counters; i++) {
		const struct kd_counted *grown = &cpu->grown[i];
		struct kd_counted *into = &counts->of[i];

		into->value += value_until(cpu, i, end, to, total) -
			       value_until(cpu, i, start, from, total);
		into->enabled += share_of(grown->enabled, to, total) -
				 share_of(grown->enabled, from, total);
		into->running += share_of(grown->running, to, total) -
				 share_of(grown->running, from, total);
	}
}

/* Adds the growth since the CPU's last reading to one bank's window. Global, to be verified
 * once. */
__noinline int counts_book(u32 bank, u64 t)
{
	u32 zero = 0;
	struct kd_counter_cpu *cpu = bpf_map_lookup_elem(&kd_counter_cpus, &zero);
	struct kd_row_key key = {};
	struct kd_counts *counts;
	struct overlap overlap;

	if (!cpu || !window_overlap(bank, cpu->at, t, &overlap))
		return 0;
	key.gen = overlap.gen;
	key.slot = cpu->slot;
	key.rest = kd_per_cpu ? bpf_get_smp_processor_id() : KD_ANY_CPU;
	counts = TABLE_ROW(kd_counts, &key, &no_counts, KD_LOSS_COUNTERS);
	if (counts)
		counts_add(counts, cpu, bank, &overlap, t);
	return 0;
}

/* The current run on this CPU belongs to a slot, or 0, and the next one to another. */
static __noinline int counters_turn(u32 slot, u32 next)
{
	u32 zero = 0, first = first_event();
	struct kd_counter_cpu *cpu = bpf_map_lookup_elem(&kd_counter_cpus, &zero);
	struct kd_thread *thread;
	u64 t;

	if (!cpu)
		return 0;
	for (u32 i = 0; i < KD_COUNTERS && i < kd_counters; i++)
		counter_read(cpu, i, first + i);
	t = clock_now();
	thread = slot_thread(slot);
	/* Otherwise its run began before it had a slot, or before it was observed. */
	if (slot && slot == cpu->slot && thread && thread->tracked <= cpu->at)
		for (u32 bank = 0; bank < KD_MAX_BANKS && bank < kd_banks; bank++)
			counts_book(bank, t);
	cpu->slot = next;
	cpu->at = t;
	return 0;
}

/* Slots of target tasks; 0 for others. */
static __always_inline u32 counted_slot(u32 tid, u32 tgid, u64 task)
{
	if (likely(!task_is_ours(tid, tgid)))
		return KD_SLOT_FREE;
	return target_find(tid, task).slot;
}

static __always_inline void counters_switch(struct task_struct *next)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	u32 from = counted_slot((u32)pid_tgid, pid_tgid >> 32, bpf_get_current_task()), to;
	struct {
		u32 pid, tgid;
	} ids = {}; /* in the order of struct task_struct */

	bpf_core_read(&ids, sizeof(ids), &next->pid);
	to = counted_slot(ids.pid, ids.tgid, (u64)next);
	if (unlikely(from | to))
		counters_turn(from, to);
}

/* User space asks for a reading on this CPU. */
static __always_inline void counters_look(void)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	u32 slot = counted_slot((u32)pid_tgid, pid_tgid >> 32, bpf_get_current_task());

	if (slot)
		counters_turn(slot, slot);
}

#endif
