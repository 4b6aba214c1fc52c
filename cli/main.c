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
#include "log.h"
#include "options.h"
#include "placement.h"
#include "preflight.h"
#include "run.h"
#include "target.h"
#include "trigger_set.h"

static int listing_failed(int error)
{
	log_error("cannot write the list: %s", strerror(-error));
	return EX_IOERR;
}

static int list_probes(const struct options *options, const struct target *target)
{
	int error = probes_list(stdout, target->pid, options->list_glob);

	return error ? listing_failed(error) : 0;
}

static int check_triggers(const struct trigger_set *triggers)
{
	static const char *const roles[KD_ROLES] = { [KD_START] = "start", [KD_STOP] = "stop" };
	int error = 0;

	for (int role = 0; role < KD_ROLES; role++)
		for (size_t i = 0; i < triggers->n_sets[role] && !error; i++)
			error = triggers_check(stdout, roles[role], &triggers->triggers[role],
					       triggers->sets[role][i]);
	return error ? listing_failed(error) : 0;
}

static int run_or_check(const struct options *options, const struct target *target)
{
	struct trigger_set triggers;
	int status;

	status = trigger_set_find(&triggers, options, target->pid);
	if (!status && options->check)
		status = check_triggers(&triggers);
	else if (!status)
		status = run_all(options, target, &triggers);
	trigger_set_clear(&triggers);
	return status;
}

int main(int argc, char **argv)
{
	struct options options;
	struct target target;
	int status;

	signal(SIGPIPE, SIG_IGN); /* a closed pipe is a write error like others */
	status = options_parse(argc, argv, &options);
	if (status)
		return status;
	log_set_debug(options.debug);
	status = target_find(&target, options.pid, options.comm);
	if (!status)
		status = preflight_check();
	if (status)
		return status;
	/* Where it cannot be mounted, what needs it says so. */
	if (options.list_probes || options.triggers[KD_START] || options.triggers[KD_STOP] ||
	    options.long_poll)
		tracefs_provide();
	if (options.list_probes)
		return list_probes(&options, &target);
	if (!options.check)
		placement_choose(target.pid);
	return run_or_check(&options, &target);
}
