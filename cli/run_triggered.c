// SPDX-License-Identifier: Apache-2.0
/* Takes samples that triggers start or stop. */
#define _GNU_SOURCE
#include "run_triggered.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/base/proc_file.h"
#include "cli/base/wall_clock.h"
#include "cli/capture/overhead.h"
#include "cli/capture/parts/triggers.h"
#include "cli/capture/session.h"
#include "cli/capture/session/rings.h"
#include "cli/capture/session/windows.h"
#include "cli/model/losses.h"
#include "cli/model/trigger_stats.h"
#include "cli/model/verdict.h"
#include "run_newcomers.h"
#include "run_sampling.h"

#define NEVER UINT64_MAX
#define NESTED_MAX 10000 /* in the list; all are counted */

struct triggered {
	struct run_state *run;
	bool has_start, has_stop;
	uint64_t reported;      /* samples */
	unsigned int hidden;    /* threads that tracing does not show */
	uint64_t names_at;      /* when to read threads and names again */
	uint64_t serve_at;      /* when to serve statistics again */
	uint64_t close_at;      /* end of the sample that a trigger started; NEVER: none */
	uint64_t open_at;       /* start of one that only a trigger stops; NEVER: it has begun */
	uint64_t requested_end; /* when the sample for SIGUSR1 ends; NEVER: no such sample */
	bool wanted;            /* for a sample that is not possible yet */
	bool start_printed;     /* "# Start sampling" of the next sample has been printed */
	int status;             /* an exit status, if a tick failed */
	uint64_t events_to;     /* later events are for the next tick */
	struct worst worst;
	struct overhead *overhead;
	uint64_t began;
	uint64_t taken; /* percent: above --max-overhead */
	pid_t taken_from;
	struct trigger_stats stats;
	struct newcomers newcomers;
};

/* Prints a sample and the lines before it. */
static exit_status sample_tell(struct triggered *state, struct sample *sample)
{
	struct verdict verdict = { 0 };
	int status = verdict_find(&verdict, sample) ? log_no_memory() : 0;

	if (!status && !state->start_printed)
		status = run_mark(state->run, "Start sampling", sample->start,
				  sample->start_triggered);
	state->start_printed = false;
	status = status ?: run_mark(state->run, "Stop sampling", sample->end,
				    sample->stop_triggered)
			?: run_print(state->run, sample);
	verdict_clear(&verdict);
	return status;
}

/* Reads new threads and names; not for each of many windows. */
static int names_read(struct triggered *state)
{
	uint64_t now = clock_monotonic();

	if (now < state->names_at)
		return 0;
	state->names_at = now + LOOP_TICK_NS;
	return session_visit(state->run->session, KD_VISIT_OPEN);
}

/* Reads a closed window; prints or keeps it. */
static exit_status window_take(struct triggered *state, const struct session_view *view,
			       enum loop_event event)
{
	struct run_state *run = state->run;
	struct sample sample = { 0 };
	int status = 0, error;

	session_settle_after(run->session, view->end + view->epoch);
	error = names_read(state);
	if (!error)
		error = run_collect(run, view, &sample);
	sample.hidden = state->hidden;
	run_sample_ended(run, &sample, event);
	sample.target_exited |= view->closed_by == KD_BY_EXIT;
	sample.pressed = view->closed_by == KD_BY_SIGNAL;
	if (error) {
		status = run_capture_failed(error);
	} else if (run->options->trigger_worst && !sample.pressed) {
		run->lost |= sample_lost(&sample) > 0;
		worst_offer(&state->worst, &sample);
	} else {
		/* A signal meanwhile may detach all, see attached_drop(). */
		triggers_dropped(session_triggers(run->session));
		status = sample_tell(state, &sample);
	}
	state->reported++;
	if (!state->has_start)
		state->open_at = u64_add(clock_monotonic(), run->options->sample_interval);
	sample_clear(&sample);
	return status;
}

/* Takes all waiting windows, or those that began no later than a given time (since the session's
 * epoch). */
static exit_status windows_take(struct triggered *state, uint64_t until, enum loop_event event)
{
	struct session_view view;
	int status = 0;

	while (!status && !run_is_cut(state->run) &&
	       session_window_take(state->run->session, until, &view))
		status = window_take(state, &view, event);
	return status;
}

