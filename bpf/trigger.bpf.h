/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Triggers: probes that open and close windows, one at a time, that of the word; pairs on one
 * thread are in pair.bpf.h. How hits set edges, and need a token on kernels before 5.12: "Triggers"
 * in DETAILS.rst. */
#ifndef TRIGGER_BPF_H
#define TRIGGER_BPF_H

#include "compat.bpf.h"
#include "hit.bpf.h"
#include "maps.bpf.h"
#include "pair.bpf.h"
#include "poll.bpf.h"

/* --- Conditions on values --- */

/* Conditions of triggers on values of registers, arguments and memory at the hit. The map only
 * exists in runs with a condition; otherwise the code is dead. */

/* Conditions of the start, then of the stop. A site's cookie is the index. */
ARRAY_MAP(kd_conditions, KD_ROLES *KD_CONDITIONS, struct kd_condition);

enum condition { CONDITION_FALSE, CONDITION_TRUE, CONDITION_UNREAD };
_Static_assert(CONDITION_TRUE == 1 && CONDITION_UNREAD == 2, "bits");

#define NUMBER_BOUND 16 /* power of two for BOUNDED(), above any size */

/* Loads memory of this size as a number; all machines are little-endian. Returns 0 or an error. */
static __always_inline long number_load(u64 *value, u64 address, u32 size, bool in_kernel)
{
	u64 read[NUMBER_BOUND / sizeof(u64)] = {};
	long error;

	size = BOUNDED(size, NUMBER_BOUND);
	if (in_kernel)
		error = bpf_probe_read_kernel(read, size, (void *)address);
	else
		error = bpf_probe_read_user(read, size, (void *)address);
	*value = read[0];
	return error;
}

/* Reads the context as memory, because the offset is not constant. */
static __always_inline u64 register_read(void *ctx, u32 offset, u32 size)
{
	u64 read[NUMBER_BOUND / sizeof(u64)] = {};

	if (offset == KD_NO_REGISTER)
		return 0;
	bpf_probe_read_kernel(read, BOUNDED(size, NUMBER_BOUND), ctx + (offset & 0xffff));
	return read[0];
}

/* Tests a comparison for a value, or for the memory that the value points to. Global, to be
 * verified once, even in runs without conditions, which have no map. */
__noinline int term_test(u32 key, u32 index, u64 value)
{
	struct kd_condition *condition;
	const struct kd_term *term;
	u32 loads, size, bits;

	if (!kd_conditional[KD_START] && !kd_conditional[KD_STOP])
		return CONDITION_FALSE;
	condition = bpf_map_lookup_elem(&kd_conditions, &key);
	if (!condition)
		return CONDITION_FALSE;
	term = &condition->terms[BOUNDED(index, KD_TERMS)];
	loads = term->loads;
	size = term->size;
	value += term->offsets[0];
	for (u32 i = 0; i < KD_TERM_LOADS && i < loads; i++) {
		if (number_load(&value, value, i + 1 == loads ? size : sizeof(u64),
				condition->in_kernel))
			return CONDITION_UNREAD;
		value += term->offsets[i + 1];
	}
	bits = (64 - 8 * size) & 63;
	value <<= bits;
	value = term->is_signed ? (u64)((s64)value >> bits) : value >> bits;
	return (value & term->mask) - term->first <= term->span ? CONDITION_TRUE : CONDITION_FALSE;
}

/* Makes all comparisons and combines them at the end, so that the verifier has no branches to
 * follow. CONDITION_UNREAD: might have been true, but memory was unreadable. */
static __noinline int condition_test(void *ctx, u32 key)
{
	struct kd_condition *condition = bpf_map_lookup_elem(&kd_conditions, &key);
	u32 are = 0, may_be = 0;
	bool unread = false;

	if (!condition)
		return CONDITION_FALSE;
	for (u32 i = 0; i < KD_TERMS && i < condition->n; i++) {
		const struct kd_term *term = &condition->terms[i];
		u32 size = term->loads ? sizeof(u64) : term->size;
		u64 value = register_read(ctx, term->base, size);
		u32 result;

		value += register_read(ctx, term->index, sizeof(u64)) << (term->shift & 3);
		result = term_test(key, i, value);
		are |= (result & CONDITION_TRUE) << i;
		may_be |= ((result | result >> 1) & 1) << i;
	}
	for (u32 i = 0; i < KD_TERMS; i++) {
		u32 group = condition->groups[i];

		if (!group)
			break;
		if ((are & group) == group)
			return CONDITION_TRUE;
		unread |= (may_be & group) == group;
	}
	return unread ? CONDITION_UNREAD : CONDITION_FALSE;
}

