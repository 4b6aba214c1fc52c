// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "run_timed.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/base/parse.h"
#include "cli/base/wall_clock.h"
#include "cli/capture/parts/resources.h"
#include "cli/capture/recording_take.h"
#include "cli/capture/session.h"
#include "cli/capture/session/windows.h"
#include "cli/model/verdict.h"
#include "cli/process/pids.h"
#include "cli/process/target.h"
#include "run_sampling.h"

/* --- The target has ended, and another process takes its place --- */

/* Longest time for which old and new process may overlap. */
#define OVERLAP_NS (2 * NSEC_PER_SEC)
/* A forking daemon's first process, which is not the one meant, ends within this time. */
#define SETTLE_NS (50 * NSEC_PER_MSEC)

struct search {
	struct run_state *run;
	struct appear appear;
	uint64_t not_before; /* earliest start, as in struct identity */
	struct identity found;
	uint64_t settled_at; /* CLOCK_MONOTONIC ns; 0: none found */
};

/* True if other is a different process with the same program and name. */
static bool identity_is_successor(const struct identity *identity, const struct identity *other)
{
	return (other->pid != identity->pid || other->started != identity->started) &&
	       other->started >= identity->started && !strcmp(other->name, identity->name) &&
	       !strcmp(other->file, identity->file);
}

/* Takes the first candidate. */
static void candidates_look(struct search *search)
{
	struct target_name name = target_name_of(search->run->options);
	struct process_walk walk = { 0 };
	struct identity candidate;

	while (target_next(&walk)) {
		if (strcmp(walk.stat.comm, search->run->identity.name) != 0 ||
		    !identity_read(&candidate, walk.pid) ||
		    !identity_is_successor(&search->run->identity, &candidate) ||
		    candidate.started < search->not_before ||
		    (search->settled_at && candidate.started >= search->found.started) ||
		    (name.comm && !target_name_fits(&name, walk.pid, walk.stat.comm)))
			continue;
		search->found = candidate;
		search->settled_at = clock_monotonic() + SETTLE_NS;
	}
}

static int successor_look(void *context)
{
	struct search *search = context;
	bool appeared;

	if (outputs_refresh(search->run->outputs))
		return -ENOMEM;
	/* In any case: unread events would wake the loop at once. */
	appeared = appear_look(&search->appear);
	if (!search->settled_at && appeared)
		candidates_look(search);
	if (!search->settled_at || clock_monotonic() < search->settled_at)
		return 0;
	if (identity_is_alive(&search->found))
		return 1;
	search->settled_at = 0;
	candidates_look(search);
	return 0;
}

exit_status run_successor_await(struct run_state *run, bool *found)
{
	struct search search = { .run = run };
	uint64_t now = identity_clock();
	enum loop_event event;

	search.not_before = now > OVERLAP_NS ? now - OVERLAP_NS : 0;
	log_note("process %d has ended: waiting for another %s", (int)run->target->pid,
		 run->identity.name);
	loop_forget_process(run->loop);
	appear_open(&search.appear, run->identity.name);
	loop_watch(run->loop, search.appear.fd);
	while ((event = loop_wait(run->loop, run->deadline, successor_look, &search)) ==
	       LOOP_PRESSED)
		log_warn("SIGUSR1: nothing is recorded while there is no process");
	appear_close(&search.appear);
	*found = event == LOOP_DONE;
	if (!*found)
		return event == LOOP_ERROR ? EX_OSERR : 0;
	run->restarts++;
	if (!run->predecessor)
		run->predecessor = run->target->pid;
	run->identity = search.found;
	run->successor = (struct target){
		.pid = search.found.pid,
		.threads = target_threads(search.found.pid),
		.is_vswitchd = run->target->is_vswitchd,
	};
	run->target = &run->successor;
	return 0;
}

/* --- --at --- */

#define APPROACH_NS (10 * NSEC_PER_SEC)
#define LOOK_NS (100 * NSEC_PER_MSEC)
/* Clocks are not read at the same instant: a window opens this much later, so never too early. */
#define MARGIN_NS (10 * NSEC_PER_USEC)
#define LATE_NS NSEC_PER_MSEC
/* How long before its moment a window is announced, and threads are visited: longer than either
 * takes. */
