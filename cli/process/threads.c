// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "threads.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/base/exit_status.h"
#include "cli/base/log.h"

static bool process_has(pid_t pid, pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)pid, (int)tid);
	return !access(path, F_OK);
}

exit_status threads_check(const struct processes *processes, const struct options *options)
{
	for (size_t i = 0; i < PIDS_MAX && options->tids[i]; i++) {
		pid_t tid = options->tids[i];
		size_t at = 0;

		while (at < processes->n && !process_has(processes->all[at].pid, tid))
			at++;
		if (at < processes->n)
			continue;
		log_error("the target has no thread %d", (int)tid);
		log_hint("`ps -L -p %d` lists the threads of its first process",
			 (int)processes->all[0].pid);
		return EX_UNAVAILABLE;
	}
	return 0;
}