/* --- Windows --- */

/* Locks the word, unless it has changed: no other hit can make an edge now. */
static __always_inline bool word_take(u64 word, bool atomic)
{
	return swap(&kd_word, word, kd_word_compose(KD_FAR, kd_word_bank(word), 0), atomic);
}

/* Opens a window; KD_HIT_USED: it is open. */
static __always_inline enum kd_outcome window_open(struct hit *hit)
{
	u64 word = READ_ONCE(kd_word), next;
	struct kd_window *window;
	u32 bank;

	if (word & KD_WORD_OPEN || word >> KD_WORD_SHIFT == KD_FAR)
		return KD_HIT_OVERLAPPED;
	if (!READ_ONCE(kd_wanted) || is_paused())
		return KD_HIT_IDLE;
	if (!word_take(word, hit->atomic))
		return KD_HIT_OVERLAPPED;
	bank = bank_take(kd_word_bank(word), hit->atomic);
	window = &kd_windows[BOUNDED(bank, KD_BANKS)];
	if (hit_time(hit) < word >> KD_WORD_SHIFT) { /* an end announced by user space */
		WRITE_ONCE(window->bank, KD_BANK_FREE);
		WRITE_ONCE(kd_word, word);
		return KD_HIT_OVERLAPPED;
	}
	window->end = KD_NEVER;
	window->opened_by = hit->tid;
	window->opened_in = hit->tgid;
	window->start = hit->t;
	next = kd_word_compose(hit->t, bank, KD_WORD_OPEN);
	cpu_barrier();
	window->gen = bank == KD_NO_BANK ? 0 : next;
	cpu_barrier();
	WRITE_ONCE(kd_word, next);
	counters_mark(hit->slot, next, KD_MARK_START);
	return KD_HIT_USED;
}

/* Closes the window of the given word. KD_HIT_UNMATCHED: another hit did so. */
static __always_inline enum kd_outcome window_close(struct hit *hit, u64 word)
{
	u64 start = word >> KD_WORD_SHIFT, ns;
	u32 bank = kd_word_bank(word);
	struct kd_window *window = &kd_windows[BOUNDED(bank, KD_BANKS)];
	enum kd_outcome outcome = KD_HIT_USED;
	bool keep, brief;

	if (!word_take(word, hit->atomic))
		return KD_HIT_UNMATCHED;
	if (hit_time(hit) <= start) { /* announced by user space for later */
		WRITE_ONCE(kd_word, word);
		return KD_HIT_UNMATCHED;
	}
	window->end = hit->t;
	cpu_barrier();
	ns = hit->t - start;
	brief = is_short(ns);
	keep = !brief && ns >= READ_ONCE(kd_keep);
	if (brief)
		outcome = KD_HIT_SKIPPED;
	else if (keep && bank == KD_NO_BANK)
		outcome = KD_HIT_MISSED;
	else
		__sync_fetch_and_add(&kd_wanted, -1);
	keep = keep && bank != KD_NO_BANK;
	if (keep && kd_interval)
		WRITE_ONCE(kd_not_before, hit->t + kd_interval);
	if (keep)
		window->closed_by = hit->by;
	else
		window->gen = 0;
	cpu_barrier();
	WRITE_ONCE(window->bank, keep ? KD_BANK_CLOSED : KD_BANK_FREE);
	WRITE_ONCE(kd_word, kd_word_compose(hit->t, bank, 0));
	if (keep)
		hit->closed = start;
	return outcome;
}

static __always_inline void start_hit(struct hit *hit)
{
	enum kd_outcome outcome = window_open(hit);

	if (outcome != KD_HIT_USED) {
		tally_outcome(hit, KD_START, outcome);
	} else if (!kd_closes_itself) {
		__sync_fetch_and_add(&kd_wanted, -1);
		tally_outcome(hit, KD_START, outcome);
		event_send(KD_EVENT_OPENED, hit->tid, hit->t, 0);
	}
}