#define RUN_AT_LEAD_NS 2000000ULL
#define RUN_AT_VISIT_NS 50000000ULL

static uint64_t wall_now(void)
{
	const struct timespec wall = clock_wall_at(clock_monotonic());

	return clock_ns(&wall);
}

/* Sleeps until that wall clock time, which may be set meanwhile, or until a signal. */
static void run_at_sleep(const struct run_state *run, uint64_t until)
{
	for (uint64_t now = wall_now(); now < until && !signals_ask(run->signals);
	     now = wall_now()) {
		const struct timespec part = clock_timespec(u64_min(until - now, NSEC_PER_SEC));
		struct pollfd signals = { signals_fd(run->signals), POLLIN, 0 };

		ppoll(&signals, 1, &part, NULL);
	}
}

exit_status run_at_approach(const struct run_state *run)
{
	uint64_t now = wall_now(), next = schedule_next(&run->options->at, now);
	const struct timespec when = clock_timespec(next);
	struct identity target;
	char text[TIMESTAMP_LEN];
	bool is_one;

	if (next < now + APPROACH_NS)
		return 0;
	timestamp_format(text, &when);
	log_note("waiting for %s", text);
	is_one = processes_is_one(run->processes) && identity_read(&target, run->target->pid);
	run_at_sleep(run, next - APPROACH_NS);
	/* Its PID may be reused by now. */
	if (signals_ask(run->signals) || !is_one || identity_is_alive(&target))
		return 0;
	log_error("process %d has ended before %s", (int)target.pid, text);
	log_hint("--comm NAME --wait waits for another one");
	return EX_UNAVAILABLE;
}

/* Converts the moment to CLOCK_MONOTONIC, as the clocks are now. */
static void run_at_aim(struct run_at *at)
{
	uint64_t now = clock_monotonic();
	const struct timespec wall = clock_wall_at(now);

	/* The wall clock may have been set ahead by more than the uptime. */
	at->monotonic = u64_sub(now + MARGIN_NS + at->wall, clock_ns(&wall));
}

uint64_t run_at_first(const struct schedule *schedule)
{
	struct run_at at = { .wall = schedule->ns ? schedule_next(schedule, wall_now()) : 0 };

	if (at.wall)
		run_at_aim(&at);
	return u64_max(clock_monotonic(), at.monotonic);
}

/* True if the conversion still holds: the clock was not set. */
static bool run_at_holds(const struct run_at *at)
{
	struct run_at now = *at;

	run_at_aim(&now);
	return now.monotonic - at->monotonic + RUN_AT_LEAD_NS / 2 < RUN_AT_LEAD_NS;
}

/* Sets run->at to the next moment. Returns 0, or an exit status after printing that it is over. */
static exit_status run_at_choose(struct run_state *run)
{
	const struct schedule *schedule = &run->options->at;
	const struct timespec when = clock_timespec(schedule->ns);
	char text[TIMESTAMP_LEN];

	run->at.wall = schedule_next(schedule, wall_now());
	if (run->at.wall) {
		run_at_aim(&run->at);
		return 0;
	}
	timestamp_format(text, &when);
	log_error("option --at: %s was over when the programs were attached", text);
	log_hint("give a later time, or start earlier: attaching takes up to a few seconds");
	return EX_TEMPFAIL;
}

/* True if the moment is no longer right: the clock was set, or this program is late. */
static bool is_missed(const struct run_state *run)
{
	const struct schedule *schedule = &run->options->at;
	uint64_t wall = wall_now();

	return schedule->periodic && (wall >= run->at.wall || run->at.wall - wall > schedule->ns);
}

/* Waits until this many ns before run->at, or for an event. If the clock is set meanwhile, a
 * period gets another moment. Does not wait for a past moment. */
static enum loop_event run_at_await(struct run_state *run, uint64_t before)
{
	enum loop_event event = LOOP_DEADLINE;

