/* SPDX-License-Identifier: Apache-2.0 */
/* One run: takes and prints the samples that the options ask for. */
#ifndef RUN_H
#define RUN_H

#include "cli/base/exit_status.h"
#include "cli/options/options.h"
#include "cli/output/fail_if.h"
#include "cli/process/command.h"
#include "cli/process/processes.h"
#include "cli/process/target.h"
#include "cli/process/trigger_set.h"

struct selection;

/* Conditions on samples. */
struct run_conditions {
	struct fail_if *fail_if;
	struct selection *selection; /* of windows that are reported */
};

/* Takes and prints all samples of the processes; target is the first one. Command is one that
 * waits to be released, or NULL. Returns 0, or an exit status after printing why. If the command
 * was released, returns when it has ended, or after two signals. */
exit_status run_all(const struct options *options, const struct processes *processes,
		    const struct target *target, struct trigger_set *triggers,
		    const struct run_conditions *conditions, struct command *command);

/* Prints the samples of --replay. Returns as run_all() does. */
exit_status run_replay(const struct options *options, struct fail_if *fail_if);

#endif
