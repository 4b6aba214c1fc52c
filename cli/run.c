// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "run.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/base/proc_file.h"
#include "cli/capture/interruptions.h"
#include "cli/capture/loop.h"
#include "cli/capture/overhead.h"
#include "cli/capture/parts/resources.h"
#include "cli/capture/parts/triggers.h"
#include "cli/capture/session.h"
#include "cli/capture/session/cpus.h"
#include "cli/capture/session/rings.h"
#include "cli/capture/session/windows.h"
#include "cli/capture/tracer.h"
#include "cli/capture/user_waits.h"
#include "cli/json/replay.h"
#include "cli/model/losses.h"
#include "cli/options/options_parse.h"
#include "cli/options/options_table.h"
#include "cli/output/fail_if.h"
#include "cli/output/outputs.h"
#include "cli/process/processes.h"
#include "cli/sandbox/confine.h"
#include "cli/stack/kernel_symbols.h"
#include "cli/stack/stacks.h"
#include "cli/text/text_parts.h"
#include "run_sampling.h"
#include "run_timed.h"
#include "run_triggered.h"

/* --- Privileges that the run no longer needs --- */

static bool has_files(const struct run_state *run)
{
	const struct outputs_config *outputs = &run->options->outputs;

	if (outputs->live) /* writes the file that the user asks for */
		return true;
	for (size_t i = 0; i < outputs->n; i++)
		if (outputs->all[i].file)
			return true;
	return false;
}

/* True if probes are attached by perf_event_open(2). For functions of processes it always needs
 * CAP_SYS_ADMIN (perf_uprobe_event_init()). */
static bool attaches_by_perf(const struct run_state *run)
{
	const struct triggers *triggers = run->session ? session_triggers(run->session) : NULL;
	bool paranoid = perf_needs_admin();

	if (!triggers)
		return false;
	return triggers_have_events(triggers, true) ||
	       (paranoid &&
		(triggers_have_events(triggers, false) || run->options->follow_restart));
}

/* CAP_SYS_ADMIN stands in for capabilities split off from it. */
static uint64_t with_substitute(uint64_t capabilities)
{
	static const unsigned int split[] = { CAP_BPF, CAP_PERFMON, CAP_CHECKPOINT_RESTORE };

	for (size_t i = 0; i < sizeof(split) / sizeof(*split); i++)
		if (capabilities >> split[i] & 1 && !confine_has(split[i]))
			capabilities |= CAPABILITY(CAP_SYS_ADMIN);
	return capabilities;
}

#define USER_CAPABILITIES                                                                          \
	(CAPABILITY(CAP_SETUID) | CAPABILITY(CAP_SETGID) | CAPABILITY(CAP_SETPCAP))

/* What a kind of run still needs (PRIVILEGES in the manual page has the same table). */
static struct confine needs_of(const struct run_state *run)
{
	const struct options *options = run->options;
	const struct {
		bool wanted;
		uint64_t capabilities;
		unsigned int calls;
	} needs[] = {
		/* BPF maps and iterators; files of the target in /proc, and those it maps. */
		{ run->session,
		  CAPABILITY(CAP_BPF) | CAPABILITY(CAP_SYS_PTRACE) |
			  CAPABILITY(CAP_DAC_READ_SEARCH) | CAPABILITY(CAP_CHECKPOINT_RESTORE),
		  0 },
		{ run->tracing.on, CAPABILITY(CAP_SYSLOG), 0 }, /* addresses in /proc/kallsyms */
		/* Signals to children, which may run as another user. */
		{ run->stacks || run->command || outputs_are_served(run->outputs),
		  CAPABILITY(CAP_KILL), 0 },
		{ has_files(run), CAPABILITY(CAP_DAC_OVERRIDE), 0 },
		{ run->command, 0, CONFINE_DETACH },
		/* A pager becomes the user who called sudo. */
		{ outputs_have_pager(run->outputs), USER_CAPABILITIES,
		  CONFINE_EXECUTE | CONFINE_USERS | CONFINE_SOCKETS },
		/* Probes may be attached again, or to new processes, and their cost is measured
		 * at the end. */
		{ run->session && !trigger_set_is_empty(run->triggers), CAPABILITY(CAP_PERFMON),
		  CONFINE_ATTACH },
		{ attaches_by_perf(run), CAPABILITY(CAP_SYS_ADMIN), 0 },
		/* To start over; CAP_NET_ADMIN is for the process connector. */
		{ options->follow_restart,
		  CAPABILITY(CAP_PERFMON) | CAPABILITY(CAP_SYSLOG) | CAPABILITY(CAP_NET_ADMIN) |
			  CAPABILITY(CAP_KILL) | USER_CAPABILITIES | CAPABILITY(CAP_SYS_CHROOT),
		  CONFINE_ATTACH | CONFINE_USERS | CONFINE_SOCKETS },
		{ options->follow_restart && options->btf_file, CAPABILITY(CAP_SYS_ADMIN),
		  CONFINE_MOUNT },
	};
	struct confine left = { 0 };

