// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "process_describe.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/base/clock.h"
#include "cli/base/proc_file.h"

#define PATIENCE_NS (50 * NSEC_PER_MSEC)
#define SILENT_MOST 4 /* are waited for */

/* --- The title --- */

/* It is read from the process's memory, whose lock may be held for long, and whose pages may be
 * with someone who does not answer: get_mm_cmdline(), fs/proc/base.c. So a thread reads it, which
 * may be left behind. */
struct reading {
	pid_t pid;
	ssize_t length; /* -1: it cannot be read */
	char text[PROCESS_TITLE];
	atomic_uint owners; /* the last one frees it */
};

static void reading_drop(struct reading *reading)
{
	if (atomic_fetch_sub(&reading->owners, 1) == 1)
		free(reading);
}

static void *reading_do(void *context)
{
	struct reading *reading = context;

	reading->length = proc_file_read(proc_thread(reading->pid), "cmdline", reading->text,
					 sizeof(reading->text));
	reading_drop(reading);
	return NULL;
}

/* Each argument ends with a NUL, so the first string is argv[0], or the title that the program put
 * in their place, filled up with NULs or blanks. What follows is the other arguments, or what a
 * short title left of them: passwords may be there. */
static void title_take(char title[static PROCESS_TITLE], const struct reading *reading,
		       bool arguments)
{
	size_t length = reading->length > 0 ? (size_t)reading->length : 0;

	if (!arguments)
		length = strnlen(reading->text, length);
	while (length && (!reading->text[length - 1] || reading->text[length - 1] == ' '))
		length--;
	for (size_t i = 0; i < length; i++)
		title[i] = reading->text[i] ? reading->text[i] : ' ';
	title[length] = '\0';
}

/* Returns false if it did not come in time. */
static bool title_read(char title[static PROCESS_TITLE], pid_t pid, bool arguments)
{
	struct reading *reading = calloc(1, sizeof(*reading));
	struct timespec until;
	pthread_t thread;
	bool done;

	if (!reading)
		return true;
	reading->pid = pid;
	reading->owners = 2;
	if (pthread_create(&thread, NULL, reading_do, reading)) {
		free(reading);
		return true;
	}
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += PATIENCE_NS;
	until.tv_sec += until.tv_nsec / (long)NSEC_PER_SEC;
	until.tv_nsec %= (long)NSEC_PER_SEC;
	done = !pthread_timedjoin_np(thread, NULL, &until);
	if (done)
		title_take(title, reading, arguments);
	else
		pthread_detach(thread);
	reading_drop(reading);
	return done;
}

/* --- All of it --- */

void process_container(struct process_describer *describer, struct process_row *row,
		       char id[static CONTAINER_ID + 1], pid_t pid)
{
	struct container container;
	char path[PATH_MAX];

	if (!container_of("/proc", proc_thread(pid), &container, path, sizeof(path)))
		return;
	if (!strcmp(container.id, id))
		return;
	memcpy(id, container.id, sizeof(container.id));
	if (strcmp(container.id, describer->id) != 0) {
		container_describe("", container.id, &describer->names);
		memcpy(describer->id, container.id, sizeof(container.id));
	}
	memcpy(row->container, describer->names.name, sizeof(row->container));
	if (!*row->container)
		memcpy(row->container, container.id, sizeof(container.id));
	memcpy(row->image, describer->names.image, sizeof(row->image));
	memcpy(row->pod, describer->names.pod, sizeof(row->pod));
	if (!*row->pod)
		memcpy(row->pod, container.pod, sizeof(container.pod));
}

void process_name(struct process_row *row, pid_t pid)
{
	char name[KD_COMM_LEN + 1];
	ssize_t length = proc_comm_read(pid, name, sizeof(name));

	if (length <= 0)
		return;
	memset(row->name, 0, sizeof(row->name));
	memcpy(row->name, name, (size_t)length);
}

void process_describe(struct process_describer *describer, struct process_row *row,
		      char id[static CONTAINER_ID + 1], pid_t pid)
{
	process_name(row, pid);
	if (describer->silent < SILENT_MOST && !title_read(row->title, pid, describer->arguments))
		describer->silent++;
	process_container(describer, row, id, pid);
}
