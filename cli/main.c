// SPDX-License-Identifier: Apache-2.0
/* Sequence: options, texts of triggers, target, checks, sites of triggers, run. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <nss.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/base/proc_file.h"
#include "cli/completion/completion.h"
#include "cli/machine/machine.h"
#include "cli/metrics/metrics.h"
#include "cli/options/options_parse.h"
#include "cli/output/fail_if.h"
#include "cli/process/command.h"
#include "cli/process/cpu_rules.h"
#include "cli/process/group.h"
#include "cli/process/preflight.h"
#include "cli/process/processes.h"
#include "cli/process/target.h"
#include "cli/process/trigger_set.h"
#include "cli/stack/stacks.h"
#include "probes/list.h"
#include "run.h"
#include "run_selection.h"

/* Probes of the kernel need no target. */
static bool list_needs_target(const struct options *options)
{
	enum trigger_kind only;

	return *options->pids || options->comm || options->pidfile || !options->list_glob ||
	       !trigger_kind_read(&only, options->list_glob) || probe_kinds[only].is_user;
}

/* Finds the target, or starts it: then sets *command, which the caller closes. *target is its
 * first process. libraries: files to look at include some that a program has only after its loader
 * ran. */
static exit_status target_take(struct processes *processes, struct target *target,
			       struct command **command, const struct options *options,
			       bool libraries, const struct command_signals *signals)
{
	int status = options->command ? command_start(command, options->command, signals) : 0;

	if (!status && *command && libraries)
		status = command_load(*command, options->command[0]);
	if (!status)
		status = *command ? processes_of(processes, command_pid(*command), options)
				  : processes_choose(processes, options);
	if (status)
		return status;
	if (processes_is_one(processes))
		return target_find(target, processes->all[0].pid, NULL);
	/* One of several processes may end meanwhile. */
	*target = target_of(processes->all[0].pid);
	return 0;
}

static exit_status list_probes(const struct options *options, const struct command_signals *signals)
{
	struct processes processes = { 0 };
	struct target target = { .pid = 0 };
	struct command *command = NULL;
	int status = 0;

	if (list_needs_target(options))
		status = target_take(&processes, &target, &command, options, true, signals);
	if (!status) {
		tracefs_provide(); /* without tracefs, the list says so */
		status = probes_list(stdout, target.pid, options->list_glob);
		status = status < 0 ? log_write_failed("the list", status) : status;
	}
	processes_clear(&processes);
	command_close(command);
	return status;
}

/* Programs, maps and per-CPU counters may need more than the usual 1,024 files. A command has
 * been started by now, with the limit it would have. */
