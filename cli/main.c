// SPDX-License-Identifier: Apache-2.0
/* The order of things: options, target, checks, session, samples, report. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "capture/collect.h"
#include "capture/loop.h"
#include "capture/session.h"
#include "clock.h"
#include "exit_status.h"
#include "log.h"
#include "options.h"
#include "placement.h"
#include "preflight.h"
#include "report/text.h"
#include "sample.h"
#include "target.h"

#define EXIT_PATIENCE_NS (100 * NSEC_PER_MSEC)

/* What a run needs, in the order of its making. */
struct run {
	const struct options *options;
	struct target target;
	struct session *session;
	struct collector *collector;
	struct loop *loop;
	bool lost; /* something, in any sample */
};

static int output_failed(void)
{
	log_error("cannot write the report: %s", strerror(errno));
	log_hint("is the disk full, or has the reader of a pipe gone away?");
	return EX_IOERR;
}

static int capture_failed(int error)
{
	log_error("cannot read what was recorded: %s", strerror(-error));
	return EX_OSERR;
}

static int drain(void *context)
{
	struct run *run = context;
	int error = collector_drain(run->collector);

	if (error)
		capture_failed(error);
	return error;
}

static uint64_t deadline_after(uint64_t start, uint64_t duration)
{
	return duration > UINT64_MAX - start ? UINT64_MAX : start + duration;
}

/* Prints a line such as "# Start sampling" for an edge of the window, with the
 * wall clock's time of that edge. */
static int mark(const char *what, uint64_t edge)
{
	struct timespec when = clock_wall_at(edge);

	if (report_text_mark(stdout, what, &when))
		return output_failed();
	return 0;
}

static int sample_print(struct run *run, struct sample *sample)
{
	clock_gettime(CLOCK_REALTIME, &sample->wall_dump);
	run->lost |= sample_lost(sample) > 0;
	if (report_text(sample, stdout))
		return output_failed();
	return 0;
}

/* The end of a process is told before its last threads have left their CPUs. */
static int exit_await(struct run *run)
{
	uint64_t deadline = clock_monotonic() + EXIT_PATIENCE_NS;
	int error = drain(run);

	while (!error && !collector_is_empty(run->collector) && clock_monotonic() < deadline) {
		session_settle(run->session);
		error = drain(run);
	}
	return error;
}

/* Takes one sample and prints it. *event says how its window ended. */
static int sample_take(struct run *run, enum loop_event *event)
{
	unsigned int threads = target_threads(run->target.pid), hidden;
	struct sample sample = { 0 };
	uint64_t start, end;
	int status, error;

	collector_reset(run->collector);
	error = session_visit(run->session, KD_AT_OPEN);
	if (error)
		return capture_failed(error);
	hidden = collector_hidden(run->collector, threads);
	start = session_window_open(run->session);
	status = mark("Start sampling", start);
	if (status)
		return status;
	*event = loop_wait(run->loop, deadline_after(start, run->options->sample_time), drain, run);
	if (*event == LOOP_EXIT && exit_await(run))
		*event = LOOP_ERROR;
	end = session_window_close(run->session);
	status = mark("Stop sampling", end);
	if (status)
		return status;
	session_settle(run->session);
	error = session_visit(run->session, KD_AT_CLOSE);
	if (!error)
		error = collector_finish(run->collector, &sample);
	if (error) {
		status = capture_failed(error);
	} else {
		sample.hidden = hidden;
		sample.foreign_calls = run->target.foreign_calls;
		sample.interrupted = *event == LOOP_SIGNAL;
		sample.target_exited = *event == LOOP_EXIT;
		status = sample_print(run, &sample);
	}
	sample_clear(&sample);
	return status;
}

static int samples_take(struct run *run)
{
	const struct options *options = run->options;
	enum loop_event event = LOOP_DEADLINE;
	int status = 0;

	for (uint64_t n = 0; !status && event == LOOP_DEADLINE; n++) {
		if (options->sample_count && n == options->sample_count)
			break;
		if (n && options->sample_interval)
			event = loop_wait(
				run->loop,
				deadline_after(clock_monotonic(), options->sample_interval), drain,
				run);
		if (event == LOOP_DEADLINE)
			status = sample_take(run, &event);
	}
	if (!status && event == LOOP_ERROR)
		status = EX_OSERR;
	if (!status && run->lost && options->strict)
		status = EX_LOSSES;
	return status;
}

static int run_samples(struct run *run)
{
	struct session_config config = {
		.tgid = run->target.pid,
		.threads = run->target.threads,
		.banks = run->options->sample_count == 1 ? 1 : 2,
		.btf_file = run->options->btf_file,
	};
	int status;

	status = session_open(&run->session, &config);
	if (status)
		return status;
	run->collector = collector_new(run->session, run->target.pid);
	if (!run->collector) {
		log_error("no memory");
		return EX_OSERR;
	}
	status = loop_open(&run->loop, run->target.pid);
	if (!status)
		status = samples_take(run);
	return status;
}

int main(int argc, char **argv)
{
	struct options options;
	struct run run = { .options = &options };
	int status;

	signal(SIGPIPE, SIG_IGN); /* a closed pipe is a write error like others */
	status = options_parse(argc, argv, &options);
	if (status)
		return status;
	log_set_debug(options.debug);
	status = target_find(&run.target, options.pid, options.comm);
	if (!status)
		status = preflight_check();
	if (status)
		return status;
	placement_choose(run.target.pid);
	status = run_samples(&run);
	loop_close(run.loop);
	collector_free(run.collector);
	session_close(run.session);
	return status;
}
