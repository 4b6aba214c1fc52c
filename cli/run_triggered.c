// SPDX-License-Identifier: Apache-2.0
/* Samples that triggers start or stop. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/overhead.h"
#include "clock.h"
#include "exit_status.h"
#include "log.h"
#include "run.h"
#include "worst.h"

#define NEVER UINT64_MAX
#define NESTED_MAX 10000 /* listed; all are counted */

struct triggered {
	struct run *run;
	bool has_start, has_stop;
	uint64_t reported;   /* samples */
	unsigned int hidden; /* threads that tracing does not show */
	uint64_t names_at;   /* threads and names are to be read again */
	uint64_t serve_at;   /* statistics are to be served again */
	uint64_t close_at;   /* the sample that a trigger has started ends; NEVER: none such */
	uint64_t open_at;    /* a sample that only a trigger stops begins; NEVER: one has begun */
	bool start_told;     /* "# Start sampling" of the next sample has been printed */
	int status;          /* an exit status, if a tick has failed */
	struct worst worst;
	struct overhead *overhead;
	uint64_t taken; /* percent: more than --max-overhead */
	pid_t taken_from;
	struct trigger_stats stats;
};

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Prints a sample with the lines before it. */
static int sample_tell(struct triggered *state, struct sample *sample)
{
	int status = 0;

	if (!state->start_told)
		status = run_mark(state->run, "Start sampling", sample->start,
				  sample->start_triggered);
	state->start_told = false;
	if (!status)
		status = run_mark(state->run, "Stop sampling", sample->end, sample->stop_triggered);
	return status ? status : run_print(state->run, sample);
}

/* Threads that the kernel tells of now only, and new names; not for each window of
 * many. */
static int names_read(struct triggered *state)
{
	uint64_t now = clock_monotonic();

	if (now < state->names_at)
		return 0;
	state->names_at = now + LOOP_TICK_NS;
	return session_visit(state->run->session, KD_AT_OPEN);
}

/* Reads a closed window, and prints or keeps it. */
static int window_take(struct triggered *state, const struct session_view *view,
		       enum loop_event event)
{
	struct run *run = state->run;
	struct sample sample = { 0 };
	int status = 0, error;

	session_settle_after(run->session, view->end + view->epoch);
	error = names_read(state);
	if (!error)
		error = run_collect(run, view, &sample);
	sample.hidden = state->hidden;
	run_sample_ended(run, &sample, event);
	if (error) {
		status = run_capture_failed(error);
	} else if (run->options->trigger_worst) {
		run->lost |= sample_lost(&sample) > 0;
		worst_offer(&state->worst, &sample);
		session_keep(run->session, worst_bar(&state->worst));
	} else {
		status = sample_tell(state, &sample);
	}
	state->reported++;
	if (!state->has_start)
		state->open_at = run_deadline_after(clock_monotonic(),
						    run->options->sample_interval);
	sample_clear(&sample);
	return status;
}

/* All windows that wait, or those that began no later than a given time (since
 * the session's epoch). */
static int windows_take(struct triggered *state, uint64_t until, enum loop_event event)
{
	struct session_view view;
	int status = 0;

	while (!status && session_window_next(state->run->session, &view) && view.start <= until)
		status = window_take(state, &view, event);
	return status;
}

static int skipped_tell(struct run *run, const struct kd_event *event, uint64_t epoch)
{
	struct timespec end = clock_wall_at(event->end - KD_LEAD_NS + epoch);
	int status = run_mark(run, "Start sampling", event->start + epoch, true);

	if (!status)
		status = run_mark(run, "Stop sampling", event->end + epoch, true);
	return status ? status : outputs_skipped(run->outputs, event->end - event->start, &end);
}

static int nested_keep(struct triggered *state, const struct kd_event *event, uint64_t epoch)
{
	struct nested_pair pair = {
		.tid = (pid_t)event->tid,
		.start = event->start - KD_LEAD_NS + epoch,
		.end = event->end - KD_LEAD_NS + epoch,
	};

	if (state->stats.n_nested == NESTED_MAX)
		return 0;
	memcpy(pair.name, event->comm, sizeof(pair.name));
	return trigger_stats_add_nested(&state->stats, &pair) ? run_capture_failed(-ENOMEM) : 0;
}

