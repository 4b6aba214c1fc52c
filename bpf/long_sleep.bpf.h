/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Long sleeps of the target's threads, each with the thread that ended it. See "Chains" in
 * DETAILS.rst. */
#ifndef LONG_SLEEP_BPF_H
#define LONG_SLEEP_BPF_H

#include "lock.bpf.h"
#include "wchan.bpf.h"

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

/* A thread has slept until t; its state is still the sleeping one. The kernel holds its pi_lock, so
 * nobody else writes here. Global, to be verified once. */
__noinline int long_sleep_add(u32 slot, u32 by, u64 t)
{
	struct kd_thread *thread = slot_thread(slot);
	struct kd_long_sleep *sleep;
	struct kd_ring_of ring = kd_ring_of(slot);
	u32 index;

	if (!thread || elapsed(thread->since, t) < LONG_SLEEP_NS)
		return 0;
	index = ring.first + (thread->long_sleeps & (ring.n - 1));
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
	thread->long_sleeps++;
	cpu_barrier();
	WRITE_ONCE(sleep->number, thread->long_sleeps);
	return 0;
}

#endif
