/* SPDX-License-Identifier: Apache-2.0 */
#include "recorded.h"

#include <stdio.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/model/wait_filter.h"
#include "cli/model/words.h"
#include "notes.h"
#include "perfetto_fields.h"
#include "slices.h"
#include "timeline.h"

/* The rows of a thread of one kind, in the order of time, as far as they have been used. */
struct cursor {
	const struct timeline_thread *thread;
	enum trace_kind kind;
	size_t at;
};

/* The first row that has not been used; NULL: there is none. */
static const struct trace_row *cursor_row(struct cursor *cursor)
{
	const struct timeline_thread *thread = cursor->thread;

	while (cursor->at < thread->n_rows && thread->rows[cursor->at]->kind != cursor->kind)
		cursor->at++;
	return cursor->at < thread->n_rows ? thread->rows[cursor->at] : NULL;
}

/* --- States --- */

static void holder_write(struct pftrace *trace, const struct recorded_state *state, uint64_t track,
			 const struct span *span)
{
	const struct recorded_thread *holder = recording_thread(trace->sample->recording,
								state->holder);
	char name[KD_COMM_LEN + 32];

	snprintf(name, sizeof(name), "lock held by %.*s[%d]", KD_COMM_LEN,
		 holder ? holder->name : "", (int)state->holder);
	event_begin(trace, TYPE_SLICE_BEGIN, track, span->start);
	event_category(trace, CATEGORY_LOCK);
	event_name(trace, name, sizeof(name));
	event_end(trace);
	slice_end(trace, track, span->end);
}

static void waker_note(struct pftrace *trace, const struct recorded_state *state)
{
	const struct recorded_thread *waker = recording_thread(trace->sample->recording,
							       state->waker);

	if (state->from != KD_FROM_UNKNOWN && state->from < KD_FROM_CONTEXTS)
		note_word(trace, NOTE_CONTEXT, from_keys[state->from]);
	if (!state->waker)
		return;
	note_i64(trace, NOTE_ENDED_BY_TID, state->waker);
	if (waker)
		note_text(trace, NOTE_ENDED_BY, waker->name, KD_COMM_LEN);
}

static void state_write(struct pftrace *trace, const struct recorded_state *state, uint64_t track,
			const struct span *span)
{
	const struct ledger_words *words = ledger_words_of(state->state);
	char name[CALL_NAME];

	if (!words)
		return;
	event_begin(trace, TYPE_SLICE_BEGIN, track, span->start);
	event_category(trace, CATEGORY_STATE);
	event_name_state(trace, (enum ledger_state)(words - ledger_words));
	times_note(trace, span, state->start, state->goes_on ? 0 : state->end);
	note_u64(trace, NOTE_CPU, state->cpu);
	if (wait_has_kind(state->state) && state->awaited < KD_AWAITED_KINDS) {
		note_word(trace, NOTE_WAITED_FOR, awaited_words[state->awaited].key);
		if (state->call != KD_CALL_NONE)
			note_word(trace, NOTE_SYSCALL, call_name(trace, name, state->call));
	}
	waker_note(trace, state);
	if (state->holder)
		note_i64(trace, NOTE_HOLDER_TID, state->holder);
	event_end(trace);
	if (state->holder)
		holder_write(trace, state, track, span);
	slice_end(trace, track, span->end);
}

/* The wait that this state is, which begins where it does. Those before it are none that was
 * recorded: they get a track of their own. */
static const struct trace_row *wait_find(struct pftrace *trace, struct callstacks *callstacks,
					 struct cursor *waits, const struct recorded_state *state,
					 uint64_t start)
{
	const struct trace_row *row;

	for (; (row = cursor_row(waits)); waits->at++) {
		struct span span = { row->start, row->end };

		if (!pftrace_clip(trace, &span))
			continue;
		if (span.start > start)
			return NULL;
		if (span.start == start && row->state == state->state) {
			waits->at++;
			return row;
		}
		wait_write(trace, callstacks, row, track_uuid(TRACK_WAITS, row->tid), &span);
	}
	return NULL;
}

static void states_write(struct pftrace *trace, struct callstacks *callstacks,
			 const struct timeline_thread *thread)
{
	uint64_t track = track_uuid(TRACK_STATES, thread->tid);
	struct cursor waits = { .thread = thread, .kind = TRACE_WAIT };

	for (size_t i = 0; i < thread->n_states; i++) {
		const struct recorded_state *state = &thread->states[i];
		struct span span = { state->start, state->end };
		const struct trace_row *row;

		if (!pftrace_clip(trace, &span) || span.start == span.end)
			continue;
		row = wait_find(trace, callstacks, &waits, state, span.start);
		if (row)
			wait_write(trace, callstacks, row, track, &span);
		else
			state_write(trace, state, track, &span);
	}
	if (thread->n_states)
		wait_find(trace, callstacks, &waits, &thread->states[0], UINT64_MAX);
}