	while (event == LOOP_DEADLINE) {
		uint64_t now = clock_monotonic();
		uint64_t until = u64_min(u64_sub(run->at.monotonic, before), run->deadline);

		if (now >= until)
			break;
		event = loop_wait(run->loop, u64_min(until, now + LOOK_NS), run_drain, run);
		if (is_missed(run))
			run->at.wall = schedule_next(&run->options->at, wall_now());
		run_at_aim(&run->at);
	}
	return event;
}

/* Warns if the window for run->at opened much later. */
static void run_at_tell(const struct run_state *run, uint64_t start)
{
	const struct timespec when = clock_timespec(run->at.wall);
	uint64_t late = u64_sub(start, run->at.monotonic);
	char text[TIMESTAMP_LEN];

	if (late < LATE_NS)
		return;
	timestamp_format(text, &when);
	log_warn("the sample begins %s after %s: this program was held up", AS_TIME(late), text);
}

/* --- Samples of a given length in sequence --- */

#define ANSWERED_NS (2 * NSEC_PER_SEC) /* longer than writing the recorded data takes */

struct timed {
	struct run_state *run;
	uint64_t start; /* of the open window; 0: none */
	struct timespec wall_start;
	unsigned int hidden; /* threads that tracing does not show */
	bool pressed;        /* SIGUSR1 asked for the sample */
	bool extra;          /* and began it without an open window: not counted by
			      * --sample-count */
};

/* Gives threads slots, and reads the kernel's counts. */
static int timed_visit(struct timed *timed, enum kd_visit visit)
{
	struct run_state *run = timed->run;
	unsigned int threads = run_threads(run);
	int error = session_visit(run->session, visit);

	timed->hidden = collector_hidden(run->collector, threads);
	return error;
}

static void timed_started(struct timed *timed, uint64_t start)
{
	timed->start = start;
	if (!start)
		return;
	timed->wall_start = clock_wall_at(start); /* now, as the clock may be set later */
	if (timed->run->at.wall)
		run_at_tell(timed->run, start);
}

/* Opens a window that does not continue another one. */
static exit_status timed_begin(struct timed *timed)
{
	struct run_state *run = timed->run;
	int error, status;

	collector_reset(run->collector);
	error = timed_visit(timed, KD_VISIT_OPEN);
	if (!error && timed->run->options->resources)
		error = memory_begin(&timed->run->memory, timed->run->session);
	if (error)
		return run_capture_failed(error);
	status = run->begun ? 0 : run_visible_check(run);
	if (status)
		return status;
	/* This sample answers SIGUSR1 from now on. Other events come again. */
	while (run->at.wall && run_at_await(run, RUN_AT_LEAD_NS) == LOOP_PRESSED)
		;
	timed_started(timed, session_window_open(run->session, run->at.monotonic));
	command_release(run->command); /* at once: until then it is this program that delays it */
	psi_watch_begin(&run->psi, "", run->target->pid);
	session_look(run->session);
	return 0;
}

/* Edges are printed as they come, or with the sample if only its end tells that it is reported. */
static exit_status timed_mark(struct run_state *run, const char *what, uint64_t edge, bool ended)
{
	return run->selection->each != ended ? run_mark(run, what, edge, false) : 0;
}

static exit_status timed_print(struct run_state *run, struct sample *sample)
{
	return timed_mark(run, "Start sampling", sample->start, true)
		       ?: timed_mark(run, "Stop sampling", sample->end, true)
		       ?: run_print(run, sample);
}

/* Reads the window just closed, and prints it. */
static exit_status timed_finish(struct timed *timed, const struct timespec *wall_start,
				enum loop_event event)
{
	struct run_state *run = timed->run;
	struct session_view view;
	struct sample sample = { 0 };
	struct pressures pressures;
	struct verdict verdict = { 0 };
	unsigned int hidden = timed->hidden;
	int status = 0, error;
	bool wanted = timed->pressed;

