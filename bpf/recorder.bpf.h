/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Flight recorder: each CPU writes to its own ring, which is only read when a window is
 * reported. */
#ifndef RECORDER_BPF_H
#define RECORDER_BPF_H

#include "maps.bpf.h"

/* Only programs with the code for traces know wakers. */
static __always_inline bool recorder_is_on(void)
{
	return KD_TRACES && kd_recorder_wanted;
}

static __always_inline struct kd_recorder *recorder_here(void)
{
	u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&kd_recorders, &cpu);
}

static __always_inline void ring_write(struct kd_recorder_ring *ring, u64 word, u32 tid, u32 what)
{
	u32 index = ring->next;
	struct kd_recorded *entry = bpf_map_lookup_elem(&kd_recorded, &index);

	if (entry) {
		entry->word = word;
		entry->tid = tid;
		entry->what = what;
	}
	cpu_barrier(); /* user space reads what precedes the position */
	index++;
	ring->next = index < ring->end ? index : ring->first;
	WRITE_ONCE(ring->position, ring->position + 1);
}

/* Only this CPU writes here, but an interrupt may come at any time. It finds busy set and uses
 * the other ring; an interrupt on top of it finds none. The interrupted writer continues
 * afterwards. Global, to be verified once, like the following. */
TRACES_GLOBAL int recorder_put_spare(u64 word, u32 tid, u32 what)
{
	struct kd_recorder *recorder = recorder_here();

	if (!recorder)
		return 0;
	if (recorder->busy > 1) {
		loss_count(KD_LOSS_RECORDED);
		return 0;
	}
	WRITE_ONCE(recorder->busy, 2);
	barrier();
	ring_write(&recorder->rings[1], word, tid, what);
	barrier();
	WRITE_ONCE(recorder->busy, 1);
	return 0;
}

static __always_inline u64 recorder_word(enum kd_recorded_kind kind, u32 detail, u64 t)
{
	return t << KD_RECORDED_WHEN | detail << KD_RECORDED_DETAIL | kind;
}

/* A duration: ns, saturating at 32 bits. */
static __always_inline u32 recorder_ns(u64 ns)
{
	return ns < ~0U ? ns : ~0U;
}

/* For state entries. */
static __always_inline u32 recorder_detail(u32 before, u32 state)
{
	return state | before << KD_RECORDED_BEFORE;
}

/* Writes one event. Inlined in the hottest paths: a call takes as long as all of this. */
static __always_inline int recorder_put_here(u64 word, u32 tid, u32 what)
{
	struct kd_recorder *recorder = recorder_here();

	if (unlikely(!recorder || recorder->busy))
		return recorder_put_spare(word, tid, what);
	WRITE_ONCE(recorder->busy, 1);
	barrier();
	ring_write(&recorder->rings[0], word, tid, what);
	barrier();
	WRITE_ONCE(recorder->busy, 0);
	return 0;
}

TRACES_GLOBAL int recorder_put(u64 word, u32 tid, u32 what)
{
	return recorder_put_here(word, tid, what);
}

/* Another task had the CPU while target threads waited. Two events in one call. */
TRACES_GLOBAL int recorder_had_cpu(u32 tid, u32 key, u64 ns, u64 t)
{
	recorder_put_here(recorder_word(KD_RECORDED_HAD_CPU, 0, t), tid, recorder_ns(ns));
	return recorder_put_here(recorder_word(KD_RECORDED_CULPRIT, 0, t), tid, key);
}

static __always_inline void recorder_add(enum kd_recorded_kind kind, u32 detail, u32 tid, u32 what,
					 u64 t)
{
	if (recorder_is_on())
		recorder_put(recorder_word(kind, detail, t), tid, what);
}

/* A thread's state ends at t, and the next one begins. */
static __always_inline void recorder_enter(enum kd_recorded_kind kind, u32 before, u32 state,
					   u32 tid, u32 what, u64 t)
{
	recorder_add(kind, recorder_detail(before, state), tid, what, t);
}

#endif