/* Ends the open window, whichever thread started it. */
static __always_inline void stop_hit(struct hit *hit)
{
	u64 word = READ_ONCE(kd_word);
	enum kd_outcome outcome = KD_HIT_UNMATCHED;

	if (word & KD_WORD_OPEN) {
		counters_mark(hit->slot, word, KD_MARK_END);
		outcome = window_close(hit, word);
	}
	if (outcome == KD_HIT_UNMATCHED) {
		tally_outcome(hit, KD_STOP, outcome);
		return;
	}
	tally_pair(hit, outcome);
	tally_duration(hit, hit->t - (word >> KD_WORD_SHIFT));
	if (kd_list_skipped && outcome == KD_HIT_SKIPPED)
		event_send(KD_EVENT_SKIPPED, hit->tid, word >> KD_WORD_SHIFT, hit->t);
}

/* Counts a hit by a process outside the target: probes cost it time. */
static __always_inline void outside_count(void)
{
	u32 zero = 0;
	struct kd_tally *tally = bpf_map_lookup_elem(&kd_tallies, &zero);

	if (tally)
		count_up(&tally->outside);
}

/* True if the values at a hit meet the condition. by_site: sites of the probe may differ; the
 * probe at all system calls uses its cookie for something else (call_is_trigger()). */
static __always_inline bool condition_is_met(void *ctx, struct kd_tally *tally, bool start,
					     bool stop, bool by_site)
{
	enum kd_role role = start ? KD_START : KD_STOP;
	enum condition condition;
	u64 *counts;

	if (!kd_conditional[role])
		return true;
	condition = condition_test(ctx, role * KD_CONDITIONS + (by_site ? site_cookie(ctx) : 0));
	if (condition == CONDITION_TRUE)
		return true;
	counts = condition == CONDITION_UNREAD ? tally->unread : tally->unmet;
	if (start)
		count_up(&counts[KD_START]);
	if (stop)
		count_up(&counts[KD_STOP]);
	return false;
}

static __always_inline void hit_record(bool start, bool stop, u32 tid)
{
	u64 t = clock_now();

	if (start)
		recorder_add(KD_RECORDED_HIT, KD_START, tid, 0, t);
	if (stop)
		recorder_add(KD_RECORDED_HIT, KD_STOP, tid, 0, t);
}

/* --long-poll: a start is the return from a poll, a stop the entry. True if it is within a round.
 */
static __always_inline bool round_is_nested(struct kd_rounds *rounds, bool start)
{
	u64 t = clock_now();

	if (start)
		round_begin(rounds, t);
	else
		round_end(rounds, t);
	return rounds->nested;
}

/* Handles a probe hit. A probe that is both start and stop counts as both. */
static __always_inline void trigger_hit(void *ctx, bool start, bool stop, bool atomic, bool by_site)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct hit hit = {
		.tid = pid_tgid, .tgid = pid_tgid >> 32, .by = pid_tgid, .atomic = atomic
	};
	bool ours = process_was_ours(hit.tgid); /* its last thread may be ending */
	enum kd_role role = start ? KD_START : KD_STOP;
	u32 zero = 0, slot;

	if (!ours && kd_target_only[role]) {
		if (kd_everywhere[role])
			outside_count();
		return;
	}
	slot = ours ? tid_slot(hit.tid) : KD_SLOT_FREE;
	if (slot != KD_SLOT_FREE && slot != KD_SLOT_REFUSED) {
		hit.slot = slot;
		hit.thread = slot_thread(hit.slot);
	}
	if (hit.thread)
		hit.thread->hits++; /* they cost time, whether they count or not */
	if (!READ_ONCE(kd_armed))
		return;
	if (kd_rounds && hit.thread && round_is_nested(&hit.thread->rounds, start))
		return;
	hit.tally = bpf_map_lookup_elem(&kd_tallies, &zero);
	if (!hit.tally)
		return;
	if (!hit.thread)
		count_up(&hit.tally->foreign);
	if (!condition_is_met(ctx, hit.tally, start, stop, by_site))
		return;
	if (recorder_is_on())
		hit_record(start, stop, hit.tid);
	if (start)
		count_up(&hit.tally->hits[KD_START]);
	if (stop)
		count_up(&hit.tally->hits[KD_STOP]);
	if (!atomic && !token_take()) {
		loss_count(KD_LOSS_EDGES);
		return;
	}
	if (kd_same_thread) {
		pair_hit(&hit, start, stop);
	} else {
		if (stop)
			stop_hit(&hit);
		if (start)
			start_hit(&hit);
	}
	hit_end(&hit);
	/* Wakes the reader last: it may read the tallies at once. */
	if (hit.closed)
		event_send(KD_EVENT_CLOSED, hit.tid, hit.closed, hit.t);
}

