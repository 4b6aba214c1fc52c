/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Target threads that wait for a CPU, see "Who had the CPU" in DETAILS.rst. Each run queue has a
 * list of them; each switch there charges the time since the previous one.
 *
 * Wakers of other CPUs may overwrite an entry. So a thread checks if it is still listed when its
 * wait ends; an entry whose thread no longer waits there is dropped. */
#ifndef RUNQUEUE_BPF_H
#define RUNQUEUE_BPF_H

#include "compat.bpf.h"
#include "culprit.bpf.h"
#include "interruption.bpf.h"
#include "limit.bpf.h"
#include "steal.bpf.h"

static __always_inline struct kd_runqueue *runqueue_of(u32 cpu)
{
	return bpf_map_lookup_elem(&kd_runqueues, &cpu);
}

/* 0: none. */
static __always_inline u64 runqueue_waits(struct kd_runqueue *runqueue)
{
	const u64 *words = (const u64 *)runqueue->waiters;

	return words[0] | words[1] | words[2] | words[3] | runqueue->unlisted;
}
_Static_assert(sizeof(((struct kd_runqueue *)0)->waiters) == 4 * sizeof(u64), "all of them");

/* Interrupt time until t, including one in progress. An interrupt that began while no thread
 * waited counts from now on. */
static __always_inline u64 irq_ns(u64 sum, u64 *since, u64 t)
{
	if (!*since)
		return sum;
	if (*since == 1)
		*since = t;
	return sum + elapsed(*since, t);
}

static __always_inline u64 runqueue_soft_ns(struct kd_runqueue *runqueue, u64 t)
{
	u64 ns = irq_ns(runqueue->soft_ns, &runqueue->soft_since, t);

	return ns - runqueue->soft_ns > runqueue->soft_stolen ? ns - runqueue->soft_stolen
							      : runqueue->soft_ns;
}

/* Length of the current run, without interrupts. */
static __always_inline u64 runqueue_run_ns(struct kd_runqueue *runqueue, u64 t)
{
	u64 irqs = irq_ns(runqueue->hard_ns, &runqueue->hard_since, t) +
		   runqueue_soft_ns(runqueue, t) - runqueue->irqs_ns;

	return elapsed(runqueue->since + irqs, t);
}

/* A task was switched in at t. */
static __always_inline void runqueue_run(struct kd_runqueue *runqueue, enum kd_runs runs, u64 t)
{
	runqueue->since = t;
	runqueue->irqs_ns = runqueue->hard_ns + runqueue->soft_ns;
	runqueue->runs = runs;
}

/* A thread got no entry: records the sums when its wait begins. Global, to be verified once. */
__noinline int waiting_count(u32 slot, u32 cpu, u64 t)
{
	struct kd_runqueue *runqueue = runqueue_of(cpu);
	struct kd_thread *thread = slot_thread(slot);
	u64 ns;

	if (!runqueue || !thread)
		return 0;
	__sync_fetch_and_add(&runqueue->unlisted, 1);
	ns = runqueue_run_ns(runqueue, t);
	thread->waiting.index = KD_UNLISTED;
	thread->waiting.own_ns = runqueue->own_ns + (runqueue->runs == KD_RUNS_OWN ? ns : 0);
	thread->waiting.idle_ns = runqueue->idle_ns + (runqueue->runs == KD_RUNS_IDLE ? ns : 0);
	return 0;
}

#define WAITING_STEP 4

/* The first free entry of some, KD_WAITERS if there is none. Global, to be verified once and not
 * for each step. */
__noinline u32 waiting_free(u32 cpu, u32 first)
{
	struct kd_runqueue *runqueue = runqueue_of(cpu);

	for (u32 i = 0; runqueue && i < WAITING_STEP; i++) {
		u32 index = BOUNDED(first + i, KD_WAITERS);

		if (!runqueue->waiters[index])
			return index;
	}
	return KD_WAITERS;
}

/* Finds another entry for a thread whose first one is taken. Global, to be verified once. */
__noinline int waiting_list_elsewhere(u32 slot, u32 cpu, u64 t)
{
	struct kd_runqueue *runqueue = runqueue_of(cpu);
	struct kd_thread *thread = slot_thread(slot);
	u32 index;

	if (!thread || !runqueue)
		return 0;
	for (u32 i = 0; i < KD_WAITERS; i += WAITING_STEP) {
		index = waiting_free(cpu, slot + i);
		if (index < KD_WAITERS)
			break;
	}
	if (index < KD_WAITERS) {
		thread->waiting.index = index;
		WRITE_ONCE(runqueue->waiters[BOUNDED(index, KD_WAITERS)], slot);
	} else {
		waiting_count(slot, cpu, t);
	}
	return 0;
}

