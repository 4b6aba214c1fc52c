/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline.h"

#include <stdio.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/parse.h"
#include "cli/base/syscall_set.h"
#include "cli/model/traces.h"
#include "cli/model/words.h"
#include "perfetto_fields.h"

/* --- Annotations of calls and waits --- */

/* Name of a system call, see KD_CALL_NONE. Returns name. */
#define CALL_NAME 48

static const char *call_name(const struct pftrace *trace, char text[static CALL_NAME], int32_t call)
{
	const char *name = call >= 0 && !trace->sample->foreign_calls ? syscall_name((uint32_t)call)
								      : NULL;

	if (name)
		snprintf(text, CALL_NAME, "%s", name);
	else if (call >= 0)
		snprintf(text, CALL_NAME, "system call %u", syscall_plain((uint32_t)call));
	else
		snprintf(text, CALL_NAME, "system call");
	return text;
}

/* Notes the mode of a call, unless native. */
static void call_mode_note(struct pftrace *trace, int32_t call)
{
	if (call >= 0)
		note_word(trace, NOTE_MODE, syscall_mode_name(syscall_mode((uint32_t)call)));
}

/* Notes the actual start and duration, if the slice is clipped. end 0: open. */
static void times_note(struct pftrace *trace, const struct slice *slice, uint64_t start,
		       uint64_t end)
{
	if (slice->start != start || !end)
		note_u64(trace, NOTE_START, start);
	if (end && (slice->start != start || slice->end != end))
		note_u64(trace, NOTE_DURATION, end - start);
	if (!end)
		note_bool(trace, NOTE_UNFINISHED, true);
}

/* --- Calls and waits of traces --- */

static void blocker_note(struct pftrace *trace, const struct blocker *blocker)
{
	if (blocker->lock) {
		note_address(trace, NOTE_LOCK, blocker->lock);
		note_word(trace, NOTE_LOCK_KIND, lock_keys[blocker->kind]);
	}
	if (blocker->holder) {
		note_i64(trace, NOTE_HOLDER_TID, blocker->holder);
		if (blocker->holder_pid)
			note_i64(trace, NOTE_HOLDER_PID, blocker->holder_pid);
		note_text(trace, NOTE_HOLDER_NAME, blocker->holder_name, KD_COMM_LEN);
	}
	note_text(trace, NOTE_DISK, blocker->disk, KD_DISK_NAME);
	if (blocker->request)
		note_u64(trace, NOTE_REQUEST, blocker->request);
}

/* Annotations shared by calls and waits. */
static void row_note(struct pftrace *trace, const struct trace_row *row, uint64_t callstack)
{
	note_u64(trace, NOTE_CPU, row->cpu);
	if (row->earlier)
		note_bool(trace, NOTE_EARLIER, true);
	note_text(trace, NOTE_AT, row->at, SIZE_MAX);
	note_text(trace, NOTE_PATH, row->path, SIZE_MAX);
	if (row->path_cut)
		note_bool(trace, NOTE_PATH_CUT, true);
	blocker_note(trace, &row->blocker);
	if (row->user)
		note_text(trace, NOTE_STACK_STOP, row->user->stop, SIZE_MAX);
	note_text(trace, NOTE_NO_USER_STACK, row->no_user, SIZE_MAX);
	note_text(trace, NOTE_NO_KERNEL_STACK, row->no_kernel, SIZE_MAX);
	if (callstack)
		proto_u64(&trace->proto, EVENT_CALLSTACK_IID, callstack);
}

static void call_write(struct pftrace *trace, const struct trace_row *row)
{
	uint64_t track = track_uuid(TRACK_THREAD, row->tid);
	uint64_t callstack = callstacks_number(trace, row);
	struct slice slice = { row->start, row->end };
	char name[CALL_NAME];

	if (!pftrace_clip(trace, &slice))
		return;
	slice_begin(trace, CATEGORY_CALL, track, slice.start);
	event_name_word(trace, call_name(trace, name, row->call));
	times_note(trace, &slice, row->start, row->end);
	if (row->end)
		note_i64(trace, NOTE_RESULT, row->result);
	if (row->waited)
		note_u64(trace, NOTE_WAITED, row->waited);
	call_mode_note(trace, row->call);
	row_note(trace, row, callstack);
	event_end(trace);
	slice_end(trace, track, slice.end);
}

