/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Interrupts: an overlay on the running states. The frames of interrupts in
 * progress live in the interrupted thread's slot, as current cannot change
 * inside one; where softirqs run in preemptible threads (PREEMPT_RT) the frame
 * goes with its thread. */
#ifndef IRQ_BPF_H
#define IRQ_BPF_H

#include "window.bpf.h"

/* The current thread, by its identity: an interrupt may come in the middle of
 * an execve. */
static __always_inline struct target target_interrupted(void)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct target target = {};

	if (likely(pid_tgid >> 32 != kd_tgid))
		return target;
	return target_find((u32)pid_tgid, bpf_get_current_task());
}

static __always_inline void overlay_add(struct kd_overlay *overlay, u64 gen, bool in_kernel, u64 ns)
{
	if (unlikely(overlay->gen != gen)) {
		overlay->in_user = 0;
		overlay->in_kernel = 0;
		overlay->gen = gen;
	}
	if (in_kernel)
		overlay->in_kernel += ns;
	else
		overlay->in_user += ns;
}

static __always_inline struct kd_overlay *record_overlay(struct kd_record *record, bool hard)
{
	return hard ? &record->hardirq_ns : &record->softirq_ns;
}

/* Which interrupt, in one word, for irq_across(). */
enum irq_flag {
	IRQ_HARD = 1,
	IRQ_IN_KERNEL = 2, /* the thread was in a system call */
	IRQ_PLACE_SHIFT = 2,
};

static __always_inline struct kd_cell *record_irq(struct kd_record *record, bool hard, u32 place)
{
	return hard ? &record->hardirqs[BOUNDED(place, KD_HARDIRQS)]
		    : &record->softirqs[BOUNDED(place, KD_SOFTIRQS)];
}

/* An interrupt that began before the last edge. Only cells and overlays are
 * written, which have generations of their own: the rest of the record may be
 * in the hands of a program that this interrupt has hit. */
__noinline int irq_across(u32 slot, u32 irq, u64 since, u64 t, u64 stolen)
{
	bool hard = irq & IRQ_HARD;
	struct kd_record *record;
	struct part part;
	u64 ns;

	FOR_EACH_BANK(bank)
	{
		if (!window_part(bank, since, t, &part) || part.to - part.from < stolen)
			continue;
		record = record_raw(slot, bank);
		if (!record)
			continue;
		ns = part.to - part.from - stolen;
		overlay_add(record_overlay(record, hard), part.gen, irq & IRQ_IN_KERNEL, ns);
		if (part.from == since && part.to == t)
			cell_add(record_irq(record, hard, irq >> IRQ_PLACE_SHIFT), part.gen, ns);
	}
	return 0;
}

/* The thread lost [since, t] to an interrupt, but for what was stolen from the
 * interrupt itself. */
static __always_inline void irq_book(struct target target, bool hard, u32 place, u64 since, u64 t,
				     u64 stolen)
{
	/* A thread that has had no event yet has its seed's state. */
	u32 state = target.thread->state ?: target.thread->seed_state;
	bool in_kernel = state == KD_KERNEL;
	u64 word = READ_ONCE(kd_word);
	struct kd_record *record;

	if (unlikely(since < word >> KD_WORD_SHIFT)) {
		irq_across(target.slot,
			   (hard ? IRQ_HARD : 0) | (in_kernel ? IRQ_IN_KERNEL : 0) |
				   place << IRQ_PLACE_SHIFT,
			   since, t, stolen);
		return;
	}
	if (!(word & KD_WORD_OPEN))
		return;
	record = record_raw(target.slot, word_bank(word));
	if (!record)
		return;
	overlay_add(record_overlay(record, hard), word, in_kernel, t - since - stolen);
	cell_add(record_irq(record, hard, place), word, t - since - stolen);
}

static __always_inline void irq_enter(bool hard)
{
	struct target target = target_interrupted();
	struct kd_irq_frame *frame;

	if (!target.thread)
		return;
	frame = hard ? &target.thread->hardirq : &target.thread->softirq;
	frame->stolen = 0;
	frame->since = clock_now();
}

static __always_inline void irq_exit(struct target target, bool hard, u32 place)
{
	struct kd_thread *thread = target.thread;
	struct kd_irq_frame *frame = hard ? &thread->hardirq : &thread->softirq;
	u64 since = frame->since, stolen = frame->stolen, t;

	if (!since) /* we have not seen it begin */
		return;
	frame->since = 0;
	t = clock_now();
	if (t < since + stolen) /* the clock may step back a little */
		return;
	if (hard && thread->softirq.since)
		thread->softirq.stolen += t - since;
	irq_book(target, hard, place, since, t, stolen);
}

/* Interrupts without a line have the first places of the table. */
static __always_inline void vector_exit(enum kd_vector vector)
{
	struct target target = target_interrupted();

	if (target.thread)
		irq_exit(target, true, vector);
}

/* The place of an interrupt line's action. */
static __noinline u32 line_place(struct kd_thread *thread, u64 key)
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

/* The name of an interrupt line's action, once per action. */
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
	struct target target = target_interrupted();
	const char *name;
	u64 key;

	if (!target.thread)
		return;
	name = BPF_CORE_READ(action, name);
	key = KD_IRQ_LINE | line | (u64)name << KD_IRQ_NAME_SHIFT;
	line_name(key, name);
	if (result == IRQ_NONE)
		key |= KD_IRQ_UNHANDLED;
	irq_exit(target, true, line_place(target.thread, key));
}

/* An NMI tells its duration after the fact. */
static __always_inline void nmi_handled(s64 ns)
{
	struct target target = target_interrupted();
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
}

static __always_inline void softirq_exit(u32 vector)
{
	struct target target = target_interrupted();

	if (target.thread)
		irq_exit(target, false, vector);
}

#endif