/* Adds a thread to the list of a CPU; its wait may have begun earlier. First entries differ
 * between threads: wakers do not exclude each other. */
static __always_inline void waiting_list(struct kd_thread *thread, u32 slot, u32 cpu, u64 t)
{
	struct kd_runqueue *runqueue = runqueue_of(cpu);
	struct kd_waiting *waiting = &thread->waiting;
	u32 index = BOUNDED(slot, KD_WAITERS);

	waiting->cpu = cpu;
	waiting->index = KD_WAITERS;
	if (!runqueue)
		return;
	/* Runs without waiting threads were not tracked, except those of target threads. */
	if (!runqueue_waits(runqueue) && runqueue->runs != KD_RUNS_OWN)
		runqueue_run(runqueue, KD_RUNS_OTHER, t);
	waiting->hard_ns = irq_ns(runqueue->hard_ns, &runqueue->hard_since, t);
	waiting->soft_ns = runqueue_soft_ns(runqueue, t);
	if (unlikely(runqueue->waiters[index])) {
		waiting_list_elsewhere(slot, cpu, t);
		return;
	}
	waiting->index = index;
	WRITE_ONCE(runqueue->waiters[index], slot);
}

/* Removes it from the list. Returns whether it was listed: then everything so far was charged. */
static __always_inline bool waiting_unlist(struct kd_thread *thread, u32 slot)
{
	struct kd_runqueue *runqueue = runqueue_of(thread->waiting.cpu);
	u32 index = thread->waiting.index;
	u16 *entry;

	thread->waiting.index = KD_WAITERS;
	if (runqueue && index == KD_UNLISTED && READ_ONCE(runqueue->unlisted))
		__sync_fetch_and_add(&runqueue->unlisted, -1);
	if (!runqueue || index >= KD_WAITERS)
		return false;
	entry = &runqueue->waiters[BOUNDED(index, KD_WAITERS)];
	if (*entry != slot)
		return false;
	*entry = 0;
	return true;
}

/* The thread's state has just become a ready one, at t. woken: it slept, or is new. */
static __always_inline void waiting_begin(struct kd_thread *thread, u32 slot,
					  struct task_struct *task, u32 cpu, bool woken, u64 t)
{
	if (thread->waiting.index != KD_WAITERS && thread->waiting.mark)
		waiting_unlist(thread, slot); /* a wait whose end was not reported */
	thread->waiting.prio = task->prio;
	thread->waiting.takers.n = thread->waiting.takers.gone = 0;
	thread->waiting.steal = steal_now(cpu, t);
	thread->waiting.mark = thread->waiting.began = t;
	limit_begin(&thread->waiting, slot, task, woken, t);
	waiting_list(thread, slot, cpu, t);
}

/* Growth of a sum since the mark. */
static __always_inline u64 growth(u64 before, u64 now, u64 most)
{
	return lesser(elapsed(before, now), most);
}

/* Returns the total of this key so far. Global, so that the loop is verified once. */
__noinline u64 taker_add(u32 slot, u32 key, u64 ns)
{
	struct kd_thread *thread = slot_thread(slot);

	return thread ? kd_taker_add(&thread->waiting.takers, key, ns) : 0;
}

/* Fast path: most often one key has everything. */
static __always_inline u64 taker_add_again(struct kd_takers *takers, u32 slot, u32 key, u64 ns)
{
	if (likely(takers->n && takers->of->key == key))
		return takers->of->ns += ns;
	return taker_add(slot, key, ns);
}

static __always_inline void taker_add_any(u32 slot, u32 key, u64 ns)
{
	if (ns)
		taker_add(slot, key, ns);
}

/* Charges a thread's time from its mark to t. key: what had the CPU apart from interrupts; if
 * the thread is not listed, the run queue's sums tell. */