static int event_found(void *context, const struct kd_event *event)
{
	struct triggered *state = context;
	uint64_t epoch = session_view(state->run->session).epoch;

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
	}
	return state->status ? -EIO : 0;
}

static void events_take(struct triggered *state)
{
	int error = session_events(state->run->session, event_found, state);

	if (error && !state->status)
		state->status = run_capture_failed(error);
}

/* A trigger has started a sample that the clock is to stop. */
static int window_opened(struct triggered *state, const struct session_view *view)
{
	uint64_t start = view->start + view->epoch;

	state->close_at = run_deadline_after(start, state->run->options->sample_time);
	state->start_told = true;
	return run_mark(state->run, "Start sampling", start, true);
}

static bool is_finished(const struct triggered *state)
{
	struct session_view view;

	return !session_wanted(state->run->session) && !session_is_open(state->run->session) &&
	       !session_window_next(state->run->session, &view);
}

static int stats_read(struct triggered *state)
{
	int error = session_tally(state->run->session, &state->stats.tally)
			    ?: trigger_stats_distribute(&state->stats);

	if (error)
		return run_capture_failed(error);
	state->stats.skipped = session_triggers_skipped(state->run->session);
	for (int role = 0; role < KD_ROLES; role++)
		if (state->stats.tally.hits[role])
			state->stats.cost[role] = session_hit_cost(state->run->session, role);
	return 0;
}

/* There are hits between samples, too, for those who watch. */
static int stats_serve(struct triggered *state)
{
	uint64_t now = clock_monotonic();
	int status;

	if (!state->run->exporter || now < state->serve_at)
		return 0;
	state->serve_at = now + NSEC_PER_SEC;
	status = stats_read(state);
	return status ? status : exporter_add_triggers(state->run->exporter, &state->stats);
}

static int tick(void *context)
{
	struct triggered *state = context;
	struct run *run = state->run;
	struct session_view view;
	uint64_t reported = state->reported;

	events_take(state);
	/* Not those that begin meanwhile: they may never end. */
	view = session_view(run->session);
	if (!state->status)
		state->status = windows_take(state, clock_monotonic() - view.epoch, LOOP_DEADLINE);
	view = session_view(run->session);
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
	state->taken = overhead_check(state->overhead, &state->taken_from);
	return state->taken || is_finished(state) || reported != state->reported;
}

/* Begins a sample that only a trigger stops. */
static int window_begin(struct triggered *state)
{
	uint64_t start = session_window_open(state->run->session);

	state->open_at = NEVER;
	state->start_told = true;
	return run_mark(state->run, "Start sampling", start, false);
}

/* What is to be done at this time. */
static int times_come(struct triggered *state)
{
	uint64_t now = clock_monotonic();

	if (now >= state->open_at && session_wanted(state->run->session))
		return window_begin(state);
	if (now < state->close_at)
		return 0;
	state->close_at = NEVER;
	session_pause(state->run->session,
		      run_deadline_after(now, state->run->options->sample_interval));
	session_window_close(state->run->session);
	return windows_take(state, NEVER, LOOP_DEADLINE);
}

/* Ends the window that is still open. */
static int window_end(struct triggered *state, enum loop_event event)
{
	struct session_view view;
	uint64_t end;
	int status = windows_take(state, NEVER, LOOP_DEADLINE);

	if (status)
		return status;
	if (event == LOOP_EXIT && run_exit_await(state->run))
		return EX_OSERR;
	view = session_view(state->run->session);
	end = session_window_close(state->run->session);
	if (state->taken)
		session_detach_triggers(state->run->session);
	if (!end || !view.gen)
		return 0;
	/* It would not have been kept, if it had ended so. */
	if (end - view.epoch - view.start < state->stats.delta) {
		session_window_release(state->run->session, &view);
		return 0;
	}
	state->run->overloaded = state->taken;
	state->run->expired = true;
	return windows_take(state, NEVER, event);
}

static void stats_begin(struct triggered *state)
{
	const struct trigger_set *set = state->run->triggers;

	state->stats.delta = set->delta;
	state->stats.same_thread = set->same_thread;
	for (int role = 0; role < KD_ROLES; role++) {
		if (trigger_set_has(set, role))
			state->stats.names[role] = set->triggers[role].text;
		state->stats.target_only[role] = set->target_only[role];
	}
}

