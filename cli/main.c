// SPDX-License-Identifier: Apache-2.0
/* The order of things: options, target, checks, triggers, run. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "../probes/list.h"
#include "capture/kernelfs.h"
#include "exit_status.h"
#include "fail_if.h"
#include "log.h"
#include "options.h"
#include "placement.h"
#include "preflight.h"
#include "report/metrics.h"
#include "run.h"
#include "target.h"
#include "trigger_set.h"

static int listing_failed(int error)
{
	log_error("cannot write the list: %s", strerror(-error));
	return EX_IOERR;
}

/* What the kernel has needs no target. */
static bool list_needs_target(const struct options *options)
{
	struct trigger only = { 0 };

	return options->pid || options->comm || !options->list_glob ||
	       !trigger_kind_read(&only.kind, options->list_glob) || trigger_is_user(&only);
}

static int list_probes(const struct options *options)
{
	struct target target = { .pid = 0 };
	int status = 0;

	if (list_needs_target(options))
		status = target_find(&target, options->pid, options->comm);
	if (status)
		return status;
	tracefs_provide(); /* where it cannot be had, the list says so */
	status = probes_list(stdout, target.pid, options->list_glob);
	return status < 0 ? listing_failed(status) : status;
}

static int check_triggers(const struct trigger_set *triggers)
{
	static const char *const roles[KD_ROLES] = { [KD_START] = "start", [KD_STOP] = "stop" };
	int error = 0;

	for (int role = 0; role < KD_ROLES; role++)
		for (size_t i = 0; i < triggers->n_sets[role] && !error; i++)
			error = triggers_check(stdout, roles[role], &triggers->triggers[role],
					       triggers->sets[role][i],
					       triggers->target_only[role]);
	return error ? listing_failed(error) : 0;
}

static int run_or_check(const struct options *options, const struct target *target,
			struct fail_if *fail_if)
{
	struct trigger_set triggers;
	int status;

	if (options->triggers[KD_START] || options->triggers[KD_STOP] || options->long_poll)
		tracefs_provide(); /* where it cannot be had, what needs it says so */
	if (!options->check)
		placement_choose(target->pid);
	status = trigger_set_find(&triggers, options, target->pid);
	if (!status && options->check)
		status = check_triggers(&triggers);
	else if (!status)
		status = run_all(options, target, &triggers, fail_if);
	trigger_set_clear(&triggers);
	return status;
}

static int list_metrics(void)
{
	int error = metrics_list(stdout);

	return error ? listing_failed(error) : 0;
}

static int find_and_run(const struct options *options, struct fail_if *fail_if)
{
	struct target target;
	int status = target_find(&target, options->pid, options->comm);

	if (!status)
		status = preflight_check();
	return status ? status : run_or_check(options, &target, fail_if);
}

int main(int argc, char **argv)
{
	struct options options;
	struct fail_if *fail_if = NULL;
	int status;

	/* A closed pipe and a file that gets too long are write errors like others. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	/* Else a child that has ended would be gone, and its PID another's. */
	signal(SIGCHLD, SIG_DFL);
	status = options_parse(argc, argv, &options);
	if (status)
		return status;
	log_set_debug(options.debug);
	log_set_quiet(options.quiet);
	if (options.list_probes)
		return list_probes(&options);
	if (options.list_metrics)
		return list_metrics();
	status = fail_if_new(&fail_if, options.fail_if, options.n_fail_if,
			     options.off_cpu || options.replay,
			     options.histogram || options.replay);
	if (!status)
		status = options.replay ? run_replay(&options, fail_if)
					: find_and_run(&options, fail_if);
	fail_if_free(fail_if);
	return status;
}