	for (size_t i = 0; i < sizeof(needs) / sizeof(*needs); i++) {
		left.capabilities |= needs[i].wanted ? needs[i].capabilities : 0;
		left.calls |= needs[i].wanted ? needs[i].calls : 0;
	}
	left.capabilities = with_substitute(left.capabilities);
	return left;
}

/* Gives up what only the beginning of a run needed. Call it when all is attached. A run without
 * a session replays a file, and needs only options and outputs set. Warns about what cannot be
 * given up. */
static void run_confine(const struct run_state *run)
{
	struct confine left;
	const char *what;
	int error;

	if (run->options->keep_privileges)
		return;
	left = needs_of(run);
	error = confine(&left, &what);
	if (error)
		log_warn("this program goes on with more privileges than it needs: %s: %s", what,
			 strerror(-error));
}

/* --- Printing recorded samples again --- */

struct replay {
	struct outputs *outputs;
	struct fail_if *fail_if;
	const struct report_options *report;
	uint64_t samples;
	bool lost, matched;
	struct thread_names names; /* until one has matched */
};

static exit_status sample_replay(const struct sample *sample, void *context)
{
	struct replay *replay = context;

	for (size_t i = 0; i < sample->n_threads && !replay->matched; i++) {
		replay->matched = text_wants_thread(replay->report, &sample->threads[i]);
		thread_names_add(&replay->names, sample->threads[i].name);
	}
	replay->lost |= sample_lost(sample) > 0 || sample->interrupted;
	/* The file may hold several runs. */
	return fail_if_check(replay->fail_if, sample, ++replay->samples)
		       ?: outputs_write(replay->outputs, sample);
}

static exit_status triggers_replay(const struct trigger_stats *stats, void *context)
{
	struct replay *replay = context;

	return outputs_triggers(replay->outputs, stats);
}

exit_status run_replay(const struct options *options, struct fail_if *fail_if)
{
	struct replay replay = { .fail_if = fail_if, .report = &options->outputs.settings.report };
	const struct replay_handlers handlers = {
		.sample = sample_replay,
		.triggers = triggers_replay,
		.context = &replay,
		.recordings = true,
	};
	FILE *in = NULL;
	int shown, status = outputs_open(&replay.outputs, &options->outputs, 0, NULL)
				    ?: replay_open(&in, options->replay);

	/* The file may come from anybody, so root must not parse it. */
	if (!status)
		run_confine(&(struct run_state){ .options = options, .outputs = replay.outputs });
	status = status ?: outputs_read_baseline(replay.outputs, 0);
	if (!status)
		status = replay_read(in, options->replay, &handlers);
	else
		replay_close(in);
	/* Statistics of triggers alone are a report, but nothing that a condition can be true of.
	 */
	if (!status && options->n_fail_if && !replay.samples) {
		log_error("%s: there is no sample in it that --fail-if could look at",
			  options->replay);
		status = EX_DATAERR;
	}
	status = status ?: outputs_finish(replay.outputs)
			?: fail_if_compare(fail_if, outputs_comparison(replay.outputs));
	shown = outputs_show(replay.outputs);
	status = status ?: shown;
	if (!status && replay.report->threads && !replay.matched)
		status = run_threads_absent(replay.report->threads, &replay.names);
	status = status ?: run_conclude(options, fail_if, replay.lost);
	outputs_close(replay.outputs);
	return status;
}