static int stats_tell(struct triggered *state, uint64_t lasted)
{
	int status = stats_read(state);

	if (status)
		return status;
	events_take(state);
	state->stats.lasted = lasted;
	state->run->lost |= state->stats.skipped > 0;
	trigger_stats_finish(&state->stats);
	return outputs_triggers(state->run->outputs, &state->stats) ?: state->status;
}

static int worst_tell(struct triggered *state)
{
	int status = 0;

	for (size_t i = 0; i < state->worst.n && !status; i++)
		status = sample_tell(state, &state->worst.samples[i]);
	return status;
}

/* Says why there was too little, or nothing. */
static int outcome_tell(const struct triggered *state, enum loop_event event)
{
	const struct kd_tally *tally = &state->stats.tally;

	if (state->taken) {
		unsigned long long percent = state->taken < 100 ? state->taken : 100;

		if (state->taken_from)
			log_error("the probes take about %llu %% of the time of thread %d: they "
				  "were detached",
				  percent, (int)state->taken_from);
		else
			log_error("the probes take about %llu %% of the CPU time of other "
				  "processes: they were detached",
				  percent);
		log_hint("take triggers that are hit less often, or allow more with "
			 "--max-overhead");
		return EX_TEMPFAIL;
	}
	if (state->reported || event == LOOP_SIGNAL)
		return 0;
	log_error("no sample: %llu hits of the start trigger, %llu of the stop trigger",
		  (unsigned long long)tally->hits[KD_START],
		  (unsigned long long)tally->hits[KD_STOP]);
	if (tally->hits[KD_START] || tally->hits[KD_STOP])
		log_hint(outputs_have_text(state->run->outputs)
				 ? "the statistics of the report say what became of them"
				 : "the statistics of the text report, -o text, say what became of "
				   "them");
	else
		log_hint("does the code come there? --check shows the places");
	return EX_TEMPFAIL;
}

static int triggered_begin(struct triggered *state)
{
	struct run *run = state->run;
	uint64_t count = run->options->sample_count;
	unsigned int threads = target_threads(run->target->pid);
	int error;

	stats_begin(state);
	state->overhead = overhead_new(run->session, run->options->max_overhead);
	error = worst_init(&state->worst, run->options->trigger_worst);
	if (!state->overhead || error)
		return run_capture_failed(-ENOMEM);
	collector_reset(run->collector);
	error = session_visit(run->session, KD_AT_OPEN);
	if (error)
		return run_capture_failed(error);
	state->hidden = collector_hidden(run->collector, threads);
	loop_watch(run->loop, session_events_fd(run->session));
	state->open_at = state->has_start ? NEVER : 0;
	session_arm(run->session, count ? count : UINT64_MAX / 2);
	return 0;
}

static enum loop_event triggered_loop(struct triggered *state)
{
	struct run *run = state->run;
	enum loop_event event = LOOP_DEADLINE;

	while (!state->status && !state->taken && !is_finished(state)) {
		uint64_t next = earlier(run->deadline, earlier(state->close_at, state->open_at));

		event = loop_wait(run->loop, next, tick, state);
		if (event != LOOP_DEADLINE && event != LOOP_DONE)
			break;
		if (clock_monotonic() >= run->deadline)
			break;
		state->status = times_come(state);
	}
	return event;
}

int run_triggered(struct run *run)
{
	struct triggered state = {
		.run = run,
		.has_start = trigger_set_has(run->triggers, KD_START),
		.has_stop = trigger_set_has(run->triggers, KD_STOP),
		.close_at = NEVER,
		.open_at = NEVER,
	};
	uint64_t began = clock_monotonic(), lasted = 0;
	enum loop_event event = LOOP_DEADLINE;
	int status = triggered_begin(&state);

	if (!status) {
		event = triggered_loop(&state);
		session_disarm(run->session);
		lasted = clock_monotonic() - began;
		status = state.status;
	}
	if (!status && event == LOOP_ERROR)
		status = EX_OSERR;
	if (!status)
		status = window_end(&state, event);
	if (!status)
		status = worst_tell(&state);
	if (!status)
		status = stats_tell(&state, lasted);
	if (!status)
		status = outputs_finish(run->outputs);
	if (!status)
		status = outcome_tell(&state, event);
	worst_clear(&state.worst);
	overhead_free(state.overhead);
	trigger_stats_clear(&state.stats);
	return status;
}
