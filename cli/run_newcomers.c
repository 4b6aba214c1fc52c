// SPDX-License-Identifier: Apache-2.0
#include "run_newcomers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/base/clock.h"
#include "cli/base/log.h"
#include "cli/capture/session_processes.h"
#include "cli/capture/session_triggers.h"

#define LOAD_NS (10 * NSEC_PER_MSEC) /* for the dynamic linker */
#define NEWCOMERS_MAX (2 * KD_PROCESSES)
#define LOOKS_AT_ONCE 16 /* about 1 ms, if they run what others do */

static void add(struct newcomers *newcomers, struct newcomer newcomer)
{
	if (newcomers->n == NEWCOMERS_MAX ||
	    ARRAY_GROW(newcomers->all, newcomers->n, newcomers->room))
		newcomers->missed++;
	else
		newcomers->all[newcomers->n++] = newcomer;
}

void newcomers_begin(struct newcomers *newcomers, const struct run *run)
{
	uint64_t now = clock_monotonic();

	for (size_t i = 0; i < run->processes->n; i++)
		add(newcomers, (struct newcomer){ .pid = run->processes->all[i].pid, now, true });
}

void newcomers_add(struct newcomers *newcomers, pid_t pid, uint64_t at)
{
	add(newcomers, (struct newcomer){ .pid = pid, .due_at = at + LOAD_NS });
}

/* The stop first, as ever. */
static void sites_attach(struct run *run, const size_t before[KD_ROLES])
{
	const struct trigger_set *set = run->triggers;

	for (int role = KD_ROLES - 1; role >= 0; role--) {
		if (set->n_sets[role] == before[role])
			continue;
		/* That file is what is wrong, and one of its processes is not to end the run. */
		if (triggers_extend(session_triggers(run->session), role, set->n_sets[role]))
			log_warn("trigger '%s': left out in %s", set->triggers[role].text,
				 sites_get(set->sets[role][before[role]], 0)->object);
		else
			log_note("trigger '%s' is now also in %s", set->triggers[role].text,
				 sites_get(set->sets[role][before[role]], 0)->object);
	}
}

static exit_status newcomer_look(struct newcomers *newcomers, struct run *run, pid_t pid,
				 bool was_searched)
{
	size_t before[KD_ROLES];
	int error;

	memcpy(before, run->triggers->n_sets, sizeof(before));
	error = trigger_set_add(run->triggers, pid);
	if (error == -ENOMEM)
		return log_no_memory();
	newcomers->missed += error && !was_searched;
	sites_attach(run, before);
	return 0;
}

exit_status newcomers_look(struct newcomers *newcomers, struct run *run)
{
	uint64_t now = clock_monotonic();
	pid_t joined[LOOKS_AT_ONCE];
	size_t n, looked = 0;
	int status = 0;

	n = several_newcomers(session_several(run->session), joined, LOOKS_AT_ONCE);
	for (size_t i = 0; i < n && !status; i++)
		status = newcomer_look(newcomers, run, joined[i], false);
	for (; looked < newcomers->n && looked < LOOKS_AT_ONCE && !status; looked++) {
		if (newcomers->all[looked].due_at > now)
			break;
		status = newcomer_look(newcomers, run, newcomers->all[looked].pid,
				       newcomers->all[looked].was_searched);
	}
	newcomers->n -= looked;
	if (looked)
		memmove(newcomers->all, newcomers->all + looked,
			newcomers->n * sizeof(*newcomers->all));
	return status;
}

void newcomers_tell(const struct newcomers *newcomers)
{
	if (newcomers->missed)
		log_warn("processes of the target that could not be searched for triggers after "
			 "execve or on joining it: %llu (they had ended, or were too many); hits "
			 "in programs that no other process runs are missing: start the run when "
			 "these programs are running",
			 (unsigned long long)newcomers->missed);
}

void newcomers_clear(struct newcomers *newcomers)
{
	free(newcomers->all);
	memset(newcomers, 0, sizeof(*newcomers));
}