	psi_watch_take(&run->psi, "", &pressures);
	session_settle(run->session);
	error = session_visit(run->session, KD_VISIT_CLOSE);
	if (!error && session_window_next(run->session, &view))
		error = run_collect(run, &view, &sample);
	if (!error)
		error = verdict_find(&verdict, &sample);
	if (!error)
		status = selection_look(run->selection, &sample, timed->start, &wanted);
	if (!error && wanted && !run->selection->each)
		error = run_record(run, &view, &sample);
	if (!error && timed->start)
		error = timed_visit(timed, KD_VISIT_NEXT);
	sample.hidden = hidden;
	sample.pressures = pressures;
	sample.pressed = timed->pressed;
	sample.wall_start = *wall_start;
	run_sample_ended(run, &sample, event);
	if (error)
		status = run_capture_failed(error);
	else if (!status && wanted)
		status = timed_print(run, &sample);
	if (!status && live_show(run->live, &sample, &verdict))
		status = log_no_memory();
	verdict_clear(&verdict);
	sample_clear(&sample);
	return status;
}

/* With a period in --at: true if the next moment is where the current sample should end. Then
 * sets run->at to it. */
static bool timed_is_periodic(struct run_state *run)
{
	uint64_t end = u64_add(run->at.wall, run->options->sample_time);

	if (!run->options->at.periodic || schedule_next(&run->options->at, end) != end)
		return false;
	run->at.wall = end;
	run_at_aim(&run->at);
	return true;
}

/* Waits for the end of the window; SIGUSR1 may move the end forward. */
static enum loop_event timed_wait(struct timed *timed, uint64_t *end)
{
	struct run_state *run = timed->run;
	enum loop_event event;

	timed->pressed = timed->extra;
	do {
		if (timed->pressed)
			*end = u64_min(*end, run_pressed_end(timed->start));
		run->expired = run->deadline < *end;
		event = loop_wait(run->loop, u64_min(*end, run->deadline), run_drain, run);
		timed->pressed |= event == LOOP_PRESSED;
	} while (event == LOOP_PRESSED);
	return event;
}

/* Takes and prints a sample; *event says how its window ended. If another one follows, its
 * window opens at the end of this one. */
static exit_status timed_take(struct timed *timed, bool next_follows, enum loop_event *event)
{
	struct run_state *run = timed->run;
	struct timespec wall_start;
	uint64_t end, until;
	int status = timed->start ? 0 : timed_begin(timed);

	if (!status)
		status = timed_mark(run, "Start sampling", timed->start, false);
	if (status)
		return status;
	wall_start = timed->wall_start;
	run->at.wall = run->options->at.periodic ? run->at.wall : 0;
	run->at.monotonic = 0;
	until = end = u64_add(timed->start, run->options->sample_time);
	if (next_follows && run->options->at.periodic) {
		next_follows = timed_is_periodic(run);
		until = next_follows ? run->at.monotonic - RUN_AT_LEAD_NS : end;
	}
	progress_sample(&run->progress, end);
	*event = timed_wait(timed, &until);
	if (timed->pressed && run->at.wall) /* the next one still begins at its moment */
		next_follows = false;
	if (*event == LOOP_EXIT && run_exit_await(run))
		*event = LOOP_ERROR;
	if (next_follows && *event == LOOP_DEADLINE && clock_monotonic() < run->deadline &&
	    (!run->at.wall || run_at_holds(&run->at))) {
		end = session_window_turn(run->session, run->at.monotonic);
		session_look(run->session);
		timed_started(timed, end);
	} else {
		end = session_window_close(run->session);
		timed->start = 0;
	}
	if (!run_is_cut(run))
		status = timed_mark(run, "Stop sampling", end, false);
	if (status || !run_is_cut(run))
		return status ? status : timed_finish(timed, &wall_start, *event);
	run_cut_tell(run);
	return 0;
}

/* Waits for the moment of --at. Its sample answers a SIGUSR1 shortly before. */
static enum loop_event timed_await_moment(struct run_state *run)
{
	enum loop_event event;

	do
		event = run_at_await(run, RUN_AT_VISIT_NS);
	while (event == LOOP_PRESSED && run->at.monotonic < clock_monotonic() + ANSWERED_NS);
	return event;
}

/* Returns how long to record before the first window, ns: what --record promises of its past, as
 * far as --duration leaves time for it. Other kinds of runs cannot wait, or need no such past. */
static uint64_t past_missing(const struct run_state *run)
{
	const struct options *options = run->options;
	uint64_t left = u64_sub(run->deadline, clock_monotonic());

	if (!run->selection->each || run->live || run->command || options->at.ns)
		return 0;
	return u64_min(options->record, u64_sub(left, options->sample_time));
}