void recorded_write_other(struct pftrace *trace, const struct timeline_other *other)
{
	for (size_t i = 0; i < other->n_states; i++) {
		const struct recorded_state *state = &other->states[i];
		struct span span = { state->start, state->end };

		if (pftrace_clip(trace, &span) && span.start < span.end)
			state_write(trace, state, track_uuid(TRACK_OTHER, other->tid), &span);
	}
}

/* --- Calls --- */

/* Whether a row has the call; both are in the order of time. */
static bool call_has_row(struct pftrace *trace, struct cursor *rows, const struct span *span)
{
	const struct trace_row *row;

	for (; (row = cursor_row(rows)); rows->at++) {
		struct span other = { row->start, row->end };

		if (pftrace_clip(trace, &other) && other.end > span->start)
			return other.start < span->end;
	}
	return false;
}

static void calls_write(struct pftrace *trace, const struct timeline_thread *thread)
{
	uint64_t track = track_uuid(TRACK_THREAD, thread->tid);
	struct cursor rows = { .thread = thread, .kind = TRACE_CALL };
	char name[CALL_NAME];

	for (size_t i = 0; i < thread->n_calls; i++) {
		const struct recorded_call *call = &thread->calls[i];
		struct span span = { call->start, call->end };

		if (!pftrace_clip(trace, &span) || call_has_row(trace, &rows, &span))
			continue;
		event_begin(trace, TYPE_SLICE_BEGIN, track, span.start);
		event_category(trace, CATEGORY_CALL);
		event_name_word(trace, call_name(trace, name, call->number));
		times_note(trace, &span, call->start ?: span.start, call->end);
		if (!call->start)
			note_bool(trace, NOTE_EARLIER, true);
		if (call->end)
			note_i64(trace, NOTE_RESULT, call->result);
		call_mode_note(trace, call->number);
		event_end(trace);
		slice_end(trace, track, span.end);
	}
}

/* --- Interrupts, and all of a thread --- */

void irq_write(struct pftrace *trace, const struct recorded_irq *irq, uint64_t track)
{
	const struct ledger_words *words = irq->state ? ledger_words_of(irq->state) : NULL;
	struct span span = { irq->start, irq->end };
	char name[KD_IRQ_NAME_LEN + 32];

	if (!pftrace_clip(trace, &span))
		return;
	snprintf(name, sizeof(name), "%s irq: %s", irq->hard ? "hard" : "soft", irq->name);
	event_begin(trace, TYPE_SLICE_BEGIN, track, span.start);
	event_category(trace, CATEGORY_IRQ);
	event_name(trace, name, sizeof(name));
	if (words)
		note_word(trace, NOTE_HIT, words->key);
	event_end(trace);
	slice_end(trace, track, span.end);
}

/* Somewhere in that time; one may begin before the end of another. */
static void stolen_write(struct pftrace *trace, const struct timeline_thread *thread)
{
	uint64_t track = track_uuid(TRACK_STOLEN, thread->tid), last = 0;

	for (size_t i = 0; i < thread->n_stolen; i++) {
		const struct recorded_stolen *stolen = &thread->stolen[i];
		struct span span = { u64_max(stolen->start, last), stolen->end };

		if (!pftrace_clip(trace, &span))
			continue;
		last = span.end;
		event_begin(trace, TYPE_SLICE_BEGIN, track, span.start);
		event_category(trace, CATEGORY_IRQ);
		event_name_state(trace, LEDGER_STOLEN);
		times_note(trace, &span, stolen->start, stolen->end);
		note_u64(trace, NOTE_NS, stolen->ns);
		event_end(trace);
		slice_end(trace, track, span.end);
	}
}

void recorded_write(struct pftrace *trace, struct callstacks *callstacks,
		    const struct timeline_thread *thread)
{
	if (!trace->sample->recording)
		return;
	states_write(trace, callstacks, thread);
	calls_write(trace, thread);
	stolen_write(trace, thread);
	for (size_t i = 0; i < thread->n_irqs; i++)
		irq_write(trace, thread->irqs[i], track_uuid(TRACK_IRQS, thread->tid));
}

void recorded_write_hits(struct pftrace *trace, const struct timeline *timeline)
{
	const struct recording *recording = trace->sample->recording;

	for (size_t i = 0; i < recording->n_hits; i++) {
		const struct recorded_hit *hit = &recording->hits[i];
		struct span span = { hit->at, hit->at };
		bool own = timeline_thread(timeline, hit->tid);
		char name[32];

		if (hit->role >= KD_ROLES || hit->at > trace->sample->end ||
		    !pftrace_clip(trace, &span))
			continue;
		snprintf(name, sizeof(name), "%s trigger", role_keys[hit->role]);
		event_begin(trace, TYPE_INSTANT,
			    own ? track_uuid(TRACK_THREAD, hit->tid) : track_uuid(TRACK_WINDOWS, 0),
			    hit->at);
		event_category(trace, CATEGORY_HIT);
		event_name_word(trace, name);
		note_i64(trace, NOTE_TID, hit->tid);
		event_end(trace);
	}
}
