// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "run_sampling.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/base/proc_file.h"
#include "cli/base/texts.h"
#include "cli/capture/computed.h"
#include "cli/capture/collect.h"
#include "cli/capture/interruptions.h"
#include "cli/capture/parts/locks.h"
#include "cli/capture/parts/processes.h"
#include "cli/capture/parts/resources.h"
#include "cli/capture/recording_take.h"
#include "cli/capture/session.h"
#include "cli/capture/session/windows.h"
#include "cli/capture/tracer.h"
#include "cli/capture/user_functions.h"
#include "cli/model/losses.h"
#include "cli/model/path_choice.h"
#include "cli/model/resource.h"
#include "cli/model/verdict.h"
#include "cli/process/pids.h"
#include "cli/stack/stacks.h"

/* --- Samples --- */

#define EXIT_PATIENCE_NS (3 * NSEC_PER_SEC) /* for busy CPUs; then a thread is hidden */

exit_status run_capture_failed(int error)
{
	log_error("cannot read what was recorded: %s", strerror(-error));
	if (error == -EPERM || error == -EACCES)
		log_hint("if this kernel asks for a privilege that was given up when all was "
			 "attached, --debug=0,keep-privileges goes on with all");
	return EX_OSERR;
}

bool run_is_cut(const struct run_state *run)
{
	return signals_was_stuck(run->signals);
}

void run_cut_tell(struct run_state *run)
{
	run->lost = true;
	log_warn("a signal came while an output could not be written: what was sampled after that "
		 "is left out");
}

/* Returns 1 if the run is to end. */
static int live_drain(struct run_state *run)
{
	int done = live_tick(run->live);

	if (done < 0)
		log_no_memory();
	return done;
}

int run_drain(void *context)
{
	struct run_state *run = context;
	int error = collector_drain(run->collector)
			    ?: tracer_drain(run->tracer)
			    ?: interruptions_drain(run->interruptions)
			    ?: session_tick(run->session);

	if (!error && !process_set_go_on(session_process_set(run->session)))
		loop_end(run->loop);
	progress_tick(&run->progress);
	if (error)
		run_capture_failed(error);
	else if (outputs_refresh(run->outputs))
		error = -ENOMEM;
	return error ?: live_drain(run);
}

void run_children(const struct run_state *run, pid_t children[OWN_CHILDREN])
{
	const struct stacks *stacks = run->stacks ? run->stacks : run->lock_stacks;

	children[0] = children[1] = 0;
	if (stacks)
		stacks_children(stacks, children);
	children[2] = outputs_child(run->outputs);
}

exit_status run_mark(struct run_state *run, const char *what, uint64_t edge, bool triggered)
{
	uint64_t hit = triggered ? edge - KD_LEAD_NS : 0;
	struct timespec when = clock_wall_at(triggered ? hit : edge);

	return outputs_mark(run->outputs, what, hit, &when);
}

#define PRESSED_LEAST_NS (100 * NSEC_PER_MSEC)

uint64_t run_pressed_end(uint64_t start)
{
	return u64_max(clock_monotonic(), u64_add(start, PRESSED_LEAST_NS));
}

void run_sample_ended(const struct run_state *run, struct sample *sample, enum loop_event event)
{
	sample->interrupted = event == LOOP_SIGNAL;
	sample->target_exited = event == LOOP_EXIT;
	sample->expired = run->expired;
	sample->overloaded = run->overloaded;
}

/* Takes the leader's name, which execve changes. */
static void capture_name(char name[static KD_COMM_LEN], const struct sample *sample)
{
	const struct thread_row *leader = NULL;

	for (size_t i = 0; i < sample->n_threads; i++)
		if (sample->threads[i].tid == sample->pid && (!leader || leader->ended))
			leader = &sample->threads[i];
	if (leader && *leader->name)
		memcpy(name, leader->name, KD_COMM_LEN);
}

exit_status run_print(struct run_state *run, struct sample *sample)
{
	if (sample->recording && critical_path_of_sample(sample))
		return log_no_memory();
	if (!run->capture.multiple)
		capture_name(run->capture.process, sample);
	sample->number = ++run->reported;
	sample->restarts = run->restarts;
	sample->predecessor = run->predecessor;
	run->restarts = 0;
	run->predecessor = 0;
	clock_gettime(CLOCK_REALTIME, &sample->wall_dump);
	run->lost |= sample_lost(sample) > 0 || sample->interrupted;
	return outputs_write(run->outputs, sample)
		       ?: fail_if_check(run->fail_if, sample, sample->number);
}

/* Some sleeps and waits for locks have stacks even if none were asked for, and these are not
 * counted with the others. Their resolver is opened for the first one, and again from time to time,
 * as no event tells about new mappings. */
