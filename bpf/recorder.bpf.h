/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The flight recorder: each CPU writes into a ring of its own, which nobody reads until a window is
 * reported. */
#ifndef RECORDER_BPF_H
#define RECORDER_BPF_H

#include "maps.bpf.h"

/* Only programs with the code for traces know who wakes whom. */
static __always_inline bool recorder_is_on(void)
{
	return KD_TRACES && kd_recorded_room;
}

/* Only the CPU itself writes here, but an interrupt may come at any time: it finds busy set, and
 * takes an entry of the spare ones. Whoever is interrupted goes on when it has ended. Global, to be
 * verified once. */
TRACES_GLOBAL int recorder_put(u64 word, u32 tid, u32 what)
{
	u32 cpu = bpf_get_smp_processor_id(), index = cpu * (kd_recorded_room + kd_recorded_spare);
	struct kd_recorder *recorder = bpf_map_lookup_elem(&kd_recorders, &cpu);
	struct kd_recorded *entry;
	u32 busy;

	if (!recorder)
		return 0;
	busy = READ_ONCE(recorder->busy);
	if (unlikely(busy > 1)) {
		loss_count(KD_LOSS_RECORDED);
		return 0;
	}
	WRITE_ONCE(recorder->busy, busy + 1);
	barrier();
	if (likely(!busy))
		index += recorder->next;
	else
		index += kd_recorded_room + (recorder->spare & (kd_recorded_spare - 1));
	entry = bpf_map_lookup_elem(&kd_recorded, &index);
	if (entry) {
		entry->word = word;
		entry->tid = tid;
		entry->what = what;
	}
	barrier(); /* user space takes what lies before the position */
	if (likely(!busy)) {
		recorder->next = recorder->next + 1 < kd_recorded_room ? recorder->next + 1 : 0;
		WRITE_ONCE(recorder->position, recorder->position + 1);
	} else {
		WRITE_ONCE(recorder->spare, recorder->spare + 1);
	}
	barrier();
	WRITE_ONCE(recorder->busy, busy);
	return 0;
}

static __always_inline void recorder_add(enum kd_recorded_kind kind, u32 detail, u32 tid, u32 what,
					 u64 t)
{
	if (recorder_is_on())
		recorder_put(t << KD_RECORDED_WHEN | detail << KD_RECORDED_DETAIL | kind, tid,
			     what);
}

/* A thread's state ends at t, and the next one begins. */
static __always_inline void recorder_enter(enum kd_recorded_kind kind, u32 before, u32 state,
					   u32 tid, u32 what, u64 t)
{
	recorder_add(kind, state | before << KD_RECORDED_BEFORE, tid, what, t);
}

/* Of something that has lasted for a while: ns, as far as 32 bits have room for them. */
static __always_inline u32 recorder_ns(u64 ns)
{
	return ns < ~0U ? ns : ~0U;
}

#endif
