/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Perf events, per thread. Each CPU has counters of its own, which count whatever runs there:
 * they are read where a thread of the target begins or ends a run, and where user space asks for
 * it, near the edges of windows. A program of its own, which only --counters loads. */
#ifndef COUNTER_BPF_H
#define COUNTER_BPF_H

#include "thread.bpf.h"
#include "window.bpf.h"

/* Set before loading. */
const volatile __u32 kd_counters = 0; /* how many events there are */
const volatile __u8 kd_per_cpu = 0;   /* --per-cpu */
/* The kernel also tells for how long an event was counted (helper bpf_perf_event_read_value). */
const volatile __u8 kd_counters_timed = 0;

__u32 kd_counts_used = 0; /* kd_counts has been used */

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 1); /* KD_COUNTERS for each CPU */
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(u32));
} kd_events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct kd_counter_cpu);
} kd_counter_cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* see session_counters.c */
	__type(key, struct kd_counts_key);
	__type(value, struct kd_counts);
} kd_counts SEC(".maps");

static const struct kd_counts no_counts = {};

static __always_inline void counter_read(struct kd_counter_cpu *cpu, u32 index, u32 event)
{
	struct kd_counted *last = &cpu->last[BOUNDED(index, KD_COUNTERS)];
	struct kd_counted *grown = &cpu->grown[BOUNDED(index, KD_COUNTERS)];
	struct kd_counted now = {};
	s64 error;

	if (kd_counters_timed) {
		error = bpf_perf_event_read_value(&kd_events, event, (void *)&now, sizeof(now));
	} else {
		now.value = bpf_perf_event_read(&kd_events, event);
		error = (s64)now.value < 0 && (s64)now.value > -KD_ERRNOS ? (s64)now.value : 0;
	}
	if (error)
		now = *last; /* this CPU has none */
	grown->value = now.value - last->value;
	grown->enabled = now.enabled - last->enabled;
	grown->running = now.running - last->running;
	*last = now;
}

/* As part_of(), of any count. Long times are in 2^8 or 2^20 ns: a product of two then fits. */
static __always_inline u64 count_part(u64 value, u64 inside, u64 total)
{
	u32 shift = total >> 40 ? 20 : total >> 32 ? 8 : 0;

	inside >>= shift;
	total >>= shift;
	if (inside == total || !total)
		return value;
	return value / total * inside + value % total * inside / total;
}

static __always_inline void counts_add(struct kd_counts *counts, const struct kd_counter_cpu *cpu,
				       const struct part *part, u64 t)
{
	u64 total = t - cpu->at, before = part->from - cpu->at, inside = part->to - part->from;

	for (u32 i = 0; i < KD_COUNTERS && i < kd_counters; i++) {
		const struct kd_counted *grown = &cpu->grown[i];
		struct kd_counted *into = &counts->of[i];

		/* Of what crosses an edge both windows together have all. */
		if (part->to == t) {
			into->value += grown->value - count_part(grown->value, before, total);
			into->enabled += grown->enabled - count_part(grown->enabled, before, total);
			into->running += grown->running - count_part(grown->running, before, total);
		} else {
			into->value += count_part(grown->value, inside, total);
			into->enabled += count_part(grown->enabled, inside, total);
			into->running += count_part(grown->running, inside, total);
		}
	}
}

/* What grew since the CPU's last reading, as if it had grown evenly. */
static __noinline void counts_book(struct kd_counter_cpu *cpu, u64 t)
{
	struct kd_counts_key key = {};
	struct kd_counts *counts;
	struct part part;

	key.slot = cpu->slot;
	key.cpu = kd_per_cpu ? bpf_get_smp_processor_id() : KD_ANY_CPU;
	FOR_EACH_BANK(bank)
	{
		if (!window_part(bank, cpu->at, t, &part))
			continue;
		key.gen = part.gen;
		counts = bpf_map_lookup_elem(&kd_counts, &key);
		if (!counts) {
			kd_counts_used = 1;
			bpf_map_update_elem(&kd_counts, &key, &no_counts, BPF_NOEXIST);
			counts = bpf_map_lookup_elem(&kd_counts, &key);
		}
		if (counts)
			counts_add(counts, cpu, &part, t);
		else
			loss_count(KD_LOSS_COUNTERS);
	}
}

/* The present run on this CPU is that of one slot, or 0, and the next one of another. */
static __noinline int counters_turn(u32 slot, u32 next)
{
	u32 zero = 0, first = bpf_get_smp_processor_id() * KD_COUNTERS;
	struct kd_counter_cpu *cpu = bpf_map_lookup_elem(&kd_counter_cpus, &zero);
	struct kd_thread *thread;
	u64 t;

	if (!cpu)
		return 0;
	for (u32 i = 0; i < KD_COUNTERS && i < kd_counters; i++)
		counter_read(cpu, i, first + i);
	t = clock_now();
	thread = slot_thread(slot);
	/* Else it began its run before it had a slot, or before it was looked at. */
	if (slot && slot == cpu->slot && thread && thread->seen <= cpu->at)
		counts_book(cpu, t);
	cpu->slot = next;
	cpu->at = t;
	return 0;
}

/* Slots of tasks; 0 of those of others. */
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
	} ids = {}; /* as they lie in struct task_struct */

	bpf_core_read(&ids, sizeof(ids), &next->pid);
	to = counted_slot(ids.pid, ids.tgid, (u64)next);
	if (unlikely(from | to))
		counters_turn(from, to);
}

/* User space asks for a reading of the CPU that this runs on. */
static __always_inline void counters_look(void)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	u32 slot = counted_slot((u32)pid_tgid, pid_tgid >> 32, bpf_get_current_task());

	if (slot)
		counters_turn(slot, slot);
}

#endif