static exit_status skipped_tell(struct run_state *run, const struct kd_event *event, uint64_t epoch)
{
	struct timespec end = clock_wall_at(event->end - KD_LEAD_NS + epoch);

	return run_mark(run, "Start sampling", event->start + epoch, true)
		       ?: run_mark(run, "Stop sampling", event->end + epoch, true)
		       ?: outputs_skipped(run->outputs, event->end - event->start, &end);
}

static int nested_keep(struct triggered *state, const struct kd_event *event, uint64_t epoch)
{
	struct nested_pair pair = {
		.tid = (pid_t)event->tid,
		.start = event->start - KD_LEAD_NS + epoch,
		.end = event->end - KD_LEAD_NS + epoch,
	};

	memcpy(pair.name, event->comm, sizeof(pair.name));
	if (state->stats.n_nested == NESTED_MAX ||
	    ARRAY_APPEND(state->stats.nested, state->stats.n_nested, &pair))
		return 0;
	return run_capture_failed(-ENOMEM);
}

static void exec_found(struct triggered *state, const struct kd_event *event, uint64_t epoch)
{
	const struct trigger_set *set = state->run->triggers;

	if (set->everywhere) {
		newcomers_add(&state->newcomers, (pid_t)event->tid, event->end + epoch);
		return;
	}
	for (int role = 0; role < KD_ROLES; role++)
		if (trigger_set_in_files(set, role)) {
			log_warn("the process runs a new program (execve): trigger '%s' will only "
				 "be hit if that maps the same file",
				 set->triggers[role].trigger.text);
			return;
		}
}

static int event_found(void *context, void *data, size_t size)
{
	struct triggered *state = context;
	const struct kd_event *event = data;
	uint64_t epoch = session_window_now(state->run->session).epoch;

	(void)size;
	switch (event->type) {
	case KD_EVENT_CLOSED:
		state->status = windows_take(state, event->start, LOOP_DEADLINE);
		break;
	case KD_EVENT_SKIPPED:
		state->status = skipped_tell(state->run, event, epoch);
		break;
	case KD_EVENT_NESTED:
		state->status = nested_keep(state, event, epoch);
		break;
	case KD_EVENT_EXEC:
		exec_found(state, event, epoch);
		break;
	}
	if (state->status)
		return -EIO;
	return event->end > state->events_to ? -ECANCELED : 0;
}

/* Leaves later events alone: this code may hit triggers too, and would never end. */
static void events_take(struct triggered *state)
{
	struct session_view view = session_window_now(state->run->session);
	int error;

	state->events_to = clock_monotonic() - view.epoch + KD_LEAD_NS;
	error = session_ring_read(state->run->session, RING_EVENTS, event_found, state);
	if (error && error != -ECANCELED && !state->status)
		state->status = run_capture_failed(error);
}

/* Notes a sample started by a trigger, which the clock is to stop. */
static exit_status window_opened(struct triggered *state, const struct session_view *view)
{
	uint64_t start = view->start + view->epoch;

	state->close_at = u64_add(start, state->run->options->sample_time);
	state->start_printed = true;
	return run_mark(state->run, "Start sampling", start, true);
}

static bool is_finished(const struct triggered *state)
{
	struct session_view view;

	return !windows_wanted(session_windows(state->run->session)) &&
	       !windows_are_busy(session_windows(state->run->session)) &&
	       !session_window_next(state->run->session, &view);
}

static exit_status stats_read(struct triggered *state, uint64_t lasted)
{
	int error = triggers_tally(session_triggers(state->run->session), &state->stats.tally)
			    ?: trigger_stats_distribute(&state->stats);

	if (error)
		return run_capture_failed(error);
	state->stats.skipped = triggers_skipped(session_triggers(state->run->session));
	state->stats.dropped = triggers_dropped(session_triggers(state->run->session));
	state->stats.lasted = lasted;
	overhead_tell(state->overhead, &state->stats);
	for (int role = 0; role < KD_ROLES; role++)
		if (tally_looked_at(&state->stats.tally, role))
			state->stats.cost[role] =
				triggers_hit_cost(session_triggers(state->run->session), role);
	return 0;
}

