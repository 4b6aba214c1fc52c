/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Interrupts: an overlay on the running states. Frames of interrupts in progress are in the
 * interrupted thread's slot, since current cannot change inside an interrupt. Where softirqs run
 * in preemptible threads (PREEMPT_RT), the frame moves with its thread. */
#ifndef IRQ_BPF_H
#define IRQ_BPF_H

#include "idle.bpf.h"
#include "interruption.bpf.h"
#include "runqueue.bpf.h"
#include "steal.bpf.h"
#include "waker.bpf.h"
#include "window.bpf.h"

static __always_inline struct kd_overlay *record_overlay(struct kd_record *record, bool hard)
{
	return hard ? &record->hardirq_ns : &record->softirq_ns;
}

static const struct kd_count no_hardirqs[KD_HARDIRQS], no_softirqs[KD_SOFTIRQS];

/* Resets a class at its first interrupt in a window. By calls, like record_reset(). */
__noinline int irqs_reset(u32 slot, u32 bank, u64 gen, bool hard)
{
	struct kd_record *record = record_raw(slot, bank);
	struct kd_overlay *overlay;

	if (!record)
		return 0;
	overlay = record_overlay(record, hard);
	__builtin_memset(overlay->in, 0, sizeof(overlay->in));
	if (hard)
		bpf_probe_read_kernel(record->hardirqs, sizeof(no_hardirqs), no_hardirqs);
	else
		bpf_probe_read_kernel(record->softirqs, sizeof(no_softirqs), no_softirqs);
	overlay->gen = gen;
	return 0;
}

/* Interrupt, and where to account it, in one word. */
enum irq_flag {
	IRQ_HARD = 1,
	IRQ_STATE_SHIFT = 1, /* state of the thread, from KD_USER on */
	IRQ_INDEX_SHIFT = 3,
	IRQ_BANK_SHIFT = 16,
};

/* Counters of an interrupt; kinds without one use the last. */
static __always_inline struct kd_count *record_irq(struct kd_record *record, bool hard, u32 index)
{
	u64 at = BOUNDED(index, KD_IRQ_PADDED);

	barrier_var(at); /* compared and used in the same form, for the verifier */
	if (hard)
		return &record->hardirqs[at < KD_HARDIRQS ? at : KD_HARDIRQ_OTHER];
	return &record->softirqs[at < KD_SOFTIRQS ? at : KD_SOFTIRQS - 1];
}

/* Adds the part of an interrupt in a bank's window. Only writes what has its own generation: the
 * interrupt may have hit a program that is changing the rest of the record. */
__noinline int irq_in_bank(u32 slot, u32 irq, u64 since, u64 t, u64 stolen)
{
	u32 bank = irq >> IRQ_BANK_SHIFT, index = (irq & 0xffff) >> IRQ_INDEX_SHIFT;
	bool hard = irq & IRQ_HARD;
	struct kd_overlay *overlay;
	struct kd_record *record;
	struct overlap overlap;
	u64 ns;

	if (!window_overlap(bank, since, t, &overlap) || overlap.to - overlap.from < stolen)
		return 0;
	record = record_raw(slot, bank);
	if (!record)
		return 0;
	ns = overlap.to - overlap.from - stolen;
	overlay = record_overlay(record, hard);
	if (overlay->gen != overlap.gen)
		irqs_reset(slot, bank, overlap.gen, hard);
	overlay->in[BOUNDED(irq >> IRQ_STATE_SHIFT, KD_RUNNING)] += ns;
	if (overlap.from == since && overlap.to == t)
		count_add(record_irq(record, hard, index), since, ns);
	return 0;
}

/* An interrupt that began before the last edge. */
__noinline int irq_across(u32 slot, u32 irq, u64 since, u64 t, u64 stolen)
{
	FOR_EACH_BANK(bank)
	{
		irq_in_bank(slot, irq | bank << IRQ_BANK_SHIFT, since, t, stolen);
	}
	return 0;
}

/* Running state that loses the interrupt's time. Without events, the thread's seed state. */
static __always_inline u32 irq_state(const struct kd_thread *thread)
{
	u32 state = thread->state ?: thread->seed_state;

	return kd_is_running(state) ? state : KD_USER;
}

static __always_inline void irq_record(bool hard, u32 index, const struct kd_thread *thread, u64 ns,
				       u64 t)
{
	recorder_add(hard ? KD_RECORDED_HARDIRQ : KD_RECORDED_SOFTIRQ,
		     index | irq_state(thread) << KD_RECORDED_HIT_STATE, thread->tid,
		     recorder_ns(ns), t);
}