/* Writes a lock and its holder, if any, as a slice inside the wait's, equally long. */
static void lock_write(struct pftrace *trace, const char *lock, pid_t holder,
		       const char *holder_name, uint64_t track, const struct slice *slice)
{
	char name[KD_COMM_LEN + 64];

	snprintf(name, sizeof(name), "%s", lock);
	if (holder)
		snprintf(name, sizeof(name), "%s held by %.*s[%d]", lock, KD_COMM_LEN, holder_name,
			 (int)holder);
	slice_begin(trace, CATEGORY_LOCK, track, slice->start);
	event_name(trace, name, sizeof(name));
	event_end(trace);
	slice_end(trace, track, slice->end);
}

static void wait_write(struct pftrace *trace, const struct trace_row *row, uint64_t track,
		       const struct slice *slice)
{
	uint64_t callstack = callstacks_number(trace, row);
	const struct ledger_words *words = ledger_words_of(row->state);
	const struct waker *waker = &row->wakers[0];
	char name[CALL_NAME];

	if (!words)
		return;
	slice_begin(trace, CATEGORY_STATE, track, slice->start);
	event_name_state(trace, (enum ledger_state)(words - ledger_words));
	times_note(trace, slice, row->start, row->end);
	if (wait_has_kind(row->state))
		note_word(trace, NOTE_WAITED_FOR, awaited_keys[row->awaited]);
	if (row->call != KD_CALL_NONE)
		note_word(trace, NOTE_SYSCALL, call_name(trace, name, row->call));
	call_mode_note(trace, row->call);
	if (waker->from != KD_FROM_UNKNOWN)
		note_word(trace, NOTE_CONTEXT, from_keys[waker->from]);
	if (waker->tid) {
		note_i64(trace, NOTE_ENDED_BY_TID, waker->tid);
		note_text(trace, NOTE_ENDED_BY, waker->name, KD_COMM_LEN);
	}
	row_note(trace, row, callstack);
	event_end(trace);
	if (row->blocker.lock)
		lock_write(trace, lock_keys[row->blocker.kind], row->blocker.holder,
			   row->blocker.holder_name, track, slice);
	slice_end(trace, track, slice->end);
}

/* --- Recorded data of a thread --- */

/* Where all states were recorded, waits in rows get no slices; they annotate the states instead. */

/* Iterates over a thread's rows of one kind, in order of time. */
struct cursor {
	const struct timeline_thread *thread;
	enum trace_kind kind;
	size_t at;
};

/* Next unused row; NULL: none. */
static const struct trace_row *cursor_row(struct cursor *cursor)
{
	const struct timeline_thread *thread = cursor->thread;

	while (cursor->at < thread->n_rows && thread->rows[cursor->at]->kind != cursor->kind)
		cursor->at++;
	return cursor->at < thread->n_rows ? thread->rows[cursor->at] : NULL;
}

/* --- Recorded states --- */

static void waker_note(struct pftrace *trace, const struct span *state)
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

static void state_write(struct pftrace *trace, const struct span *state, uint64_t track,
			const struct slice *slice)
{
	const struct ledger_words *words = ledger_words_of(state->state);
	const struct recorded_thread *holder = recording_thread(trace->sample->recording,
								state->holder);
	char name[CALL_NAME];

	if (!words)
		return;
	slice_begin(trace, CATEGORY_STATE, track, slice->start);
	event_name_state(trace, (enum ledger_state)(words - ledger_words));
	times_note(trace, slice, state->start, state->goes_on ? 0 : state->end);
	note_u64(trace, NOTE_CPU, state->cpu);
	if (wait_has_kind(state->state) && state->awaited < KD_AWAITED_KINDS) {
		note_word(trace, NOTE_WAITED_FOR, awaited_keys[state->awaited]);
		if (state->call != KD_CALL_NONE)
			note_word(trace, NOTE_SYSCALL, call_name(trace, name, state->call));
	}
	waker_note(trace, state);
	if (state->holder)
		note_i64(trace, NOTE_HOLDER_TID, state->holder);
	event_end(trace);
	if (state->holder)
		lock_write(trace, "lock", state->holder, holder ? holder->name : "", track, slice);
	slice_end(trace, track, slice->end);
}

