/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Long sleeps of the target's threads, each with the thread that ended it. See "Chains" in
 * DETAILS.rst. */
#ifndef LONG_SLEEP_BPF_H
#define LONG_SLEEP_BPF_H

#include "lock.bpf.h"
#include "wchan.bpf.h"
#include "window.bpf.h"

/* Those that wchan_look() looks at in any case. */
#define LONG_SLEEP_NS WCHAN_NS

/* Notes the waker, if it is a thread of the target: it is the current one, and runs. */
static __always_inline void waker_note(struct kd_long_sleep *sleep, u32 tid, u64 t)
{
	u32 slot = tid_slot(tid);
	struct kd_thread *waker = slot_thread(slot);

	sleep->waker = sleep->waker_tid = 0;
	if (!waker || waker->tid != tid)
		return;
	sleep->waker = slot;
	sleep->waker_tid = tid;
	sleep->woken.running = waker->run_ns + elapsed(waker->run_since, t);
	sleep->woken.ready = waker->ready_ns;
}

/* By the signs of differences, as the verifier would follow each comparison. */
static __always_inline u32 class_of_sleep(u64 ns)
{
	u64 class = 0;

	barrier_var(ns);
	for (u32 i = 0; i < KD_SLEEP_CLASSES - 1; i++)
		class += ((KD_SLEEP_CLASS_NS << 2 * i) - 1 - ns) >> 63;
	return class;
}

/* True if it lies in none of the windows that are open or not read yet. While there is one, it
 * would displace those that do, for as long as a busy machine takes to read them. Global, to be
 * verified once. */
__noinline int long_sleep_is_late(u64 since, u64 t)
{
	struct overlap overlap;
	u64 windows = 0, inside = 0;

	FOR_EACH_BANK(bank)
	{
		inside |= window_overlap(bank, since, t, &overlap);
		windows |= overlap.gen;
	}
	return windows && !inside;
}

/* A thread has slept until t; its state is still the sleeping one. The kernel holds its pi_lock, so
 * nobody else writes here. Global, to be verified once. */
__noinline int long_sleep_add(u32 slot, u32 by, u64 t)
{
	struct kd_thread *thread = slot_thread(slot);
	struct kd_long_sleep *sleep;
	struct kd_ring_of ring;
	u32 index, class;
	u64 *number;

	if (!thread || elapsed(thread->since, t) < LONG_SLEEP_NS ||
	    long_sleep_is_late(thread->since, t))
		return 0;
	class = class_of_sleep(elapsed(thread->since, t));
	ring = kd_sleeps_of(slot, class);
	number = &thread->long_sleeps[BOUNDED(class, KD_SLEEP_CLASSES)];
	index = ring.first + (*number & (ring.n - 1));
	sleep = bpf_map_lookup_elem(&kd_long_sleeps, &index);
	if (!sleep)
		return 0;
	WRITE_ONCE(sleep->number, 0);
	cpu_barrier();
	sleep->since = thread->since;
	sleep->until = t;
	sleep->wchan = thread->wchan[0];
	sleep->call = thread->slept_in;
	sleep->tid = thread->tid;
	sleep->did.running = thread->run_ns;
	sleep->did.ready = thread->ready_ns;
	waker_note(sleep, by, t);
	*number += 1;
	cpu_barrier();
	WRITE_ONCE(sleep->number, *number);
	return 0;
}

#endif