/* The thread lost [since, t] to an interrupt, except what was stolen from the interrupt itself. */
static __always_inline void irq_book(struct target target, bool hard, u32 index, u64 since, u64 t,
				     u64 stolen)
{
	u32 state = irq_state(target.thread) - KD_USER;
	u64 word = READ_ONCE(kd_word);
	struct kd_overlay *overlay;
	struct kd_record *record;

	if (unlikely(since < word >> KD_WORD_SHIFT)) {
		irq_across(target.slot,
			   (hard ? IRQ_HARD : 0) | state << IRQ_STATE_SHIFT |
				   index << IRQ_INDEX_SHIFT,
			   since, t, stolen);
		return;
	}
	if (!(word & KD_WORD_OPEN))
		return;
	record = record_raw(target.slot, kd_word_bank(word));
	if (!record)
		return;
	overlay = record_overlay(record, hard);
	if (unlikely(overlay->gen != word))
		irqs_reset(target.slot, kd_word_bank(word), word, hard);
	overlay->in[BOUNDED(state, KD_RUNNING)] += t - since - stolen;
	count_add(record_irq(record, hard, index), since, t - since - stolen);
}

#define VECTOR_LOCAL_TIMER 0xec

/* Interrupts without a line use the first entries of the table. Their tracepoints pass the
 * vector, so one program serves all entries and one all exits: each further program takes time
 * to load. Numbers are from arch/x86/include/asm/irq_vectors.h. Global, so that what follows is
 * not verified for each vector. */
__noinline u32 vector_index(u32 vector)
{
	switch (vector) {
	case VECTOR_LOCAL_TIMER:
		return KD_VECTOR_LOCAL_TIMER;
	case 0xfd:
		return KD_VECTOR_RESCHEDULE;
	case 0xfc:
		return KD_VECTOR_CALL_FUNCTION;
	case 0xfb:
		return KD_VECTOR_CALL_FUNCTION_SINGLE;
	case 0xf6:
		return KD_VECTOR_IRQ_WORK;
	case 0xfa:
		return KD_VECTOR_THERMAL;
	default:
		return KD_HARDIRQ_OTHER;
	}
}

/* The same for a line: on arm64 the timer has one, whose number user space knows. */
static __always_inline u32 line_vector(u32 line)
{
#if defined(__TARGET_ARCH_arm64)
	if (line == kd_timer_line)
		return VECTOR_LOCAL_TIMER;
#endif
	return KD_HARDIRQ_OTHER;
}

/* --- Ticks, which say whether the CPU was in user mode --- */

/* No tracepoint tells of what the kernel does before sys_enter, after sys_exit, and in most
 * exceptions: its thread's state is KD_USER. A tick adds to utime or stime by what it has hit, so
 * their change during the local timer's interrupt is a sample of the mode, along with our state. */

static __always_inline u64 task_utime(void)
{
	return BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), utime);
}

static __always_inline u64 task_stime(void)
{
	return BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), stime);
}

/* Global, to be verified once. */
__noinline int tick_begin(u32 slot)
{
	struct kd_thread *thread = slot_thread(slot);

	if (!thread)
		return 0;
	thread->utime = task_utime();
	thread->stime = task_stime();
	return 0;
}

/* What the thread computes: a profile without stacks, of which there is no more than a tick's. */
static __always_inline void tick_note(struct kd_thread *thread, u32 slot)
{
	struct kd_ring_of ring = kd_ring_of(slot);
	u32 index = ring.first + (thread->user_ticks & (ring.n - 1));
	struct kd_user_tick *tick = bpf_map_lookup_elem(&kd_user_ticks, &index);

	if (!tick)
		return;
	tick->at = clock_now();
	tick->ip = regs_ip(current_user_regs());
	cpu_barrier();
	thread->user_ticks++;
}

/* Softirqs count as system time, and are in neither state. */
__noinline int tick_end(u32 slot)
{
	struct kd_thread *thread = slot_thread(slot);
	u64 word = READ_ONCE(kd_word), in_kernel;
	struct kd_record *record;
	struct kd_ticks *ticks;
	u32 state;

	if (!thread || !thread->hardirq.since || !(word & KD_WORD_OPEN))
		return 0;
	in_kernel = task_stime() != thread->stime;
	if (in_kernel == (task_utime() != thread->utime))
		return 0;
	record = record_raw(slot, kd_word_bank(word));
	if (!record)
		return 0;
	ticks = &record->ticks;
	if (ticks->gen != word) {
		__builtin_memset(ticks, 0, sizeof(*ticks));
		ticks->gen = word;
	}
	state = irq_state(thread);
	ticks->all++;
	if (thread->softirq.since)
		return 0;
	if (state == KD_USER) {
		ticks->user[BOUNDED(in_kernel, 2)]++;
		if (!in_kernel)
			tick_note(thread, slot);
	} else if (state == KD_FAULT) {
		ticks->fault[BOUNDED(in_kernel, 2)]++;
	}
	return 0;
}

/* --- Entries and exits --- */

/* index: needed by its exit. */
static __always_inline void irq_enter(bool hard, u32 index)
{
	struct target target = target_running();
	u64 t = runqueue_irq_enter(hard, target.thread ? clock_now() : 0);
	struct kd_irq_frame *frame;

	if (contexts_are_wanted())
		context_enter(hard, hard ? vector_index(index) : index);
	if (!target.thread)
		return;
	frame = hard ? &target.thread->hardirq : &target.thread->softirq;
	frame->stolen = 0;
	frame->index = index;
	frame->since = t;
	if (hard && index == VECTOR_LOCAL_TIMER)
		tick_begin(target.slot);
}

