// SPDX-License-Identifier: Apache-2.0
/* The target has ended, and another process takes its place. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/process/appear.h"
#include "cli/process/pids.h"
#include "cli/process/target.h"
#include "run_sampling.h"

/* It may start before the old one has ended, by as much. */
#define OVERLAP_NS (2 * NSEC_PER_SEC)
/* The first process of a daemon that forks ends within this time, and is not meant. */
#define SETTLE_NS (50 * NSEC_PER_MSEC)

struct search {
	struct run *run;
	struct appear appear;
	uint64_t not_before; /* in which it started, as of struct identity */
	struct identity found;
	uint64_t settled_at; /* CLOCK_MONOTONIC ns; 0: none is found */
};

/* Of several the first one. */
static void candidate_look(void *context, pid_t pid, const char *comm)
{
	struct search *search = context;
	struct target_name name = target_name_of(search->run->options);
	struct identity candidate;

	if (strcmp(comm, search->run->identity.name) != 0 || !identity_read(&candidate, pid) ||
	    !identity_is_successor(&search->run->identity, &candidate) ||
	    candidate.started < search->not_before ||
	    (search->settled_at && candidate.started >= search->found.started) ||
	    (name.comm && !target_name_fits(&name, pid, comm)))
		return;
	search->found = candidate;
	search->settled_at = clock_monotonic() + SETTLE_NS;
}

static int successor_look(void *context)
{
	struct search *search = context;
	bool appeared;

	if (outputs_refresh(search->run->outputs))
		return -ENOMEM;
	/* In any case: what is not read would wake the loop again at once. */
	appeared = appear_look(&search->appear);
	if (!search->settled_at && appeared)
		target_each(candidate_look, search);
	if (!search->settled_at || clock_monotonic() < search->settled_at)
		return 0;
	if (identity_is_alive(&search->found))
		return 1;
	search->settled_at = 0;
	target_each(candidate_look, search);
	return 0;
}

exit_status run_successor_await(struct run *run, bool *found)
{
	struct search search = { .run = run };
	uint64_t now = identity_clock();
	enum loop_event event;

	search.not_before = now > OVERLAP_NS ? now - OVERLAP_NS : 0;
	log_note("process %d has ended: waiting for another %s", (int)run->target->pid,
		 run->identity.name);
	loop_forget_process(run->loop);
	appear_open(&search.appear, run->identity.name);
	loop_watch(run->loop, appear_fd(&search.appear));
	while ((event = loop_wait(run->loop, run->deadline, successor_look, &search)) ==
	       LOOP_PRESSED)
		log_warn("SIGUSR1: nothing is recorded while there is no process");
	appear_close(&search.appear);
	*found = event == LOOP_DONE;
	if (!*found)
		return event == LOOP_ERROR ? EX_OSERR : 0;
	run->restarts++;
	if (!run->predecessor)
		run->predecessor = run->target->pid;
	run->identity = search.found;
	run->successor = (struct target){
		.pid = search.found.pid,
		.threads = target_threads(search.found.pid),
		.is_vswitchd = run->target->is_vswitchd,
	};
	run->target = &run->successor;
	return 0;
}