/* --- Runs --- */

static void tracing_fill(struct tracing_config *tracing, const struct options *options)
{
	*tracing = (struct tracing_config){
		.on = options_scans(options) & SCAN_TRACES,
		.call_ns = options->call_events ? options->call_threshold : KD_UNWANTED,
		.calls = &options->calls,
		.wait_ns = options->off_cpu ? options->off_cpu : KD_UNWANTED,
		.waits = &options->waits,
		.calls_named = options->calls_named,
		.wait_calls = options->calls_chosen ? &options->calls : NULL,
		.all_wakers = options->all_wakers,
		.profile_hz = options->profile_hz,
		.kernel_stacks = options->stacks > 0,
		.user_bytes = options->stacks ? (uint32_t)options->stack_bytes : 0,
		.share = options->stack_share,
		.ring_bytes = (uint32_t)(options->buffer_pages * BUFFER_PAGE),
		.record_bytes = options->record ? options->record_memory : 0,
	};
}

/* Slots for threads of a command, or of processes that may join, as nobody can count them. */
#define THREADS_TO_COME 3000

static void config_fill(struct session_config *config, const struct run_state *run)
{
	const struct processes *processes = run->processes;
	bool more = run->command || processes->follow_fork || processes->in_group;
	unsigned int threads = more ? THREADS_TO_COME : 0;
	size_t n_tids = 0;

	if (!run->command)
		threads += processes_is_one(processes) ? run->target->threads
						       : processes_threads(processes);
	while (n_tids < PIDS_MAX && run->options->tids[n_tids])
		n_tids++;
	if (n_tids) /* only these are followed */
		threads = (unsigned int)n_tids;
	*config = (struct session_config){
		.symbols = run->symbols,
		.options = run->options,
		.tgid = run->target->pid,
		.processes = run->processes,
		.threads = threads,
		.banks = !trigger_set_is_empty(run->triggers) ? run->options->window_banks
			 : run->options->sample_count == 1 && run->selection->each ? 1
										   : 2,
		.scans = options_scans(run->options) |
			 (run->target->is_vswitchd && !run->options->skip_upcall_stats
				  ? SCAN_UPCALLS
				  : 0),
		.tracing = run->tracing,
		.triggers = run->triggers,
	};
}

/* Mappings made before the programs were attached sent no event. */
static void run_open_stacks(const struct run_state *run)
{
	const struct processes *processes = run->processes;

	stacks_refresh(run->stacks, 0);
	for (size_t i = 0; i < processes->n && !processes_is_one(processes); i++)
		stacks_add(run->stacks, processes->all[i].pid);
}

/* Opens the readers of the session. */
static exit_status run_open_readers(struct run_state *run)
{
	struct tracer_config config = {
		.epoch = session_window_now(run->session).epoch,
		.wanted = &run->tracing,
		.stacks = run->stacks,
		.symbols = run->symbols,
	};

	/* Before privileges go, which a thread would keep. */
	if (run->tracing.on && run->tracing.kernel_stacks && kernel_symbols_read(run->symbols))
		return log_no_memory();
	if (run->stacks)
		run_open_stacks(run);
	if (run->options->stacks && run->options->stack_bytes) {
		run->user_waits = user_waits_new(run->session, run_wait_stacks, run);
		if (!run->user_waits)
			return log_no_memory();
	}
	run->collector = collector_new(run->session, run->symbols, run->target->pid,
				       run->user_waits, &run->capture);
	run->tracer = tracer_new(run->session, &config);
	if (run->options->interruptions)
		run->interruptions = interruptions_new(run->session, run->options->interruptions);
	run->lock_locations = lock_locations_new(run->signals);
	if (run->collector && run->tracer && run->lock_locations &&
	    (run->interruptions || !run->options->interruptions))
		return 0;
	return log_no_memory();
}