/* t: current time, if already read, else 0. */
static __always_inline void irq_exit(struct target target, bool hard, u32 index, u64 t)
{
	struct kd_thread *thread = target.thread;
	struct kd_irq_frame *frame = hard ? &thread->hardirq : &thread->softirq;
	u64 since = frame->since, stolen = frame->stolen;

	if (!since) /* its start was missed */
		return;
	frame->since = 0;
	t = t ?: clock_now();
	if (t < since + stolen) /* the clock may step back a little */
		return;
	if (hard && thread->softirq.since)
		thread->softirq.stolen += t - since;
	irq_book(target, hard, index, since, t, stolen);
	irq_record(hard, index, thread, t - since, t);
	if (hard && kd_steal)
		steal_tick(target.slot, since);
	interruption_add(target.slot, interrupted_by(hard ? KD_BY_HARDIRQ : KD_BY_SOFTIRQ, index),
			 since, t);
}

/* For a CPU with waiting threads, while the current task is not the target's. Its length is the
 * increase of the run queue's sum. */
static __always_inline void irq_record_other(bool hard, u32 index, struct irq_end end)
{
	if (end.t)
		recorder_add(hard ? KD_RECORDED_HARDIRQ : KD_RECORDED_SOFTIRQ, index,
			     (u32)bpf_get_current_pid_tgid(), recorder_ns(end.ns), end.t);
}

static __always_inline void vector_exit(void)
{
	struct kd_runqueue *runqueue = recorder_is_on() ? runqueue_here() : NULL;
	struct irq_end end = runqueue_irq_exit(true);
	struct target target = target_running();

	idle_after(end);
	if (target.thread && target.thread->hardirq.index == VECTOR_LOCAL_TIMER)
		tick_end(target.slot);
	if (target.thread)
		irq_exit(target, true, vector_index(target.thread->hardirq.index), end.t);
	else if (runqueue)
		irq_record_other(true, runqueue->context.hard, end);
}

/* Entry of an interrupt line's action. */
static __noinline u32 line_index(struct kd_thread *thread, u64 key)
{
	u32 home = (key ^ key >> KD_IRQ_NAME_SHIFT) % KD_LINES;

	for (u32 i = 0; i < KD_PROBES; i++) {
		u32 line = (home + i) % KD_LINES;

		if (!thread->line_keys[line])
			thread->line_keys[line] = key;
		if (thread->line_keys[line] == key)
			return KD_VECTORS + line;
	}
	return KD_HARDIRQ_OTHER;
}

/* Stores the name of an interrupt line's action, once per action. */
static __always_inline void line_name(u64 key, const char *text)
{
	struct kd_irq_name name = {};

	if (likely(bpf_map_lookup_elem(&kd_irq_names, &key)))
		return;
	bpf_probe_read_kernel_str(name.text, sizeof(name.text), text);
	if (bpf_map_update_elem(&kd_irq_names, &key, &name, BPF_ANY))
		loss_count(KD_LOSS_IRQ_NAMES);
}

static __always_inline void line_exit(u32 line, struct irqaction *action, u32 result)
{
	struct target target;
	struct irq_end end;
	const char *name;
	u64 key;

	if (line_vector(line) == VECTOR_LOCAL_TIMER) {
		vector_exit();
		return;
	}
	end = runqueue_irq_exit(true);
	target = target_running();
	if (!target.thread) {
		irq_record_other(true, KD_HARDIRQ_OTHER, end);
		return;
	}
	name = BPF_CORE_READ(action, name);
	key = KD_IRQ_LINE | line | (u64)name << KD_IRQ_NAME_SHIFT;
	line_name(key, name);
	if (result == IRQ_NONE)
		key |= KD_IRQ_UNHANDLED;
	irq_exit(target, true, line_index(target.thread, key), end.t);
}

/* An NMI reports its duration afterwards. */
static __always_inline void nmi_handled(s64 ns)
{
	struct target target = target_running();
	u64 t;

	if (!target.thread || ns <= 0)
		return;
	t = clock_now();
	if ((u64)ns > t)
		return;
	if (target.thread->hardirq.since)
		target.thread->hardirq.stolen += ns;
	else if (target.thread->softirq.since)
		target.thread->softirq.stolen += ns;
	irq_book(target, true, KD_VECTOR_NMI, t - ns, t, 0);
	irq_record(true, KD_VECTOR_NMI, target.thread, ns, t);
	interruption_add(target.slot, interrupted_by(KD_BY_HARDIRQ, KD_VECTOR_NMI), t - ns, t);
}

static __always_inline void softirq_exit(u32 vector)
{
	struct irq_end end = runqueue_irq_exit(false);
	struct target target = target_running();

	if (contexts_are_wanted())
		context_exit(vector);
	if (target.thread)
		irq_exit(target, false, vector, end.t);
	else
		irq_record_other(false, vector, end);
}

#endif