/* Serves statistics between samples, as they have hits too. */
static exit_status stats_serve(struct triggered *state)
{
	uint64_t now = clock_monotonic();
	int status;

	if (!outputs_are_served(state->run->outputs) || now < state->serve_at)
		return 0;
	state->serve_at = now + NSEC_PER_SEC;
	status = stats_read(state, now - state->began);
	state->stats.to = state->stats.from ? clock_monotonic() : 0;
	return status ? status : outputs_triggers_now(state->run->outputs, &state->stats);
}

/* Keeps the probes' cost below the limit. Returns true if the awaited state may have changed. */
static bool overhead_check(struct triggered *state)
{
	bool was_on = overhead_is_on(state->overhead);

	if (state->run->options->overhead_stops) {
		if (overhead_look(state->overhead, false) && overhead_is_overdrawn(state->overhead))
			state->taken = overhead_worst(state->overhead, &state->taken_from) ?: 1;
		return state->taken;
	}
	/* A window continues if only one edge is hit. */
	state->status = overhead_tick(state->overhead, state->has_start && state->has_stop);
	return state->status || was_on != overhead_is_on(state->overhead);
}

static int triggered_tick(void *context)
{
	struct triggered *state = context;
	struct run_state *run = state->run;
	struct session_view view;
	uint64_t reported = state->reported;

	events_take(state);
	if (!state->status && run->triggers->everywhere)
		state->status = newcomers_look(&state->newcomers, run);
	/* Leaves windows that begin meanwhile: they might never end. */
	view = session_window_now(run->session);
	if (!state->status)
		state->status = windows_take(state, clock_monotonic() - view.epoch, LOOP_DEADLINE);
	view = session_window_now(run->session);
	if (!state->status && !state->has_stop && state->close_at == NEVER && view.gen) {
		state->status = window_opened(state, &view);
		return state->status ? -EIO : 1;
	}
	if (!state->status)
		state->status = stats_serve(state);
	if (!state->status && run_drain(run))
		state->status = EX_OSERR;
	if (state->status)
		return -EIO;
	if (overhead_check(state))
		return state->status ? -EIO : 1;
	return is_finished(state) || reported != state->reported;
}

/* Begins a sample that only a trigger stops. */
static exit_status window_begin(struct triggered *state)
{
	uint64_t start = session_window_open(state->run->session, 0);

	command_release(state->run->command);
	state->open_at = NEVER;
	state->start_printed = true;
	return run_mark(state->run, "Start sampling", start, false);
}

/* Answers SIGUSR1 with the open window, or one that begins now. It comes in addition to those of
 * triggers. A sample already asked for answers this request too. */
static void sample_ask(struct triggered *state)
{
	struct session *session = state->run->session;
	struct session_view view;

	if (state->requested_end != NEVER)
		return;
	state->wanted = !session_window_hold(session, &view);
	if (state->wanted)
		return;
	state->requested_end = run_pressed_end(view.start + view.epoch);
	state->close_at = NEVER;
	if (view.opened_by >= 0 && !state->has_stop)
		windows_want_another(session_windows(session));
}

static exit_status sample_answer(struct triggered *state)
{
	state->requested_end = NEVER;
	session_window_let_go(state->run->session);
	return windows_take(state, NEVER, LOOP_DEADLINE);
}

/* Does what is due at this time. */
static exit_status times_come(struct triggered *state)
{
	uint64_t now = clock_monotonic();

	if (now >= state->requested_end)
		return sample_answer(state);
	if (now >= state->open_at && state->requested_end == NEVER &&
	    overhead_is_on(state->overhead) && windows_wanted(session_windows(state->run->session)))
		return window_begin(state);
	if (now < state->close_at)
		return 0;
	state->close_at = NEVER;
	windows_pause(session_windows(state->run->session),
		      u64_add(now, state->run->options->sample_interval));
	session_window_close(state->run->session);
	return windows_take(state, NEVER, LOOP_DEADLINE);
}

