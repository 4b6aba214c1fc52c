// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "probes/attach.h"
#include "probes/attach_cost.h"
#include "probes/list.h"

static const char *const role_names[KD_ROLES] = { [KD_START] = "start", [KD_STOP] = "stop" };

static exit_status sites_check(const struct attach_costs *costs, const struct trigger_set *set,
			       enum kd_role role, const struct sites *sites)
{
	size_t n = sites_count(sites);
	uint64_t *ns = calloc(n + 1, sizeof(*ns));
	int error;

	if (!ns)
		return log_no_memory();
	for (size_t i = 0; i < n; i++)
		ns[i] = attach_cost(costs, &set->triggers[role], sites_get(sites, i));
	error = triggers_check(stdout, role_names[role], &set->triggers[role], sites,
			       set->target_only[role], ns);
	free(ns);
	return error ? log_write_failed("the list", error) : 0;
}

/* As a run does it: what attaching says counts, and whether the probes are in the process's memory
 * then. Hits meanwhile cost the process what they would cost it in a run. */
static exit_status probes_check(const struct attach_costs *costs, const struct trigger_set *set,
				const struct trigger_sites *all, const struct processes *processes)
{
	struct attachment *attachments[KD_ROLES] = { NULL };
	const struct bpf_program *program = attach_costs_program(costs);
	pid_t pid = processes->all[0].pid;
	int status = 0;

	for (int role = 0; role < KD_ROLES && program && !status; role++)
		if (all[role].n_sets && trigger_is_user(all[role].trigger))
			status = attachment_open(&attachments[role], program, all[role].trigger,
						 all[role].sets, all[role].n_sets,
						 set->everywhere ? 0 : pid);
	if (!status && program)
		status = trigger_set_placed(set, processes, pid);
	attachments_close(attachments, KD_ROLES);
	return status;
}

exit_status check_triggers(const struct trigger_set *set, const struct processes *processes)
{
	struct trigger_sites all[KD_ROLES];
	struct attach_costs *costs;
	int status = 0;

	for (int role = 0; role < KD_ROLES; role++)
		all[role] = (struct trigger_sites){ &set->triggers[role], set->sets[role],
						    set->n_sets[role], &set->conditions[role] };
	costs = attach_costs_new(all, KD_ROLES);
	if (!costs)
		return log_no_memory();
	attach_costs_measure(costs);
	for (int role = 0; role < KD_ROLES; role++)
		for (size_t i = 0; i < set->n_sets[role] && !status; i++)
			status = sites_check(costs, set, role, set->sets[role][i]);
	if (!status)
		status = probes_check(costs, set, all, processes);
	attach_costs_free(costs);
	return status;
}