/* True if the window of a word was opened in this process; always for a single process. */
static __always_inline bool window_is_of(u64 word, u32 tgid)
{
	struct kd_window *window = &kd_windows[BOUNDED(kd_word_bank(word), KD_BANKS)];

	return word & KD_WORD_OPEN && (!kd_many || window->opened_in == tgid);
}

/* Ends the window with the process that opened it. */
static __always_inline void window_leave(struct hit *hit)
{
	u64 word = READ_ONCE(kd_word);

	if (!window_is_of(word, hit->tgid) || !hit_begin(hit))
		return;
	if (window_close(hit, word) != KD_HIT_UNMATCHED)
		tally_outcome(hit, KD_START, KD_HIT_ENDED);
	hit_end(hit);
}

/* Drops the window that a trigger has opened. */
static __always_inline void window_drop(struct hit *hit)
{
	u64 word = READ_ONCE(kd_word);
	struct kd_window *window = &kd_windows[BOUNDED(kd_word_bank(word), KD_BANKS)];

	if (!window_is_of(word, hit->tgid) || !hit_begin(hit))
		return;
	if (word_take(word, hit->atomic)) {
		window_free(window);
		WRITE_ONCE(kd_word, kd_word_compose(hit_time(hit), kd_word_bank(word), 0));
		tally_outcome(hit, KD_START, KD_HIT_ENDED);
	}
	hit_end(hit);
}

/* Handles a thread's end. If the entire target ends, open windows last until the end of the run,
 * which follows. One of several processes ends its windows here. */
static __always_inline void trigger_exit(struct task_struct *task, bool atomic)
{
	struct hit hit = {
		.tid = task->pid, .tgid = task->tgid, .by = KD_BY_EXIT, .atomic = atomic
	};
	/* Last threads may get here after user space has removed their process. */
	bool ours = process_was_ours(hit.tgid) || (kd_many && task_is_ours(hit.tid, hit.tgid));
	bool ends = ours && process_ends(task);

	if (!READ_ONCE(kd_armed) || (ends && !kd_many))
		return;
	if (ours && kd_same_thread)
		hit.thread = target_find(hit.tid, (u64)task).thread;
	if (kd_same_thread)
		pair_leave(&hit, ends);
	else if (ends)
		window_leave(&hit);
	if (hit.closed)
		event_send(KD_EVENT_CLOSED, hit.tid, hit.closed, hit.t);
}

/* Handles an execve of the target: the new program will not reach a stop in the old one. */
static __always_inline void trigger_exec(struct task_struct *task, bool atomic)
{
	struct hit hit = { .tid = task->pid, .tgid = task->tgid, .atomic = atomic };

	bool armed = READ_ONCE(kd_armed);

	/* One of several processes may execute a program with triggers at any time. */
	if (!process_is_ours(hit.tgid) || !(armed || kd_many))
		return;
	event_send(KD_EVENT_EXEC, hit.tid, 0, clock_now());
	if (!armed || !kd_stop_in_program)
		return;
	hit.thread = target_find(hit.tid, (u64)task).thread;
	if (kd_same_thread)
		pair_leave(&hit, false);
	else
		window_drop(&hit);
}

/* True if the current system call has a trigger; the cookie tells entry from exit. Both contexts
 * have the number in the same field. 32-bit calls do not have the tracepoints that this
 * replaces. */
static __always_inline bool call_is_trigger(struct trace_event_raw_sys_enter *ctx,
					    enum kd_role role)
{
	u64 number = ctx->id;

	return number < KD_CLASSES && !current_call_is_compat(NULL, true) &&
	       kd_trigger_calls[number] & KD_AT(role, bpf_get_attach_cookie(ctx) & 1);
}

#endif
