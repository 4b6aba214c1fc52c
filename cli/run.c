// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "clock.h"
#include "exit_status.h"
#include "log.h"
#include "output/outputs.h"
#include "stack/stacks.h"

#define EXIT_PATIENCE_NS (100 * NSEC_PER_MSEC)

int run_capture_failed(int error)
{
	log_error("cannot read what was recorded: %s", strerror(-error));
	return EX_OSERR;
}

int run_drain(void *context)
{
	struct run *run = context;
	int error = collector_drain(run->collector) ?: tracer_drain(run->tracer);

	if (error)
		run_capture_failed(error);
	else if (exporter_refresh(run->exporter))
		error = -ENOMEM;
	return error;
}

uint64_t run_deadline_after(uint64_t start, uint64_t duration)
{
	return duration > UINT64_MAX - start ? UINT64_MAX : start + duration;
}

int run_mark(struct run *run, const char *what, uint64_t edge, bool triggered)
{
	uint64_t hit = triggered ? edge - KD_LEAD_NS : 0;
	struct timespec when = clock_wall_at(triggered ? hit : edge);

	return outputs_mark(run->outputs, what, hit, &when);
}

void run_sample_ended(const struct run *run, struct sample *sample, enum loop_event event)
{
	sample->interrupted = event == LOOP_SIGNAL;
	sample->target_exited = event == LOOP_EXIT;
	sample->expired = run->expired;
	sample->overloaded = run->overloaded;
}

int run_print(struct run *run, struct sample *sample)
{
	sample->capture = &run->capture;
	sample->number = ++run->reported;
	sample->foreign_calls = run->target->foreign_calls;
	clock_gettime(CLOCK_REALTIME, &sample->wall_dump);
	run->lost |= sample_lost(sample) > 0 || sample->interrupted;
	fail_if_check(run->fail_if, sample, sample->number);
	return outputs_write(run->outputs, sample) ?: exporter_add(run->exporter, sample);
}

int run_collect(struct run *run, const struct session_view *view, struct sample *sample)
{
	int error = collector_finish(run->collector, view, sample);

	if (!error)
		error = tracer_collect(run->tracer, sample->start, sample->end, &sample->traces);
	traces_finish(&sample->traces);
	return error;
}