/* Finds the row of a recorded wait, which begins with the state. Earlier rows were not recorded:
 * they get their own track. */
static const struct trace_row *wait_find(struct pftrace *trace, struct cursor *waits,
					 const struct span *state, uint64_t start)
{
	const struct trace_row *row;

	for (; (row = cursor_row(waits)); waits->at++) {
		struct slice slice = { row->start, row->end };

		if (!pftrace_clip(trace, &slice))
			continue;
		if (slice.start > start)
			return NULL;
		if (slice.start == start && row->state == state->state) {
			waits->at++;
			return row;
		}
		wait_write(trace, row, track_uuid(TRACK_WAITS, row->tid), &slice);
	}
	return NULL;
}

static void states_write(struct pftrace *trace, const struct timeline_thread *thread)
{
	uint64_t track = track_uuid(TRACK_STATES, thread->tid);
	struct cursor waits = { .thread = thread, .kind = TRACE_WAIT };

	for (size_t i = 0; i < thread->n_states; i++) {
		const struct span *state = &thread->states[i];
		struct slice slice = { state->start, state->end };
		const struct trace_row *row;

		if (!pftrace_clip(trace, &slice) || slice.start == slice.end)
			continue;
		row = wait_find(trace, &waits, state, slice.start);
		if (row)
			wait_write(trace, row, track, &slice);
		else
			state_write(trace, state, track, &slice);
	}
	if (thread->n_states)
		wait_find(trace, &waits, &thread->states[0], UINT64_MAX);
}

/* Writes the states of a thread with a single track. */
static void recorded_write_other(struct pftrace *trace, const struct timeline_other *other)
{
	for (size_t i = 0; i < other->n_states; i++) {
		const struct span *state = &other->states[i];
		struct slice slice = { state->start, state->end };

		if (pftrace_clip(trace, &slice) && slice.start < slice.end)
			state_write(trace, state, track_uuid(TRACK_OTHER, other->tid), &slice);
	}
}

/* --- Recorded calls --- */

/* True if a row has the call; both are in order of time. */
static bool call_has_row(struct pftrace *trace, struct cursor *rows, const struct slice *slice)
{
	const struct trace_row *row;

	for (; (row = cursor_row(rows)); rows->at++) {
		struct slice other = { row->start, row->end };

		if (pftrace_clip(trace, &other) && other.end > slice->start)
			return other.start < slice->end;
	}
	return false;
}

/* Writes a call without a row. */
static void call_slice_write(struct pftrace *trace, pid_t tid, const struct span *call,
			     const struct slice *slice, bool has_result)
{
	uint64_t track = track_uuid(TRACK_THREAD, tid);
	char name[CALL_NAME];

	slice_begin(trace, CATEGORY_CALL, track, slice->start);
	event_name_word(trace, call_name(trace, name, call->call));
	times_note(trace, slice, call->early ? slice->start : call->start,
		   call->goes_on ? 0 : call->end);
	if (call->early)
		note_bool(trace, NOTE_EARLIER, true);
	if (has_result)
		note_i64(trace, NOTE_RESULT, call->value);
	call_mode_note(trace, call->call);
	event_end(trace);
	slice_end(trace, track, slice->end);
}

static void calls_write(struct pftrace *trace, const struct timeline_thread *thread)
{
	struct cursor rows = { .thread = thread, .kind = TRACE_CALL };

	for (size_t i = 0; i < thread->n_calls; i++) {
		const struct span *call = &thread->calls[i];
		struct slice slice = { call->early ? 0 : call->start,
				       call->goes_on ? 0 : call->end };

		if (pftrace_clip(trace, &slice) && !call_has_row(trace, &rows, &slice))
			call_slice_write(trace, thread->tid, call, &slice, !call->goes_on);
	}
}

/* --- Recorded interrupts, and all recorded data --- */

void irq_write(struct pftrace *trace, const struct span *irq, uint64_t track)
{
	const struct ledger_words *words = irq->state ? ledger_words_of(irq->state) : NULL;
	struct slice slice = { irq->start, irq->end };
	char name[KD_IRQ_NAME_LEN + 32];

	if (!pftrace_clip(trace, &slice))
		return;
	snprintf(name, sizeof(name), "%s irq: %s", irq->hard ? "hard" : "soft", irq->name);
	slice_begin(trace, CATEGORY_IRQ, track, slice.start);
	event_name(trace, name, sizeof(name));
	if (words)
		note_word(trace, NOTE_HIT, words->key);
	event_end(trace);
	slice_end(trace, track, slice.end);
}