/* Returns the minimum length of a window that this thread ends. */
static uint64_t delta_of(const struct triggered *state, pid_t tid)
{
	const struct deltas *deltas = &state->run->triggers->deltas;
	char name[KD_COMM_LEN] = "";

	if (deltas->n)
		proc_comm_read(tid, name, sizeof(name));
	return deltas_of(deltas, name);
}

/* Ends the open windows. Keeps those that a trigger could have ended now. */
static exit_status windows_end(struct triggered *state, enum loop_event event)
{
	struct session *session = state->run->session;
	int status = state->requested_end == NEVER ? windows_take(state, NEVER, LOOP_DEADLINE)
						   : sample_answer(state);
	uint64_t wanted = state->has_stop ? windows_wanted(session_windows(session)) : UINT64_MAX;
	struct session_view view;
	uint64_t end;

	if (status)
		return status;
	if (event == LOOP_EXIT && run_exit_await(state->run))
		return EX_OSERR;
	if (run_is_cut(state->run)) {
		if (!is_finished(state))
			run_cut_tell(state->run);
		return 0;
	}
	while (!status) {
		view = session_window_now(session);
		end = session_window_close(session);
		if (state->taken)
			triggers_detach(session_triggers(session));
		if (!end || !view.gen)
			break;
		state->run->overloaded = state->taken;
		state->run->expired = true;
		if (!wanted || end - view.epoch - view.start < delta_of(state, view.opened_by)) {
			windows_release(session_windows(session), view.bank);
			continue;
		}
		wanted--;
		status = windows_take(state, NEVER, event);
	}
	/* Also takes windows that triggers ended meanwhile. */
	return status ? status : windows_take(state, NEVER, LOOP_DEADLINE);
}

static void stats_begin(struct triggered *state)
{
	const struct trigger_set *set = state->run->triggers;

	state->stats.delta = deltas_least(&set->deltas);
	state->stats.same_thread = set->same_thread;
	for (int role = 0; role < KD_ROLES; role++) {
		state->stats.names[role] = set->triggers[role].trigger.text;
		state->stats.target_only[role] = state->stats.names[role] && set->target_only[role];
	}
}

static exit_status stats_tell(struct triggered *state, uint64_t lasted)
{
	int status;

	if (!run_is_cut(state->run)) /* it would attach them again */
		triggers_remeasure(session_triggers(state->run->session));
	status = stats_read(state, lasted);
	if (status)
		return status;
	events_take(state);
	state->run->lost |= state->stats.skipped || state->stats.dropped;
	trigger_stats_finish(&state->stats);
	return outputs_triggers(state->run->outputs, &state->stats) ?: state->status;
}

static exit_status worst_tell(struct triggered *state)
{
	int status = 0;

	for (size_t i = 0; i < state->worst.n && !status; i++)
		status = sample_tell(state, &state->worst.samples[i]);
	return status;
}

/* Says why there was too little, or nothing. */
static exit_status outcome_tell(const struct triggered *state, enum loop_event event)
{
	const struct kd_tally *tally = &state->stats.tally;

	if (state->taken) {
		char whose[32] = "other processes";

		if (state->taken_from)
			snprintf(whose, sizeof(whose), "thread %d", (int)state->taken_from);
		log_error("the probes take about %llu %% of the CPU time of %s: they were detached",
			  (unsigned long long)u64_min(state->taken, 100), whose);
		log_hint("use triggers that are hit less often, raise --max-overhead, or leave out "
			 "its ',stop' to have the probes in place part of the time");
		return EX_TEMPFAIL;
	}
	/* Without a sample, no condition was looked at. */
	if (state->reported || (event == LOOP_SIGNAL && !state->run->options->n_fail_if))
		return 0;
	log_error("no sample: %llu hits of the start trigger, %llu of the stop trigger%s",
		  (unsigned long long)tally->hits[KD_START],
		  (unsigned long long)tally->hits[KD_STOP],
		  event == LOOP_EXIT ? "; the target has ended" : "");
	if (tally_looked_at(tally, KD_START) || tally_looked_at(tally, KD_STOP))
		log_hint(outputs_have_text(state->run->outputs)
				 ? "the statistics of the report say what became of them"
				 : "the statistics of the text report, -o text, say what became of "
				   "them");
	else
		log_hint("is that code ever run? --check shows where the probes are");
	return EX_TEMPFAIL;
}

