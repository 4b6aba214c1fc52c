// SPDX-License-Identifier: Apache-2.0
/* Samples of a given time, one after the other. */
#include "run_sampling.h"

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/base/exit_status.h"

struct timed {
	struct run *run;
	uint64_t start;      /* of the window that is open; 0: none is */
	unsigned int hidden; /* threads that tracing does not show */
};

/* Threads get slots, and the kernel's counts are read. */
static int timed_visit(struct timed *timed, enum kd_visit visit)
{
	struct run *run = timed->run;
	unsigned int threads = run_threads(run);
	int error = session_visit(run->session, visit);

	timed->hidden = collector_hidden(run->collector, threads);
	return error;
}

/* Opens a window that does not begin where another one has ended. */
static exit_status timed_begin(struct timed *timed)
{
	int error;

	collector_reset(timed->run->collector);
	error = timed_visit(timed, KD_VISIT_OPEN);
	if (error)
		return run_capture_failed(error);
	timed->start = session_window_open(timed->run->session);
	command_release(timed->run->command);
	return 0;
}

/* Reads the window that has just been closed and prints it. */
static exit_status timed_finish(struct timed *timed, enum loop_event event)
{
	struct run *run = timed->run;
	struct session_view view;
	struct sample sample = { 0 };
	unsigned int hidden = timed->hidden;
	int status, error;

	session_settle(run->session);
	error = session_visit(run->session, KD_VISIT_CLOSE);
	if (!error && session_window_next(run->session, &view))
		error = run_collect(run, &view, &sample);
	if (!error && timed->start)
		error = timed_visit(timed, KD_VISIT_NEXT);
	sample.hidden = hidden;
	run_sample_ended(run, &sample, event);
	status = error ? run_capture_failed(error) : run_print(run, &sample);
	sample_clear(&sample);
	return status;
}

/* Takes one sample and prints it; *event says how its window ended. If the next one is
 * to follow, its window opens at this one's end, and is open meanwhile. */
static exit_status timed_take(struct timed *timed, bool next_follows, enum loop_event *event)
{
	struct run *run = timed->run;
	uint64_t end;
	int status = timed->start ? 0 : timed_begin(timed);

	if (!status)
		status = run_mark(run, "Start sampling", timed->start, false);
	if (status)
		return status;
	end = u64_add(timed->start, run->options->sample_time);
	progress_sample(&run->progress, end);
	run->expired = run->deadline < end;
	*event = loop_wait(run->loop, u64_min(end, run->deadline), run_drain, run);
	if (*event == LOOP_EXIT && run_exit_await(run))
		*event = LOOP_ERROR;
	if (next_follows && *event == LOOP_DEADLINE && clock_monotonic() < run->deadline) {
		end = session_window_turn(run->session);
		timed->start = end;
	} else {
		end = session_window_close(run->session);
		timed->start = 0;
	}
	status = run_mark(run, "Stop sampling", end, false);
	return status ? status : timed_finish(timed, *event);
}

exit_status run_timed(struct run *run)
{
	const struct options *options = run->options;
	struct timed timed = { .run = run };
	enum loop_event event = LOOP_DEADLINE;
	bool is_first = true;
	int status = 0;

	for (; !status && event == LOOP_DEADLINE; run->begun++, is_first = false) {
		bool is_last = options->sample_count && run->begun + 1 >= options->sample_count;
		uint64_t now = clock_monotonic();

		if ((options->sample_count && run->begun == options->sample_count) ||
		    (now >= run->deadline && !timed.start))
			break;
		if (!is_first && options->sample_interval)
			event = loop_wait(
				run->loop,
				u64_min(u64_add(now, options->sample_interval), run->deadline),
				run_drain, run);
		if (event == LOOP_DEADLINE && (timed.start || clock_monotonic() < run->deadline))
			status = timed_take(&timed, !is_last && !options->sample_interval, &event);
	}
	if (!status && event == LOOP_ERROR)
		status = EX_OSERR;
	run->ended = event;
	return status;
}