/* Somewhere in that time; periods may overlap. */
static void stolen_write(struct pftrace *trace, const struct timeline_thread *thread)
{
	uint64_t track = track_uuid(TRACK_STOLEN, thread->tid), last = 0;

	for (size_t i = 0; i < thread->n_stolen; i++) {
		const struct span *stolen = &thread->stolen[i];
		struct slice slice = { u64_max(stolen->start, last), stolen->end };

		if (!pftrace_clip(trace, &slice))
			continue;
		last = slice.end;
		slice_begin(trace, CATEGORY_IRQ, track, slice.start);
		event_name_state(trace, LEDGER_STOLEN);
		times_note(trace, &slice, stolen->start, stolen->end);
		note_u64(trace, NOTE_NS, (uint64_t)stolen->value);
		event_end(trace);
		slice_end(trace, track, slice.end);
	}
}

/* Writes its states, calls without a row, and interrupts; nothing without a recording. */
static void recorded_write(struct pftrace *trace, const struct timeline_thread *thread)
{
	if (!trace->sample->recording)
		return;
	states_write(trace, thread);
	calls_write(trace, thread);
	stolen_write(trace, thread);
	for (size_t i = 0; i < thread->n_irqs; i++)
		irq_write(trace, thread->irqs[i], track_uuid(TRACK_IRQS, thread->tid));
}

void recorded_write_hits(struct pftrace *trace, const struct timeline *timeline)
{
	const struct spans *hits = &trace->sample->recording->spans[SPAN_HITS];

	for (size_t i = 0; i < hits->n; i++) {
		const struct span *hit = &hits->all[i];
		struct slice slice = { hit->start, hit->start };
		char name[32];

		if (hit->role >= KD_ROLES || hit->start > trace->sample->end ||
		    !pftrace_clip(trace, &slice))
			continue;
		snprintf(name, sizeof(name), "%s trigger", role_keys[hit->role]);
		instant_begin(trace, CATEGORY_HIT, hit_track(timeline, hit->tid), hit->start);
		event_name_word(trace, name);
		note_i64(trace, NOTE_TID, hit->tid);
		event_end(trace);
	}
}

/* --- All trace rows --- */

/* Uses Perfetto's own format, so that it can draw flame graphs of any range. */
static void sample_write(struct pftrace *trace, const struct timeline_thread *thread,
			 const struct trace_row *row)
{
	uint64_t callstack = callstacks_number(trace, row);
	struct slice slice = { row->start, row->end };
	struct proto *proto = &trace->proto;

	if (!pftrace_clip(trace, &slice))
		return;
	pftrace_packet_begin(trace);
	proto_u64(proto, PACKET_TIMESTAMP, slice.start);
	proto_begin(proto, PACKET_PERF_SAMPLE);
	proto_u64(proto, PERF_CPU, row->cpu);
	proto_u64(proto, PERF_PID, (uint32_t)thread->pid);
	proto_u64(proto, PERF_TID, (uint32_t)row->tid);
	if (callstack)
		proto_u64(proto, PERF_CALLSTACK_IID, callstack);
	proto_u64(proto, PERF_CPU_MODE, row->state == KD_KERNEL ? CPU_MODE_KERNEL : CPU_MODE_USER);
	proto_end(proto);
	pftrace_packet_end(trace);
}

static void rows_write(struct pftrace *trace, const struct timeline_thread *thread)
{
	uint64_t states = track_uuid(TRACK_STATES, thread->tid);

	for (size_t i = 0; i < thread->n_rows; i++) {
		const struct trace_row *row = thread->rows[i];
		struct slice slice = { row->start, row->end };

		switch (row->kind) {
		case TRACE_CALL:
			call_write(trace, row);
			break;
		case TRACE_WAIT: /* otherwise recorded_write() merges it with a state */
			if (!thread->n_states && pftrace_clip(trace, &slice))
				wait_write(trace, row, states, &slice);
			break;
		case TRACE_SAMPLE:
			sample_write(trace, thread, row);
			break;
		case TRACE_KINDS:
			break;
		}
	}
}