static exit_status run_open_session(struct run_state *run)
{
	struct session_config config;
	struct ipi_count ipis = { 0 };
	int status;

	if (kernel_symbols_open(&run->symbols, NULL, run->options->stacks) ||
	    kernel_symbols_open_variables(&run->variables, NULL))
		return log_no_memory();
	config_fill(&config, run);
	if (run->tracing.on && run->tracing.kernel_stacks)
		kernel_symbols_begin(run->symbols);
	if (run->options->verbose)
		ipi_count_begin(&ipis);
	status = session_open(&run->session, &config);
	ipi_count_end(&ipis, "attaching");
	return status;
}

/* Ends if a signal came before there was anything to report. */
static exit_status run_begins(const struct run_state *run)
{
	return !run->restarts && signals_ask(run->signals)
		       ? EX_SIGNALLED + signals_number(run->signals)
		       : 0;
}

/* From here on, reuse of the PID is noticed: checks that it was not reused before. */
static exit_status run_hold(struct run_state *run)
{
	pid_t pid = run->target->pid;
	struct proc_stat now;
	int status = loop_watch_process(run->loop, pid);

	if (status || run->command || run->restarts)
		return status;
	if (proc_stat_read(&now, pid) && now.started == run->processes->all[0].started)
		return 0;
	log_error("process %d has ended", (int)pid);
	return EX_UNAVAILABLE;
}

/* --- Attaching to the target, which may be a successor, in steps --- */

/* First, as its child should inherit as little as possible. */
static exit_status step_stacks(struct run_state *run)
{
	const struct stacks_setup setup = { .signals = run->signals };

	tracing_fill(&run->tracing, run->options);
	if (!run->tracing.on || !run->tracing.user_bytes)
		return 0;
	return stacks_open(&run->stacks, processes_is_one(run->processes) ? run->target->pid : 0,
			   run->options->stacks, &setup);
}

static exit_status step_outputs(struct run_state *run)
{
	const exit_status status = run->outputs
					   ? 0
					   : outputs_open(&run->outputs, &run->options->outputs,
							  run->target->pid, &run->capture);

	if (!status && outputs_have_samples(run->outputs))
		group_quota(run->target->pid, &run->quota);
	return status;
}

/* Programs that are attached cost the target something: not long before the moment of --at. */
static exit_status step_approach(struct run_state *run)
{
	return run->options->at.ns && !run->deadline ? run_at_approach(run) : 0;
}

static exit_status step_placed(struct run_state *run)
{
	return trigger_set_placed(run->triggers, run->processes, run->target->pid);
}

/* What this program takes, and its time, count when all is open. */
static exit_status step_count(struct run_state *run)
{
	pid_t children[OWN_CHILDREN];

	run_children(run, children);
	own_cost_begin(&run->own, children);
	if (!run->deadline)
		run->deadline = u64_add(run_at_first(&run->options->at), run->options->duration);
	return 0;
}

static exit_status step_loop(struct run_state *run)
{
	if (run->loop)
		return 0;
	run->loop = loop_new(run->signals);
	if (!run->loop)
		return log_no_memory();
	loop_heed(run->loop, &run->report_signal);
	return 0;
}

static exit_status step_watch(struct run_state *run)
{
	bool is_one = processes_is_one(run->processes);
	/* Signals are passed on to a command, even if the run continues without it. */
	int status = is_one || run->command ? run_hold(run) : 0;

	if (status)
		return status;
	if (!is_one)
		loop_outlive_process(run->loop);
	loop_watch(run->loop, session_ring_fd(run->session, RING_TRACES));
	return 0;
}