__noinline int waiting_charge(u32 slot, u32 key, u64 t)
{
	struct kd_thread *thread = slot_thread(slot);
	struct kd_runqueue *runqueue;
	struct kd_waiting *waiting;
	u64 since, left, word, ns;
	struct overlap overlap;

	if (!thread || t <= thread->waiting.mark)
		return 0;
	waiting = &thread->waiting;
	runqueue = runqueue_of(waiting->cpu);
	if (!runqueue)
		return 0;
	since = waiting->mark;
	left = t - since;
	waiting->share_total = left;
	waiting->share_limited = 0;
	if (t >= waiting->limited->look_at)
		limit_look(slot, LIMIT_CHARGE, key, t);
	waiting->mark = t;
	waiting->share_limited = lesser(waiting->share_limited, left);
	left -= waiting->share_limited;
	/* Branchless, and by way of memory: the verifier would follow each case. */
	ns = steal_then(waiting->cpu);
	waiting->share_steal = growth(waiting->steal, ns, left) * is_set(waiting->steal);
	if (ns > waiting->steal)
		waiting->steal = ns;
	left -= READ_ONCE(waiting->share_steal);
	ns = runqueue->hard_ns;
	waiting->share_hard = growth(waiting->hard_ns, ns, left);
	waiting->hard_ns = ns;
	left -= waiting->share_hard;
	ns = runqueue->soft_ns;
	waiting->share_soft = growth(waiting->soft_ns, ns, left) * is_zero(key & KD_WHO_SOFTIRQD);
	waiting->soft_ns = ns;
	left -= READ_ONCE(waiting->share_soft);
	waiting->share_own = waiting->share_idle = 0;
	if (unlikely(waiting->index == KD_UNLISTED)) {
		waiting->share_own = growth(waiting->own_ns, runqueue->own_ns, left);
		left -= waiting->share_own;
		waiting->share_idle = growth(waiting->idle_ns, runqueue->idle_ns, left);
		left -= waiting->share_idle;
		waiting->own_ns = runqueue->own_ns;
		waiting->idle_ns = runqueue->idle_ns;
		key = KD_WHO_REST;
	}
	thread->lost_limited += waiting->share_limited;
	taker_add_any(slot, waiting->share_limit, waiting->share_limited);
	taker_add_any(slot, KD_WHO_HYPERVISOR, waiting->share_steal);
	taker_add_any(slot, KD_WHO_HARDIRQ, waiting->share_hard);
	taker_add_any(slot, KD_WHO_SOFTIRQ, waiting->share_soft);
	taker_add_any(slot, KD_WHO_OWN, waiting->share_own);
	taker_add_any(slot, KD_WHO_IDLE, waiting->share_idle);
	taker_add_any(slot, key, left);
	word = READ_ONCE(kd_word);
	if (likely(since >= word >> KD_WORD_SHIFT)) {
		if (word & KD_WORD_OPEN)
			blame_book(slot, kd_word_bank(word), word, t - since, key);
		return 0;
	}
	FOR_EACH_BANK(bank)
	{
		if (window_overlap(bank, since, t, &overlap))
			blame_book(slot, bank, overlap.gen, overlap.to - overlap.from, key);
	}
	return 0;
}

/* Fast path: the task had all the time, which lies in the open window, and has a cell. True at
 * nearly each switch, for all waiting threads. Returns false otherwise. */
static __always_inline bool waiting_charge_task(struct kd_runqueue *runqueue, u64 steal,
						struct kd_thread *thread, u32 slot, u32 key, u64 t)
{
	struct kd_waiting *waiting = &thread->waiting;
	u64 word = READ_ONCE(kd_word), since = waiting->mark;
	struct kd_blame *blame;
	struct kd_charge *charge;
	u32 cell;

	if (t >= waiting->limited->look_at || key < KD_WHO_TASK || !(word & KD_WORD_OPEN) ||
	    since < word >> KD_WORD_SHIFT || t <= since || waiting->hard_ns != runqueue->hard_ns ||
	    waiting->soft_ns != runqueue->soft_ns || waiting->steal != steal)
		return false;
	blame = blame_raw(slot, kd_word_bank(word));
	cell = BOUNDED(waiting->cells[KD_CELL_HINT(key)], KD_BLAMED_PADDED);
	if (!blame || blame->gen != word || cell >= KD_BLAMED || blame->keys[cell] != key)
		return false;
	/* Now, because older verifiers forget bounds when the number is moved. */
	charge = &blame->tasks[cell];
	barrier_var(charge);
	charge_add(charge, state_now(thread), waiting->began, t - since,
		   taker_add_again(&waiting->takers, slot, key, t - since));
	waiting->mark = t;
	return true;
}