/* --- Data that every sample has of a thread --- */

/* True if the call has a slice already: a thread is in one call at a time. */
static bool is_listed(const struct pftrace *trace, const struct timeline_thread *thread,
		      const struct slice *slice)
{
	for (size_t i = 0; i < thread->n_rows; i++) {
		struct slice other = { thread->rows[i]->start, thread->rows[i]->end };

		if (thread->rows[i]->kind == TRACE_CALL && pftrace_clip(trace, &other) &&
		    other.start < slice->end && slice->start < other.end)
			return true;
	}
	return false;
}

/* Writes a call that crosses the window's edges, which every sample has. */
static void open_call_write(struct pftrace *trace, const struct timeline_thread *thread,
			    const struct open_item *item)
{
	const struct span call = { .start = item->since ?: trace->sample->start,
				   .end = item->until,
				   .call = item->number,
				   .early = !item->since,
				   .goes_on = !item->until };
	struct slice slice = { call.start, call.end };

	if (item->kind == OPEN_CALL && item->count == 1 && pftrace_clip(trace, &slice) &&
	    !is_listed(trace, thread, &slice))
		call_slice_write(trace, thread->tid, &call, &slice, false);
}

/* Notes what had the CPU while the thread was ready: "backup[812] 584 ms, soft irq 32.0 ms". */
static void culprits_note(struct pftrace *trace, const struct thread_row *row)
{
	char text[CULPRITS_SHOWN * (CULPRIT_LABEL_LEN + NUMBER_LEN + 4)] = "";
	size_t shown = culprits_shown(row->culprits, row->n_culprits), used = 0;

	for (size_t i = 0; i < shown && used < sizeof(text); i++) {
		char label[CULPRIT_LABEL_LEN];

		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %s",
					 used ? ", " : "", culprit_label(&row->culprits[i], label),
					 AS_TIME(culprit_ns(&row->culprits[i])));
	}
	note_text(trace, NOTE_READY_BY, text, sizeof(text));
}

/* Writes the ledger of the window, and a single state if the thread had no event. */
static void ledger_write(struct pftrace *trace, const struct timeline_thread *thread)
{
	const struct sample *sample = trace->sample;
	const struct ledger *ledger = &thread->row->ledger;
	uint64_t track = track_uuid(TRACK_LEDGER, thread->tid);
	enum ledger_state most = LEDGER_USER, silent;

	if (!thread->n_states && thread_is_silent(thread->row, &silent) &&
	    ledger->life == sample->end - sample->start) {
		slice_begin(trace, CATEGORY_STATE, track_uuid(TRACK_STATES, thread->tid),
			    sample->start);
		event_name_state(trace, silent);
		event_end(trace);
		slice_end(trace, track_uuid(TRACK_STATES, thread->tid), sample->end);
	}
	for (unsigned int i = 0; i < LEDGER_STATES; i++)
		if (ledger->ns[i] > ledger->ns[most])
			most = (enum ledger_state)i;
	slice_begin(trace, CATEGORY_LEDGER, track, sample->start);
	event_name_state(trace, most);
	note_u64(trace, NOTE_LIFE, ledger->life);
	for (unsigned int i = 0; i < LEDGER_STATES; i++)
		if (ledger->ns[i])
			note_u64(trace, note_of_state((enum ledger_state)i), ledger->ns[i]);
	culprits_note(trace, thread->row);
	event_end(trace);
	slice_end(trace, track, sample->end);
}

/* Writes a count at the window's start; 0 after its end, unless another window follows. */
static void counter_write(struct pftrace *trace, const struct timeline_thread *thread, size_t i)
{
	const struct counter_row *row = &thread->row->counters[i];
	uint64_t track = track_uuid_counter(thread->tid, i);
	char name[COUNTER_NAME + 16];

	snprintf(name, sizeof(name), "%.*s", COUNTER_NAME, row->name);
	if (row->cpu >= 0)
		snprintf(name, sizeof(name), "%.*s CPU %d", COUNTER_NAME, row->name, (int)row->cpu);
	tracks_write_counter(trace, thread->tid, i, name);
	counter_point(trace, track, trace->sample->start, row->value);
	counter_point(trace, track, trace->sample->end, 0);
}