/* Until now, a signal ends this process if it cannot continue. */
static exit_status step_signals(struct run_state *run)
{
	if (run->command)
		loop_pass_on(run->loop);
	signals_when_stuck(run->signals, attached_drop);
	return 0;
}

/* In order. Whoever sends a signal before there is anything to report is heeded between two. */
/* clang-format off */
static exit_status (*const attach_steps[])(struct run_state *run) = {
	step_stacks,
	step_outputs,
	step_approach,
	run_open_session,
	step_placed,
	run_open_readers,
	step_count,
	step_loop,
	step_watch,
	step_signals,
};
/* clang-format on */

static exit_status run_attach(struct run_state *run)
{
	int status = 0;

	for (size_t i = 0; i < sizeof(attach_steps) / sizeof(*attach_steps) && !status; i++)
		status = run_begins(run) ?: attach_steps[i](run);
	return status;
}

static void run_detach(struct run_state *run)
{
	struct ipi_count ipis = { 0 };

	if (run->options->verbose)
		ipi_count_begin(&ipis);
	tracer_free(run->tracer);
	interruptions_free(run->interruptions);
	lock_locations_free(run->lock_locations);
	stacks_close(run->stacks);
	stacks_close(run->lock_stacks);
	collector_free(run->collector);
	user_waits_free(run->user_waits);
	kernel_symbols_close(run->symbols);
	kernel_symbols_close(run->variables);
	session_close(run->session);
	ipi_count_end(&ipis, "detaching");
	run->tracer = NULL;
	run->interruptions = NULL;
	run->lock_locations = NULL;
	run->stacks = NULL;
	run->lock_stacks = NULL;
	run->lock_stacks_until = 0;
	run->collector = NULL;
	run->user_waits = NULL;
	run->symbols = NULL;
	run->variables = NULL;
	run->session = NULL;
}

/* Describes the container of a single process; a successor may have another. */
static void container_fill(struct run_state *run)
{
	struct capture *capture = &run->capture;
	struct process_describer describer = { .silent = 0 };
	struct process_row row = { .pid = run->target->pid };
	char id[CONTAINER_ID + 1] = "";

	if (capture->multiple)
		return;
	process_container(&describer, &row, id, run->target->pid);
	memcpy(capture->container, row.container, sizeof(capture->container));
	memcpy(capture->image, row.image, sizeof(capture->image));
	memcpy(capture->pod, row.pod, sizeof(capture->pod));
}

/* Fills what all samples of the run share. */
static void capture_fill(struct run_state *run)
{
	const struct trigger_sites *triggers = run->triggers->triggers;
	char name[KD_COMM_LEN + 1];
	struct utsname machine;
	ssize_t length;

	run->capture = (struct capture){
		.version = options_version(),
		.start_trigger = triggers[KD_START].trigger.text,
		.stop_trigger = triggers[KD_STOP].trigger.text,
		.sample_count = run->options->sample_count,
		.sample_time = run->options->sample_time == UINT64_MAX ? 0
								       : run->options->sample_time,
		.multiple = !processes_is_one(run->processes),
		.command = run->command,
	};
	if (!uname(&machine)) {
		snprintf(run->capture.host, sizeof(run->capture.host), "%s", machine.nodename);
		snprintf(run->capture.kernel, sizeof(run->capture.kernel), "%s", machine.release);
	}
	length = proc_comm_read(run->target->pid, name, sizeof(name));
	if (length > 0)
		memcpy(run->capture.process, name, (size_t)length);
}

static void run_announce(struct run_state *run)
{
	const struct options *options = run->options;
	const struct progress_config config = {
		.sample_time = options->sample_time,
		.sample_interval = options->sample_interval,
		.samples = options->sample_count,
		.deadline = run->deadline,
		.triggered = !trigger_set_is_empty(run->triggers) || !run->selection->each,
		/* A command may write to the terminal too. */
		.quiet = options->outputs.quiet || options->outputs.listen ||
			 options->outputs.live || run->command,
	};

	progress_begin(&run->progress, &config);
	if (options->record && !config.quiet)
		log_note("recording; kill -USR1 %d reports what is held then", (int)getpid());
}