/* Prints that hits count from now on. */
static void armed_tell(const struct triggered *state)
{
	const char *const *names = state->stats.names;
	const char *start = names[KD_START], *stop = names[KD_STOP];
	bool both = start && stop && strcmp(start, stop) != 0;
	char text[TIMESTAMP_LEN];
	struct timespec now;

	now = clock_wall_at(state->stats.from);
	timestamp_format(text, &now);
	log_note("armed @%s: waiting for %s%s%s", text, start ? start : stop, both ? ", then " : "",
		 both ? stop : "");
}

static int triggered_begin(struct triggered *state)
{
	struct run_state *run = state->run;
	uint64_t count = run->options->sample_count;
	unsigned int threads = run_threads(run);
	int error, status;

	stats_begin(state);
	state->overhead = overhead_new(run->session, run->options->max_overhead);
	error = worst_init(&state->worst, run->options->trigger_worst);
	if (!state->overhead || error)
		return run_capture_failed(-ENOMEM);
	collector_reset(run->collector);
	error = session_visit(run->session, KD_VISIT_OPEN);
	status = error ? run_capture_failed(error) : run_visible_check(run);
	if (status)
		return status;
	state->hidden = collector_hidden(run->collector, threads);
	loop_watch(run->loop, session_ring_fd(run->session, RING_EVENTS));
	state->open_at = state->has_start ? NEVER : 0;
	state->stats.from = clock_monotonic();
	windows_arm(session_windows(run->session), count ? count : UINT64_MAX / 2);
	if (run->triggers->everywhere)
		newcomers_begin(&state->newcomers, run);
	if (state->has_start)
		command_release(run->command);
	armed_tell(state);
	return 0;
}

/* Returns when the next action is due. */
static uint64_t next_time(const struct triggered *state)
{
	uint64_t opens = state->requested_end == NEVER && overhead_is_on(state->overhead)
				 ? state->open_at
				 : NEVER;
	uint64_t ends = u64_min(state->close_at, state->requested_end);

	return state->wanted ? 0 : u64_min(state->run->deadline, u64_min(ends, opens));
}

static enum loop_event triggered_loop(struct triggered *state)
{
	struct run_state *run = state->run;
	enum loop_event event = LOOP_DEADLINE;

	while (!state->status && !state->taken && !is_finished(state)) {
		event = loop_wait(run->loop, next_time(state), triggered_tick, state);
		if (event == LOOP_PRESSED || state->wanted)
			sample_ask(state);
		if (event != LOOP_DEADLINE && event != LOOP_DONE && event != LOOP_PRESSED)
			break;
		if (clock_monotonic() >= run->deadline)
			break;
		state->status = times_come(state);
	}
	return event;
}

exit_status run_triggered(struct run_state *run)
{
	struct triggered *state = calloc(1, sizeof(*state)); /* the stack may be small */
	enum loop_event event = LOOP_DEADLINE;
	uint64_t lasted = 0;
	int status;

	if (!state)
		return log_no_memory();
	state->run = run;
	state->has_start = trigger_set_has(run->triggers, KD_START);
	state->has_stop = trigger_set_has(run->triggers, KD_STOP);
	state->close_at = state->open_at = state->requested_end = NEVER;
	state->began = clock_monotonic();
	status = triggered_begin(state);
	if (!status) {
		event = triggered_loop(state);
		windows_disarm(session_windows(run->session));
		state->stats.to = clock_monotonic();
		lasted = clock_monotonic() - state->began;
		overhead_look(state->overhead, true);
		status = state->status;
	}
	if (!status && event == LOOP_ERROR)
		status = EX_OSERR;
	status = status ?: windows_end(state, event) ?: worst_tell(state)
			?: stats_tell(state, lasted) ?: outputs_finish(run->outputs)
			?: outcome_tell(state, event);
	if (!status && state->reported)
		outputs_tell(run->outputs);
	newcomers_tell(&state->newcomers);
	newcomers_clear(&state->newcomers);
	worst_clear(&state->worst);
	overhead_free(state->overhead);
	trigger_stats_clear(&state->stats);
	free(state);
	return status;
}