/* The end of a process is told before its last threads have left their CPUs. */
int run_exit_await(struct run *run)
{
	uint64_t deadline = clock_monotonic() + EXIT_PATIENCE_NS;
	int error = run_drain(run);

	while (!error && !collector_is_empty(run->collector) && clock_monotonic() < deadline) {
		session_settle(run->session);
		error = run_drain(run);
	}
	return error;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Reads the window that has just been closed and prints it. */
static int sample_finish_timed(struct run *run, unsigned int hidden, enum loop_event event)
{
	struct session_view view;
	struct sample sample = { 0 };
	int status, error;

	session_settle(run->session);
	error = session_visit(run->session, KD_AT_CLOSE);
	if (!error && session_window_next(run->session, &view))
		error = run_collect(run, &view, &sample);
	sample.hidden = hidden;
	run_sample_ended(run, &sample, event);
	status = error ? run_capture_failed(error) : run_print(run, &sample);
	sample_clear(&sample);
	return status;
}

/* Takes one sample and prints it. *event says how its window ended. */
static int sample_take(struct run *run, enum loop_event *event)
{
	unsigned int threads = target_threads(run->target->pid), hidden;
	uint64_t start, end;
	int status, error;

	collector_reset(run->collector);
	error = session_visit(run->session, KD_AT_OPEN);
	if (error)
		return run_capture_failed(error);
	hidden = collector_hidden(run->collector, threads);
	start = session_window_open(run->session);
	status = run_mark(run, "Start sampling", start, false);
	if (status)
		return status;
	end = run_deadline_after(start, run->options->sample_time);
	run->expired = run->deadline < end;
	*event = loop_wait(run->loop, earlier(end, run->deadline), run_drain, run);
	if (*event == LOOP_EXIT && run_exit_await(run))
		*event = LOOP_ERROR;
	end = session_window_close(run->session);
	status = run_mark(run, "Stop sampling", end, false);
	return status ? status : sample_finish_timed(run, hidden, *event);
}

int run_timed(struct run *run)
{
	const struct options *options = run->options;
	enum loop_event event = LOOP_DEADLINE;
	int status = 0;

	for (uint64_t n = 0; !status && event == LOOP_DEADLINE; n++) {
		uint64_t now = clock_monotonic();

		if ((options->sample_count && n == options->sample_count) || now >= run->deadline)
			break;
		if (n && options->sample_interval)
			event = loop_wait(run->loop,
					  earlier(run_deadline_after(now, options->sample_interval),
						  run->deadline),
					  run_drain, run);
		if (event == LOOP_DEADLINE && clock_monotonic() < run->deadline)
			status = sample_take(run, &event);
	}
	if (!status && event == LOOP_ERROR)
		status = EX_OSERR;
	return status ? status : outputs_finish(run->outputs);
}

static void tracing_fill(struct session_tracing *tracing, const struct options *options)
{
	*tracing = (struct session_tracing){
		.on = options_want_traces(options),
		.call_ns = options->call_events ? options->call_threshold : UINT64_MAX,
		.calls = options->calls.has,
		.wait_ns = options->off_cpu ? options->off_cpu : UINT64_MAX,
		.profile_hz = options->profile_hz,
		.kernel_stacks = options->stacks > 0,
		.user_bytes = options->stacks ? (uint32_t)options->stack_bytes : 0,
		.rate = options->stack_rate,
		.ring_bytes = (uint32_t)(options->buffer_pages * BUFFER_PAGE),
	};
}

static void config_fill(struct session_config *config, const struct run *run)
{
	const struct trigger_set *set = run->triggers;

	*config = (struct session_config){
		.tgid = run->target->pid,
		.threads = run->target->threads,
		.banks = !trigger_set_is_empty(set)        ? run->options->window_banks
			 : run->options->sample_count == 1 ? 1
							   : 2,
		.btf_file = run->options->btf_file,
		.upcalls = run->target->is_vswitchd && !run->options->skip_upcall_stats,
		.tracing = run->tracing,
		.histograms = run->options->histogram,
		.same_probe = set->same_probe,
		.same_thread = set->same_thread,
		.list_skipped = run->options->verbose,
		.delta = set->delta,
		.interval = run->options->sample_interval,
	};
	for (int role = 0; role < KD_ROLES; role++) {
		config->triggers[role] = (struct session_trigger){
			.trigger = &set->triggers[role],
			.sets = set->sets[role],
			.n_sets = set->n_sets[role],
		};
		config->target_only[role] = set->target_only[role];
	}
}

/* What reads the session. */
static int run_open_readers(struct run *run)
{
	struct tracer_config config = {
		.pid = run->target->pid,
		.epoch = session_view(run->session).epoch,
		.wanted = &run->tracing,
		.stacks = run->stacks,
		.room = run->options->stacks,
	};

	run->collector = collector_new(run->session, run->target->pid);
	run->tracer = tracer_new(run->session, &config);
	if (run->collector && run->tracer)
		return 0;
	log_error("no memory");
	return EX_OSERR;
}

static int run_open_exporter(struct run *run)
{
	const struct options *options = run->options;
	const struct exporter_config config = {
		.address = options->listen_address,
		.port = options->listen_port,
		.pid = run->target->pid,
		.capture = &run->capture,
		.report = {
			.per_thread = options->per_thread,
			.fold_names = options->fold_names,
			.max_syscalls = (unsigned int)options->max_syscalls,
			.timestamps = options->timestamps,
		},
	};

	return options->listen ? exporter_open(&run->exporter, &config) : 0;
}

static int run_open(struct run *run)
{
	struct session_config config;
	int status = outputs_open(&run->outputs, run->options);

	tracing_fill(&run->tracing, run->options);
	/* First: its child should inherit as little as possible. */
	if (!status && run->tracing.on && run->tracing.user_bytes)
		status = stacks_open(&run->stacks, run->target->pid, run->options->stacks);
	if (!status)
		status = run_open_exporter(run);
	config_fill(&config, run);
	if (!status)
		status = session_open(&run->session, &config);
	if (!status)
		status = run_open_readers(run);
	run->deadline = run_deadline_after(clock_monotonic(), run->options->duration);
	if (!status)
		status = loop_open(&run->loop, run->target->pid);
	if (!status)
		loop_watch(run->loop, session_traces_fd(run->session));
	return status;
}

/* What all samples of the run share. */
static void capture_fill(struct run *run)
{
	const char *texts[KD_ROLES];
	char path[64];
	char name[KD_COMM_LEN + 1];
	struct utsname machine;
	size_t length;
	FILE *comm;

	for (int role = 0; role < KD_ROLES; role++)
		texts[role] = trigger_set_has(run->triggers, role)
				      ? run->triggers->triggers[role].text
				      : NULL;
	run->capture = (struct capture){
		.version = options_version(),
		.start_trigger = texts[KD_START],
		.stop_trigger = texts[KD_STOP],
	};
	if (!uname(&machine)) {
		snprintf(run->capture.host, sizeof(run->capture.host), "%s", machine.nodename);
		snprintf(run->capture.kernel, sizeof(run->capture.kernel), "%s", machine.release);
	}
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)run->target->pid);
	comm = fopen(path, "re");
	if (!comm)
		return; /* it has ended */
	/* The line feed at the end is not of the name; others may be. */
	length = fread(name, 1, sizeof(name), comm);
	fclose(comm);
	if (length > 0 && length <= KD_COMM_LEN)
		memcpy(run->capture.process, name, length - 1);
}

int run_verdict(const struct options *options, const struct fail_if *fail_if, bool lost)
{
	if (fail_if_tell(fail_if))
		return EX_EXCEEDED;
	return lost && options->strict ? EX_LOSSES : 0;
}

int run_all(const struct options *options, const struct target *target,
	    const struct trigger_set *triggers, struct fail_if *fail_if)
{
	struct run run = {
		.options = options,
		.target = target,
		.triggers = triggers,
		.fail_if = fail_if,
	};
	int status;

	capture_fill(&run);
	status = run_open(&run);
	if (!status)
		status = trigger_set_is_empty(triggers) ? run_timed(&run) : run_triggered(&run);
	if (!status)
		status = run_verdict(options, fail_if, run.lost);
	loop_close(run.loop);
	tracer_free(run.tracer);
	stacks_close(run.stacks);
	collector_free(run.collector);
	session_close(run.session);
	exporter_close(run.exporter);
	outputs_close(run.outputs);
	return status;
}
