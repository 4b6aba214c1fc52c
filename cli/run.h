/* SPDX-License-Identifier: Apache-2.0 */
/* One run: the samples that the options ask for, each taken and printed. */
#ifndef RUN_H
#define RUN_H

#include "cli/base/exit_status.h"
#include "cli/options/options.h"
#include "cli/output/fail_if.h"
#include "cli/process/command.h"
#include "cli/process/processes.h"
#include "cli/process/target.h"
#include "cli/process/trigger_set.h"

struct record_on;

/* What samples may fulfil. */
struct run_conditions {
	struct fail_if *fail_if;
	struct record_on *record_on; /* NULL: all samples are reported */
};

/* Takes and prints all samples of the processes, of which target is the first. It may be a command
 * that waits to be released; else that is NULL. Returns 0 or, after printing why, an exit status;
 * if the command was released, when it has ended or two signals have come. */
exit_status run_all(const struct options *options, const struct processes *processes,
		    const struct target *target, struct trigger_set *triggers,
		    const struct run_conditions *conditions, struct command *command);

/* Prints the samples of --replay. Returns as above. */
exit_status run_replay(const struct options *options, struct fail_if *fail_if);

#endif