/* Charges a waiting thread, or drops it if it no longer waits. */
static __always_inline void waiter_charge(struct kd_runqueue *runqueue, u64 steal, u32 cpu, u32 i,
					  u32 key, u64 t)
{
	u32 slot = runqueue->waiters[BOUNDED(i, KD_WAITERS)];
	struct kd_thread *thread = slot ? slot_thread(slot) : NULL;

	if (!thread)
		return;
	if (unlikely(!kd_is_ready(state_now(thread)) || thread->waiting.cpu != cpu ||
		     thread->waiting.index != i))
		runqueue->waiters[BOUNDED(i, KD_WAITERS)] = 0;
	else if (!waiting_charge_task(runqueue, steal, thread, slot, key, t))
		waiting_charge(slot, key, t);
}

/* Charges four, whose entries are one word. Global: callers continue without what is known here. */
__noinline int waiters_charge(u32 cpu, u32 first, u32 key, u64 t)
{
	struct kd_runqueue *runqueue = runqueue_of(cpu);
	u64 steal;

	if (!runqueue)
		return 0;
	steal = steal_then(cpu);
	waiter_charge(runqueue, steal, cpu, first, key, t);
	waiter_charge(runqueue, steal, cpu, first + 1, key, t);
	waiter_charge(runqueue, steal, cpu, first + 2, key, t);
	waiter_charge(runqueue, steal, cpu, first + 3, key, t);
	return 0;
}

/* Charges the thread that gets the CPU, if listed there, and removes it. Most often no other
 * thread waits, and no function is called. */
static __always_inline void waiting_end_listed(struct kd_runqueue *runqueue, struct target target,
					       u32 cpu, u32 key, u64 t)
{
	struct kd_waiting *waiting = &target.thread->waiting;
	u16 *entry = &runqueue->waiters[BOUNDED(waiting->index, KD_WAITERS)];

	if (waiting->index >= KD_WAITERS || waiting->cpu != cpu || *entry != target.slot ||
	    !kd_is_ready(state_now(target.thread)))
		return;
	*entry = 0;
	if (!waiting_charge_task(runqueue, steal_then(cpu), target.thread, target.slot, key, t))
		waiting_charge(target.slot, key, t);
	waiting->index = KD_WAITERS;
}

/* A task leaves the CPU. */
static __always_inline void runqueue_account(struct kd_runqueue *runqueue, u32 key, u64 t)
{
	/* No interrupt lasts beyond a switch, except softirqs in threads (PREEMPT_RT), whose
	 * time is their thread's. */
	runqueue->hard_since = runqueue->soft_since = 0;
	if (key & KD_WHO_OF_TARGET)
		runqueue->own_ns += runqueue_run_ns(runqueue, t);
	else if (key == KD_WHO_IDLE)
		runqueue->idle_ns += runqueue_run_ns(runqueue, t);
	runqueue_run(runqueue, KD_RUNS_OTHER, t);
}

/* Charges all threads waiting there. */
static __always_inline void runqueue_charge(struct kd_runqueue *runqueue, u32 cpu, u32 key, u64 t)
{
	for (u32 i = 0; i < KD_WAITERS / 4; i++)
		if (((const u64 *)runqueue->waiters)[i])
			waiters_charge(cpu, i * 4, key, t);
}

/* The thread was switched in on this CPU at t. */
static __always_inline void waiting_end(struct kd_thread *thread, u32 slot, u32 cpu, u64 t)
{
	bool listed;

	if (unlikely(thread->waiting.index == KD_UNLISTED && thread->waiting.cpu == cpu)) {
		waiting_charge(slot, KD_WHO_REST, t);
		waiting_unlist(thread, slot);
		return;
	}
	listed = waiting_unlist(thread, slot);
	if (likely(listed && thread->waiting.cpu == cpu))
		return;
	if (!thread->waiting.mark)
		return; /* its wait began before tracing */
	loss_count(KD_LOSS_WAITERS);
	waiting_charge(slot, KD_WHO_UNKNOWN, t);
}

/* It has been running on this CPU since t, although its last event left it waiting. The time
 * since the last charge is unexplained: user space assumes this for uncharged waits. For an
 * unlisted thread, the sums tell, and stay unchanged until it is switched out. */