/* The time of stealing is unknown, so it may overlap with others. Recorded stealing is left to
 * recorded_write(). */
static void interruption_write(struct pftrace *trace, const struct interruption *row)
{
	uint64_t track = track_uuid(
		row->cause == INTERRUPTION_STOLEN ? TRACK_STOLEN : TRACK_INTERRUPTIONS, row->tid);
	struct slice slice = { row->since, row->until };
	char name[INTERRUPTION_WHO_LEN + 32];

	if (row->cause >= INTERRUPTION_CAUSES || !pftrace_clip(trace, &slice) ||
	    (row->cause == INTERRUPTION_STOLEN && trace->sample->recording))
		return;
	snprintf(name, sizeof(name), "%s%s%.*s", interruption_titles[row->cause],
		 *row->who ? ": " : "", INTERRUPTION_WHO_LEN, row->who);
	slice_begin(trace, CATEGORY_INTERRUPTION, track, slice.start);
	event_name(trace, name, sizeof(name));
	note_word(trace, NOTE_CAUSE, interruption_keys[row->cause]);
	note_text(trace, NOTE_BY, row->who, INTERRUPTION_WHO_LEN);
	if (row->who_tid)
		note_i64(trace, NOTE_BY_TID, row->who_tid);
	note_u64(trace, NOTE_CPU, row->cpu);
	note_u64(trace, NOTE_NS, row->ns);
	for (unsigned int i = 0; i < INTERRUPTION_CAUSES; i++)
		if (row->by[i])
			note_u64(trace, note_of_cause((enum interruption_cause)i), row->by[i]);
	event_end(trace);
	slice_end(trace, track, slice.end);
}

void slices_write(struct pftrace *trace, const struct timeline_thread *thread)
{
	const struct thread_row *row = thread->row;

	for (size_t i = 0; row && i < row->n_open; i++)
		open_call_write(trace, thread, &row->open[i]);
	rows_write(trace, thread);
	recorded_write(trace, thread);
	for (size_t i = 0; i < thread->n_interruptions; i++)
		interruption_write(trace, thread->interruptions[i]);
	if (row)
		ledger_write(trace, thread);
	for (size_t i = 0; row && i < row->n_counters; i++)
		counter_write(trace, thread, i);
}

/* --- Wakeups --- */

static void wakeup_instant(struct pftrace *trace, const struct wakeup *wakeup, uint64_t track,
			   const char *what, const char *name, pid_t tid, uint64_t flow, bool ends)
{
	char text[KD_COMM_LEN + 32];

	snprintf(text, sizeof(text), "%s %.*s[%d]", what, KD_COMM_LEN, name, (int)tid);
	instant_begin(trace, CATEGORY_WAKEUP, track, wakeup->at);
	event_name(trace, text, sizeof(text));
	if (!ends && wakeup->context < KD_FROM_CONTEXTS)
		note_word(trace, NOTE_CONTEXT, from_keys[wakeup->context]);
	proto_fixed64(&trace->proto, ends ? EVENT_TERMINATING_FLOW_IDS : EVENT_FLOW_IDS, flow);
	event_end(trace);
}

/* Both ends have the same time: the arrow starts at the one written first. */
void wakeups_write(struct pftrace *trace, const struct timeline *timeline)
{
	for (size_t i = 0; i < timeline->n_others; i++) {
		tracks_write_other(trace, timeline->others[i].tid, timeline->others[i].name);
		recorded_write_other(trace, &timeline->others[i]);
	}
	for (size_t i = 0; i < timeline->n_wakeups; i++) {
		const struct wakeup *wakeup = &timeline->wakeups[i];
		uint64_t flow = (uint64_t)trace->sequence << 32 | (uint32_t)(i + 1);
		bool from_own = timeline_thread(timeline, wakeup->from);
		bool to_own = timeline_thread(timeline, wakeup->to);

		wakeup_instant(trace, wakeup,
			       track_uuid(from_own ? TRACK_THREAD : TRACK_OTHER, wakeup->from),
			       "wakes", wakeup->to_name, wakeup->to, flow, false);
		wakeup_instant(trace, wakeup,
			       track_uuid(to_own ? TRACK_STATES : TRACK_OTHER, wakeup->to),
			       "woken by", wakeup->from_name, wakeup->from, flow, true);
	}
}
