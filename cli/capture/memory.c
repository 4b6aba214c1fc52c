// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/base/proc_file.h"
#include "cli/model/resource.h"

struct memory_reading {
	pid_t pid;
	uint64_t bytes, peak;
};

static int by_pid(const void *a, const void *b)
{
	const struct memory_reading *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Reads the peak in /proc/PID/status; 0: absent. By line, as that of groups may be long. */
static uint64_t peak_read(pid_t pid)
{
	char path[sizeof("/proc//status") + 3 * sizeof(pid)], *line = NULL;
	uint64_t kib = 0;
	size_t size = 0;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	status = fopen(path, "re");
	while (status && !kib && getline(&line, &size, status) > 0)
		sscanf(line, "VmHWM: %" SCNu64, &kib);
	free(line);
	if (status)
		fclose(status);
	return kib * 1024;
}

/* Missing values stay 0. The peak may be slightly older than the other value. */
static void reading_take(struct memory_reading *reading)
{
	char text[256];
	uint64_t pages;

	if (proc_file_read(reading->pid, "statm", text, sizeof(text)) > 0 &&
	    sscanf(text, "%*u %" SCNu64, &pages) == 1)
		reading->bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	reading->peak = peak_read(reading->pid);
	if (reading->peak && reading->peak < reading->bytes)
		reading->peak = reading->bytes;
}

void memory_forget(struct memory_log *log)
{
	free(log->all);
	*log = (struct memory_log){ 0 };
}

int memory_begin(struct memory_log *log, const struct session *session)
{
	struct session_view view = session_window_now(session);
	struct memory_reading *all = calloc(view.slots, sizeof(*all));
	size_t threads = 0;

	memory_forget(log);
	if (!all)
		return -ENOMEM;
	for (uint32_t slot = 1; slot < view.slots; slot++)
		if (view.threads[slot].task && !view.threads[slot].died)
			all[threads++].pid = (pid_t)view.threads[slot].tgid;
	qsort(all, threads, sizeof(*all), by_pid);
	for (size_t i = 0; i < threads; i++)
		if (!log->n || all[log->n - 1].pid != all[i].pid)
			all[log->n++] = (struct memory_reading){ .pid = all[i].pid };
	log->all = all;
	for (size_t i = 0; i < log->n; i++)
		reading_take(&all[i]);
	return 0;
}

static const struct memory_reading *reading_find(const struct memory_log *log, pid_t pid)
{
	const struct memory_reading key = { .pid = pid };

	return log->n ? bsearch(&key, log->all, log->n, sizeof(key), by_pid) : NULL;
}

int memory_end(struct memory_log *log, const struct session *session, struct sample *sample)
{
	struct memory_log before = *log;
	int error;

	*log = (struct memory_log){ 0 };
	error = memory_begin(log, session);
	for (size_t i = 0; i < sample->n_usages && !error; i++) {
		struct usage_row *usage = &sample->usages[i];
		const struct process_row *process = process_at(sample, usage->pid,
							       usage->process_start);
		const struct memory_reading *start = reading_find(&before, usage->pid);
		const struct memory_reading *end = reading_find(log, usage->pid);

		if (process && process->members > 1)
			continue;
		/* Among processes of one PID, only the first has a start, and the last an end. */
		if (i && usage[-1].pid == usage->pid)
			start = NULL;
		if (usage != usage_find(sample, usage->pid))
			end = NULL;
		usage->memory = (struct memory){ start ? start->bytes : 0, end ? end->bytes : 0,
						 end ? end->peak : 0 };
	}
	memory_forget(&before);
	return error;
}
