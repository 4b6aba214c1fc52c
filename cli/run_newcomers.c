// SPDX-License-Identifier: Apache-2.0
#include "run_newcomers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/base/clock.h"
#include "cli/base/log.h"
#include "cli/capture/parts/processes.h"
#include "cli/capture/parts/triggers.h"
#include "cli/capture/session.h"
#include "run_sampling.h"

#define NEWCOMERS_MAX (2 * KD_PROCESSES)
#define LOOKS_AT_ONCE 16 /* about 1 ms, if they run known files */

/* No event tells when the dynamic linker has mapped a program's libraries, and a busy machine or
 * slow disk delays it. So looks at the program at these times after its execve. */
static const uint64_t looks_after[] = { 10 * NSEC_PER_MSEC, 100 * NSEC_PER_MSEC, NSEC_PER_SEC };
#define LOOKS (sizeof(looks_after) / sizeof(*looks_after))

static void add(struct newcomers *newcomers, struct newcomer newcomer)
{
	if (newcomers->n == NEWCOMERS_MAX ||
	    ARRAY_ADD(newcomers->all, newcomers->n, newcomers->capacity, newcomer))
		newcomers->missed++;
}

void newcomers_begin(struct newcomers *newcomers, const struct run_state *run)
{
	uint64_t now = clock_monotonic();

	for (size_t i = 0; i < run->processes->n; i++)
		add(newcomers, (struct newcomer){ .pid = run->processes->all[i].pid,
						  .due_at = now,
						  .looks = LOOKS,
						  .was_searched = true });
}

void newcomers_add(struct newcomers *newcomers, pid_t pid, uint64_t at)
{
	add(newcomers, (struct newcomer){ .pid = pid, .due_at = at + looks_after[0] });
}

/* Attaches the stop trigger first, as everywhere. */
static void sites_attach(struct run_state *run, const size_t before[KD_ROLES])
{
	for (int role = KD_ROLES - 1; role >= 0; role--) {
		const struct trigger_sites *given = &run->triggers->triggers[role];

		if (given->n_sets == before[role])
			continue;
		/* A bad file of one process must not end the run. */
		if (!triggers_extend(session_triggers(run->session), role, before[role]))
			log_note("trigger '%s' is now also in %s", given->trigger.text,
				 given->sets[before[role]]->all[0].object);
	}
}

static exit_status newcomer_look(struct newcomers *newcomers, struct run_state *run,
				 struct newcomer *newcomer)
{
	size_t before[KD_ROLES];
	int error;

	for (int role = 0; role < KD_ROLES; role++)
		before[role] = run->triggers->triggers[role].n_sets;
	error = trigger_set_add(run->triggers, newcomer->pid);
	if (error == -ENOMEM)
		return log_no_memory();
	newcomers->missed += error && !newcomer->was_searched;
	newcomer->was_searched = true;
	sites_attach(run, before);
	if (error)
		newcomer->looks = LOOKS;
	else if (++newcomer->looks < LOOKS)
		newcomer->due_at += looks_after[newcomer->looks] - looks_after[newcomer->looks - 1];
	return 0;
}

exit_status newcomers_look(struct newcomers *newcomers, struct run_state *run)
{
	uint64_t now = clock_monotonic();
	pid_t joined[LOOKS_AT_ONCE];
	size_t n, looked = 0, left = 0;
	int status = 0;

	n = process_set_newcomers(session_process_set(run->session), joined, LOOKS_AT_ONCE);
	for (size_t i = 0; i < n && !status; i++)
		status = newcomer_look(newcomers, run,
				       &(struct newcomer){ .pid = joined[i], .looks = LOOKS });
	for (size_t i = 0; i < newcomers->n; i++) {
		struct newcomer newcomer = newcomers->all[i];

		if (newcomer.due_at <= now && looked < LOOKS_AT_ONCE && !status) {
			status = newcomer_look(newcomers, run, &newcomer);
			looked++;
			if (newcomer.looks >= LOOKS)
				continue;
		}
		newcomers->all[left++] = newcomer;
	}
	newcomers->n = left;
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