static int past_look(void *context)
{
	struct run_state *run = context;

	return run_drain(run) ?: recording_is_full(run->session);
}

/* Waits until that much is recorded, or as much as there is memory for. What ends the run ends the
 * first sample at once, which has what is recorded by then. */
static enum loop_event past_await(struct run_state *run)
{
	uint64_t missing = past_missing(run);
	enum loop_event event;

	if (!missing)
		return LOOP_DEADLINE;
	log_note("the sample begins in %s, when that is recorded", AS_TIME(missing));
	event = loop_wait(run->loop, u64_add(clock_monotonic(), missing), past_look, run);
	return event == LOOP_PRESSED || event == LOOP_ERROR ? event : LOOP_DEADLINE;
}

#define REST_LEAST_NS (100 * NSEC_PER_MSEC) /* much longer than finding the threads again takes */

/* Waits between two samples. The target then costs no more than other processes, if only samples
 * need its events. */
static exit_status pause_await(struct run_state *run, uint64_t pause, enum loop_event *event)
{
	bool rests = pause >= REST_LEAST_NS && !run->options->at.ns &&
		     session_can_rest(run->session);

	if (rests)
		collector_rest(run->collector);
	*event = loop_wait(run->loop, u64_min(u64_add(clock_monotonic(), pause), run->deadline),
			   run_drain, run);
	return rests && (*event == LOOP_DEADLINE || *event == LOOP_PRESSED)
		       ? session_wake(run->session)
		       : 0;
}

/* Waits until the next window is to begin, the first one after its past, others after the pause
 * of --sample-interval, or until SIGUSR1 asks for one. */
static exit_status timed_await(struct timed *timed, bool is_first, enum loop_event *event)
{
	uint64_t pause = timed->run->options->sample_interval;
	struct run_state *run = timed->run;
	int status = 0;

	timed->extra = false;
	if (timed->start)
		return 0;
	run->at = (struct run_at){ 0 };
	if (is_first)
		*event = past_await(run);
	else if (pause)
		status = pause_await(run, pause, event);
	if (!status && *event == LOOP_DEADLINE && clock_monotonic() < run->deadline &&
	    (run->options->at.periodic || (run->options->at.ns && !run->begun)))
		status = run_at_choose(run);
	if (!status && run->at.wall)
		*event = timed_await_moment(run);
	if (*event == LOOP_PRESSED) {
		timed->extra = true;
		run->at = (struct run_at){ 0 };
		*event = LOOP_DEADLINE;
	}
	return status;
}

/* The run ended before the first sample began. */
static exit_status timed_too_late(void)
{
	log_error("the time of --duration was over before a sample could begin");
	log_hint("give a longer one: on a busy machine this program may have to wait");
	return EX_TEMPFAIL;
}

exit_status run_timed(struct run_state *run)
{
	const struct options *options = run->options;
	struct timed timed = { .run = run };
	enum loop_event event = LOOP_DEADLINE;
	bool is_first = true;
	int status = 0;

	for (; !status && event == LOOP_DEADLINE; is_first = false) {
		bool is_last = options->sample_count && run->selection->each &&
			       run->begun + 1 >= options->sample_count;
		uint64_t now = clock_monotonic();

		if ((options->sample_count && run_samples(run) == options->sample_count) ||
		    (now >= run->deadline && !timed.start))
			break;
		status = timed_await(&timed, is_first, &event);
		if (status || event != LOOP_DEADLINE ||
		    (!timed.start && clock_monotonic() >= run->deadline))
			break;
		status = timed_take(&timed, !is_last && !timed.extra && !options->sample_interval,
				    &event);
		run->begun += !timed.extra;
		if (run_is_cut(run) && event == LOOP_DEADLINE) {
			event = LOOP_SIGNAL;
			if (timed.start)
				run_cut_tell(run);
		}
	}
	if (!status && event == LOOP_ERROR)
		status = EX_OSERR;
	if (!status && event == LOOP_DEADLINE && is_first && !run->begun)
		status = timed_too_late();
	run->ended = event;
	return status;
}