#define LOCK_STACKS_NS (60 * NSEC_PER_SEC)
#define LOCK_STACKS 4096
#define LOCK_STACKS_PATIENCE (2 * NSEC_PER_SEC)

struct stacks *run_wait_stacks(void *context)
{
	struct run_state *run = context;
	const struct stacks_setup setup = { .patience = LOCK_STACKS_PATIENCE,
					    .signals = run->signals,
					    .quiet = true };
	uint64_t now = clock_monotonic();

	if (now >= run->lock_stacks_until) {
		stacks_close(run->lock_stacks);
		run->lock_stacks = NULL;
		stacks_open(&run->lock_stacks, 0, LOCK_STACKS, &setup);
		run->lock_stacks_until = now + LOCK_STACKS_NS;
	}
	return run->lock_stacks;
}

/* Finds the variables of the locks, and the functions that waited for them. */
static int locks_describe(struct run_state *run, struct sample *sample)
{
	struct lock_callers *callers = collector_lock_callers(run->collector);
	struct stacks *stacks = NULL;
	bool wanted = run->live || outputs_have_samples(run->outputs);
	int error = wanted ? lock_locations_find(run->lock_locations, sample)
				     ?: lock_variables_find(run->variables, sample)
			   : 0;

	if (!lock_callers_wait(callers))
		return error;
	if (!error && wanted && run->options->stacks && run->options->stack_bytes &&
	    !lock_locations_gave_up(run->lock_locations))
		stacks = run_wait_stacks(run);
	lock_callers_find(callers, stacks, sample);
	return error;
}

/* Finds the functions in which threads computed. A profile says more. */
static void computed_describe(struct run_state *run, struct sample *sample)
{
	struct stacks *stacks;

	if (!run->options->stacks || run->options->profile_hz ||
	    !(run->live || outputs_have_samples(run->outputs)) ||
	    !computed_is_worth(run->session, sample))
		return;
	stacks = run_wait_stacks(run);
	if (stacks)
		computed_find(run->session, stacks, sample);
}

/* Windows of triggers begin at any time, when nothing is read. */
static int resources_collect(struct run_state *run, const struct session_view *view,
			     struct sample *sample)
{
	int error = usage_sum(sample) ?: session_resent(run->session, view, sample)
				      ?: memory_end(&run->memory, run->session, sample);

	sample->has_resources = true;
	if (!trigger_set_is_empty(run->triggers))
		memory_forget(&run->memory);
	return error;
}

int run_record(struct run_state *run, const struct session_view *view, struct sample *sample)
{
	struct recording *recording;
	int error = recording_take(run->session, view, run->options->record, &recording);

	if (error || !recording)
		return error;
	recording->lost = sample->losses[KD_LOSS_RECORDED];
	sample->recording = recording;
	sample->recorded = recording_facts(recording, sample->start);
	return 0;
}

int run_record_shown(void *context, struct sample *sample)
{
	struct run_state *run = context;
	struct session_view view = session_window_now(run->session);

	view.start = sample->start - view.epoch;
	view.end = sample->end - view.epoch;
	return run_record(run, &view, sample)
		       ?: (sample->recording ? critical_path_of_sample(sample) : 0);
}

/* Otherwise recorded data is read later: of windows that turn out to be reported, in the live view
 * for samples that are written. */
static bool is_recorded_at_once(const struct run_state *run)
{
	return run->selection->each && (!run->live || outputs_have_samples(run->outputs));
}

uint64_t run_samples(const struct run_state *run)
{
	return run->selection->each ? run->begun : run->reported;
}

int run_collect(struct run_state *run, const struct session_view *view, struct sample *sample)
{
	pid_t children[OWN_CHILDREN];
	int error = tracer_read(run->tracer, view)
			    ?: collector_finish(run->collector, view, sample);

	if (!error && is_recorded_at_once(run))
		error = run_record(run, view, sample);
	if (!error && run->options->resources)
		error = resources_collect(run, view, sample);
	error = error ?: interruptions_collect(run->interruptions, view, sample)
		      ?: tracer_collect(run->tracer, sample->start, sample->end, &sample->traces);
	traces_finish(&sample->traces);
	error = error ?: user_functions_trace(sample) ?: locks_describe(run, sample);
	if (!error)
		computed_describe(run, sample);
	sample->distributions = run->options->histogram;
	sample->quota = run->quota;
	run->matched |= sample->n_threads > 0;
	run_children(run, children);
	sample->own = own_cost_take(&run->own, children);
	sample->wall_start = clock_wall_at(sample->start);
	return error;
}