static void more_files_allow(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

static exit_status run_or_check(const struct options *options, const struct processes *processes,
				const struct target *target, struct trigger_set *triggers,
				const struct run_conditions *conditions, struct command *command)
{
	int status = threads_check(processes, options);

	if (status)
		return status;
	more_files_allow();
	if (options->triggers[KD_START] || options->triggers[KD_STOP] || options->long_poll)
		tracefs_provide(); /* without tracefs, its users say so */
	if (!options->check)
		placement_choose(target->pid);
	status = trigger_set_find(triggers, options, processes);
	if (status || options->check)
		return status ?: check_triggers(triggers, processes);
	return run_all(options, processes, target, triggers, conditions, command);
}

/* Also looks at a target if one is named. */
static exit_status show_machine(const struct options *options)
{
	struct machine machine = { .root = "" };
	struct target target = { .pid = 0 };
	int status = 0, error;

	if (*options->pids || options->comm || options->pidfile)
		status = target_choose(&target, options, *options->pids);
	if (status)
		return status;
	tracefs_provide(); /* without tracefs, the output says so */
	machine.pid = target.pid;
	if (target.pid) {
		group_quota(target.pid, &machine.quota);
		cpu_rules_read("", proc_thread(target.pid), 0, &machine.rules);
	}
	error = machine_look(&machine);
	if (error)
		status = log_no_memory();
	else
		error = options->machine_json ? machine_json(&machine, stdout)
					      : machine_text(&machine, stdout);
	machine_clear(&machine);
	return !status && error ? log_write_failed("what was found", error) : status;
}

static exit_status list_metrics(void)
{
	int error = metrics_list(stdout);

	return error ? log_write_failed("the list", error) : 0;
}

static exit_status find_and_run(const struct options *options,
				const struct run_conditions *conditions,
				const struct command_signals *signals)
{
	struct processes processes = { 0 };
	struct target target;
	struct trigger_set triggers = { 0 };
	struct command *command = NULL;
	int passed, status = trigger_set_read(&triggers, options);

	/* Checks before it starts a command for nothing. */
	if (!status && options->command)
		status = preflight_check();
	if (!status)
		status = target_take(&processes, &target, &command, options,
				     trigger_set_in_libraries(&triggers), signals);
	if (!status && !options->command)
		status = preflight_check();
	if (!status)
		status = run_or_check(options, &processes, &target, &triggers, conditions, command);
	passed = options->pass_status ? command_status(command) : 0;
	trigger_set_clear(&triggers);
	processes_clear(&processes);
	command_close(command);
	return passed ? passed : status;
}

/* Fills in for closed standard streams; otherwise the next file opened would get the number, and
 * the report. Writes to the stand-in fail. Not every system has /dev/null; without even a root
 * directory, ends in silence. */
static void streams_reserve(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			_exit(EX_OSERR);
	} while (fd <= STDERR_FILENO);
	close(fd);
}

/* Does what the options ask for. */
static exit_status options_obey(const struct options *options,
				const struct command_signals *signals)
{
	struct selection selection = { 0 };
	struct run_conditions conditions = { .selection = &selection };
	struct fail_recorded recorded;
	int status;

	log_set_debug(options->debug);
	log_set_quiet(options->outputs.quiet);
	if (options->list_probes)
		return list_probes(options, signals);
	if (options->list_metrics)
		return list_metrics();
	if (options->machine)
		return show_machine(options);
	recorded = (struct fail_recorded){
		.replayed = options->replay,
		.has = options_scans(options) | (options->outputs.compare ? NEEDS_COMPARISON : 0),
		.counters = &options->counters,
	};
	status = fail_if_new(&conditions.fail_if, "--fail-if", options->fail_if, options->n_fail_if,
			     &recorded);
	recorded.has &= ~(unsigned int)NEEDS_COMPARISON; /* filled in when all samples are there */
	if (!status)
		status = selection_open(&selection, options->record_on, options->record, &recorded);
	if (!status)
		status = options->replay ? run_replay(options, conditions.fail_if)
					 : find_and_run(options, &conditions, signals);
	selection_close(&selection);
	fail_if_free(conditions.fail_if);
	return status;
}

/* A static program would load the other services of names, which are made for another C library. */
static void users_of_files(void)
{
#ifdef LINK_ALL
	__nss_configure_lookup("passwd", "files");
#endif
}

int main(int argc, char **argv)
{
	struct command_signals signals;
	struct options *options;
	int status;

	streams_reserve();
	users_of_files();
	command_signals_read(&signals);
	/* A closed pipe and a file that gets too long are ordinary write errors. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	/* Otherwise an ended child would be reaped, and its PID reused. */
	signal(SIGCHLD, SIG_DFL);
	if (argc > 1 && !strcmp(argv[1], STACKS_CHILD))
		return stacks_child_main(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], COMPLETION_OPTION))
		return completion_print(argc - 1, argv + 1);
	options = malloc(sizeof(*options)); /* the stack may be small */
	if (!options)
		return log_no_memory();
	status = options_parse(argc, argv, options);
	if (!status)
		status = options_obey(options, &signals);
	options_clear(options);
	free(options);
	return status;
}