/* Takes the samples of one target. */
static exit_status run_target(struct run_state *run)
{
	bool is_first = !run->outputs;
	int status;

	container_fill(run);
	status = run_attach(run);
	if (!status && is_first) {
		run_announce(run);
		if (run->options->outputs.live)
			status = live_open(&run->live, &run->options->outputs, run->signals);
		if (run->live) /* ticks at the usual rate would be a third of its cost */
			loop_tick_each(run->loop, LIVE_TICK_NS);
		if (run->live && run->options->record)
			live_record_with(run->live, run_record_shown, run);
		run_confine(run);
	}
	if (!status && is_first)
		status = outputs_read_baseline(run->outputs, run->capture.sample_time);
	if (!status)
		status = trigger_set_is_empty(run->triggers) ? run_timed(run) : run_triggered(run);
	log_progress_end();
	live_close(run->live); /* its samples have stacks of the run */
	run->live = NULL;
	run_detach(run);
	/* The target may end just after it began; its successor follows. Failing outputs would
	 * fail again. */
	if (status && status != EX_IOERR && status < EX_SIGNALLED && !is_first &&
	    !identity_is_alive(&run->identity)) {
		run->ended = LOOP_EXIT;
		status = 0;
	}
	return status;
}

static bool run_follows(const struct run_state *run)
{
	const struct options *options = run->options;

	return options->follow_restart && run->ended == LOOP_EXIT &&
	       clock_monotonic() < run->deadline &&
	       (!options->sample_count || run_samples(run) < options->sample_count);
}

/* Takes the samples of the target and its successors. */
static exit_status run_targets(struct run_state *run)
{
	bool goes_on = true;
	int status = 0;

	while (!status && goes_on) {
		status = run_target(run);
		goes_on = !status && run_follows(run);
		if (goes_on)
			status = run_successor_await(run, &goes_on);
	}
	return status;
}

/* Tells scripts that the requested threads do not exist. */
static exit_status threads_conclude(const struct run_state *run)
{
	const char *glob = run->options->outputs.settings.report.threads;
	struct thread_names names = { .n = 0 };

	if (!glob || run->matched || !run_samples(run))
		return 0;
	thread_names_read(&names, run);
	return run_threads_absent(glob, &names);
}

exit_status run_all(const struct options *options, const struct processes *processes,
		    const struct target *target, struct trigger_set *triggers,
		    const struct run_conditions *conditions, struct command *command)
{
	struct run_state run = {
		.options = options,
		.processes = processes,
		.target = target,
		.triggers = triggers,
		.fail_if = conditions->fail_if,
		.selection = conditions->selection,
		.report_signal = { .fd = -1 },
		.command = command,
	};
	int status, shown;

	if (options->outputs.live && live_check())
		return EX_USAGE;
	capture_fill(&run);
	if (options->follow_restart)
		identity_read(&run.identity, target->pid);
	status = signals_open(&run.signals);
	triggers->signals = run.signals;
	if (!status && options->record)
		status = report_signal_open(&run.report_signal);
	if (!status)
		status = run_targets(&run);
	/* Triggered runs end with their statistics. */
	if (!status && trigger_set_is_empty(triggers))
		status = outputs_finish(run.outputs);
	if (!status)
		status = fail_if_compare(run.fail_if, outputs_comparison(run.outputs));
	if (command_is_released(command))
		loop_await_exit(run.loop);
	loop_close(run.loop);
	report_signal_close(&run.report_signal);
	signals_close(run.signals);
	shown = outputs_show(run.outputs); /* in any case: the report may be partial */
	status = status ?: shown ?: threads_conclude(&run)
				 ?: run_conclude(options, run.fail_if, run.lost);
	outputs_close(run.outputs);
	memory_forget(&run.memory);
	return status;
}