unsigned int run_threads(const struct run_state *run)
{
	const struct processes *processes = run->processes;
	unsigned int threads = 0;

	if (*run->options->tids || run->options->outputs.settings.report.threads)
		return 0;
	if (processes_is_one(processes))
		return target_threads(run->target->pid); /* it may be a successor */
	if (processes->follow_fork || processes->in_group)
		return 0;
	for (size_t i = 0; i < processes->n; i++)
		threads += target_threads(processes->all[i].pid);
	return threads;
}

/* Counts threads of the target in /proc, even those that tracing hides. */
static unsigned int run_threads_wanted(const struct run_state *run)
{
	const struct processes *processes = run->processes;
	unsigned int threads = 0;

	for (size_t i = 0; i < PIDS_MAX && run->options->tids[i]; i++)
		threads += target_threads(run->options->tids[i]) > 0;
	for (size_t i = 0; i < processes->n && !*run->options->tids; i++)
		threads += target_threads(processes->all[i].pid);
	return threads;
}

void thread_names_add(struct thread_names *names, const char name[static KD_COMM_LEN])
{
	for (size_t i = 0; i < names->n; i++)
		if (!strncmp(names->all[i], name, KD_COMM_LEN))
			return;
	if (names->n == THREAD_NAMES)
		names->more = true;
	else
		memcpy(names->all[names->n++], name, KD_COMM_LEN);
}

static void names_read_of(struct thread_names *names, pid_t pid)
{
	struct proc_list threads;
	char name[KD_COMM_LEN];

	proc_list_begin(&threads, "/proc/%d/task", (int)pid);
	while (!names->more && proc_list_next(&threads)) {
		memset(name, 0, sizeof(name));
		if (proc_comm_read(threads.number, name, sizeof(name)) > 0)
			thread_names_add(names, name);
	}
	proc_list_end(&threads);
}

void thread_names_read(struct thread_names *names, const struct run_state *run)
{
	const struct processes *processes = run->processes;

	for (size_t i = 0; i < processes->n; i++)
		names_read_of(names, processes->all[i].pid);
	if (!processes->n)
		names_read_of(names, run->target->pid);
}

#define NAMES_LEN (THREAD_NAMES * (4 * KD_COMM_LEN + 2) + 64)

/* "the threads are called: a, b and others"; what else to do if none is known. */
static const char *names_said(const struct thread_names *names, char text[static NAMES_LEN])
{
	if (!names->n)
		return "`ps -L -p PID` lists the threads of a process; quote patterns, as the "
		       "shell may expand them";
	snprintf(text, NAMES_LEN, "the threads are called: ");
	for (size_t i = 0; i < names->n; i++)
		text_append(text, NAMES_LEN, "%s%.*s", i ? ", " : "", KD_COMM_LEN, names->all[i]);
	text_append(text, NAMES_LEN, "%s", names->more ? " and others" : "");
	return text;
}

exit_status run_threads_absent(const char *glob, const struct thread_names *names)
{
	char text[NAMES_LEN];

	log_error("no thread has matched --threads '%s'", glob);
	log_hint("%s", names_said(names, text));
	return EX_UNAVAILABLE;
}

/* Some may come yet. */
static void threads_warn(const struct run_state *run)
{
	struct thread_names names = { .n = 0 };
	char text[NAMES_LEN];

	thread_names_read(&names, run);
	log_warn("no thread of the target matches --threads '%s' yet; %s",
		 run->options->outputs.settings.report.threads, names_said(&names, text));
}

exit_status run_visible_check(const struct run_state *run)
{
	unsigned int threads;

	if (!collector_is_empty(run->collector))
		return 0;
	if (run->options->outputs.settings.report.threads) {
		threads_warn(run);
		return 0;
	}
	threads = run_threads_wanted(run);
	if (!threads)
		return 0;
	log_error("tracing shows no thread of the target, but /proc has %u: this kernel hides them",
		  threads);
	log_hint("some machines hide their own agents so; watch another process");
	return EX_UNAVAILABLE;
}

/* The exit event comes before the last threads have left their CPUs. */
int run_exit_await(struct run_state *run)
{
	uint64_t deadline = clock_monotonic() + EXIT_PATIENCE_NS;
	int error = run_drain(run);

	while (error >= 0 && !collector_is_empty(run->collector) && clock_monotonic() < deadline) {
		session_settle(run->session);
		error = run_drain(run);
	}
	return error < 0 ? error : 0;
}

exit_status run_conclude(const struct options *options, const struct fail_if *fail_if, bool lost)
{
	if (fail_if_tell(fail_if))
		return EX_EXCEEDED;
	return lost && options->strict ? EX_LOSSES : 0;
}