static __always_inline void waiting_lost(struct kd_thread *thread, u32 slot, u64 t)
{
	if (!kd_is_ready(state_now(thread)) || !thread->waiting.mark)
		return;
	if (thread->waiting.index == KD_UNLISTED &&
	    thread->waiting.cpu == bpf_get_smp_processor_id())
		thread->waiting.ended = t;
	else
		waiting_unlist(thread, slot);
}

/* A running thread is about to be switched out: charges a wait whose end was not reported. Done
 * here rather than where this was found, because fewer programs need to verify it. */
static __always_inline void waiting_end_late(struct kd_thread *thread, u32 slot)
{
	if (likely(thread->waiting.index != KD_UNLISTED))
		return;
	waiting_charge(slot, KD_WHO_REST, thread->waiting.ended);
	waiting_unlist(thread, slot);
}

/* A waiting thread is about to be moved to another CPU. */
static __always_inline void waiting_move(struct target target, struct task_struct *task, u32 cpu)
{
	struct rq *rq;
	u64 t;

	if (!kd_is_ready(state_now(target.thread)))
		return;
	t = clock_now();
	/* A thread being woken was not on any run queue. */
	if (task->on_rq) {
		rq = task_rq(task);
		waiting_charge(target.slot,
			       rq ? culprit_find((u64)BPF_CORE_READ(rq, curr), t) : KD_WHO_UNKNOWN,
			       t);
	}
	waiting_unlist(target.thread, target.slot);
	target.thread->waiting.steal = steal_now(cpu, t);
	waiting_list(target.thread, target.slot, cpu, t);
}

/* Iterator: a thread that waited before tracing began; and what has the CPU. */
static __always_inline void waiting_visit(struct kd_thread *thread, u32 slot,
					  struct task_struct *task)
{
	u32 state = state_now(thread);
	u64 t = clock_now(), mark;
	struct rq *rq;
	u32 key;

	if (!kd_is_ready(state) || task->on_cpu)
		return;
	if (!thread->waiting.mark) {
		waiting_begin(thread, slot, task, task_cpu(task), false, thread->since);
		return;
	}
	mark = READ_ONCE(thread->waiting.mark);
	rq = task_rq(task);
	if (!rq)
		return;
	key = culprit_find((u64)BPF_CORE_READ(rq, curr), t);
	thread->waiting.iter_key = key;
	thread->waiting.iter_limited = 0;
	limit_look(slot, LIMIT_VISIT, key, t);
	cpu_barrier();
	WRITE_ONCE(thread->waiting.iter_mark, mark);
}

/* --- Interrupts on a CPU with waiting threads --- */

static __always_inline struct kd_runqueue *runqueue_here(void)
{
	return runqueue_of(bpf_get_smp_processor_id());
}

/* An interrupt begins; t: current time, if already read, else 0. Returns the time if it was
 * read. */
static __always_inline u64 runqueue_irq_enter(bool hard, u64 t)
{
	struct kd_runqueue *runqueue = runqueue_here();

	if (!runqueue)
		return t;
	if (!t && unlikely(runqueue_waits(runqueue)))
		t = clock_now();
	if (hard) {
		runqueue->hard_since = t ?: 1;
	} else {
		runqueue->soft_since = t ?: 1;
		runqueue->soft_stolen = 0;
	}
	return t;
}

/* End of an interrupt, and its length; 0: the clock was not read. */
struct irq_end {
	u64 t, ns;
};

static __always_inline struct irq_end runqueue_irq_exit(bool hard)
{
	struct kd_runqueue *runqueue = runqueue_here();
	struct irq_end end = {};
	u64 since;

	if (!runqueue)
		return end;
	since = hard ? runqueue->hard_since : runqueue->soft_since;
	if (hard)
		runqueue->hard_since = 0;
	else
		runqueue->soft_since = 0;
	if (likely(since <= 1))
		return end;
	end.t = clock_now();
	end.ns = elapsed(since, end.t);
	if (hard) {
		runqueue->hard_ns += end.ns;
		if (runqueue->soft_since > 1)
			runqueue->soft_stolen += end.ns;
	} else if (end.ns > runqueue->soft_stolen) {
		runqueue->soft_ns += end.ns - runqueue->soft_stolen;
	}
	return end;
}

#endif
