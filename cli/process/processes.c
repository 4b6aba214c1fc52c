// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "processes.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/base/proc_file.h"
#include "cli/base/texts.h"
#include "container.h"
#include "target.h"

/* --- Names --- */

#define PATIENCE_NS (50 * NSEC_PER_MSEC)
#define SILENT_MOST 4 /* to wait for */

/* --- Titles --- */

/* Read from process memory, whose lock may be held for long, and whose pages may depend on an
 * unresponsive server: get_mm_cmdline(), fs/proc/base.c. So a thread reads it, which may be left
 * behind. */
struct reading {
	pid_t pid;
	ssize_t length; /* -1: unreadable */
	char text[PROCESS_TITLE];
	atomic_uint owners; /* the last owner frees it */
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

/* Arguments end in NULs, so the first string is argv[0], or the title that the program put in
 * their place, padded with NULs or blanks. Further arguments, or what a short title left of
 * them, may contain passwords. */
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

/* Returns false after a timeout. */
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
	until = clock_timespec(clock_monotonic() + PATIENCE_NS);
	done = !pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until);
	if (done)
		title_take(title, reading, arguments);
	else
		pthread_detach(thread);
	reading_drop(reading);
	return done;
}

/* --- Description --- */

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

/* --- Threads chosen by TID --- */

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

/* --- A running container, by its name --- */

#define PREFIX_LEAST 4 /* digits of an ID */
#define ID_SHOWN 12    /* as displayed by the runtimes */
#define LISTED 8

/* A container with processes. */
struct running {
	struct container is;
	struct container_names names;
	char *path; /* of a cgroup in it */
};

struct running_list {
	struct running *all;
	size_t n, capacity;
	bool no_memory;
};

/* True if this is the group of the container, or below it. Users who may make groups can give
 * one the ID of a foreign container. */
static bool is_there(const struct running *running, const struct container *container,
		     const char *path)
{
	return !strcmp(running->is.id, container->id) && running->is.end == container->end &&
	       !strncmp(running->path, path, container->end);
}

static void running_add(struct running_list *list, pid_t pid)
{
	struct running *running;
	struct container container;
	char path[PATH_MAX];

	if (!container_of("/proc", proc_thread(pid), &container, path, sizeof(path)))
		return;
	for (size_t i = 0; i < list->n; i++)
		if (is_there(&list->all[i], &container, path))
			return;
	if (ARRAY_GROW(list->all, list->n, list->capacity)) {
		list->no_memory = true;
		return;
	}
	running = &list->all[list->n];
	*running = (struct running){ .is = container, .path = strdup(path) };
	if (!running->path) {
		list->no_memory = true;
		return;
	}
	container_describe("", container.id, &running->names);
	list->n++;
}

static void running_clear(struct running_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->all[i].path);
	free(list->all);
}

/* Ways a word can name a container; the first match counts. */
enum meaning {
	MEANS_ID,
	MEANS_NAME,
	MEANS_NAME_IN_POD,
	MEANS_POD,
	MEANS_PREFIX,
	MEANINGS,
};

static bool is_same(const char *word, const char *text)
{
	return *text && !strcmp(word, text);
}

static bool is_pod_and_name(const struct container_names *names, const char *word)
{
	size_t length = strlen(names->pod);

	return length && !strncmp(word, names->pod, length) && word[length] == '/' &&
	       is_same(word + length + 1, names->name);
}

static bool means(const struct running *running, const char *word, enum meaning meaning)
{
	const struct container_names *names = &running->names;

	switch (meaning) {
	case MEANS_ID:
		return is_same(word, running->is.id);
	case MEANS_NAME:
		return is_same(word, names->name);
	case MEANS_NAME_IN_POD:
		return is_pod_and_name(names, word);
	case MEANS_POD:
		return *running->is.pod &&
		       (is_same(word, names->pod) || is_same(word, running->is.pod));
	default:
		return strlen(word) >= PREFIX_LEAST && !strncmp(word, running->is.id, strlen(word));
	}
}

static void running_hint(const struct running_list *list, const char *word, enum meaning meaning)
{
	char text[LISTED * (ID_SHOWN + 2 * PROCESS_LABEL + 16)] = "";
	size_t n = 0;

	for (size_t i = 0; i < list->n && n < LISTED; i++) {
		const struct running *running = &list->all[i];
		const struct container_names *names = &running->names;

		if (meaning < MEANINGS && !means(running, word, meaning))
			continue;
		text_append(text, sizeof(text), "%s%.*s (%s%s%s)", n++ ? ", " : "", ID_SHOWN,
			    running->is.id, names->pod, *names->pod ? "/" : "",
			    *names->name ? names->name : "name not known");
	}
	if (n)
		log_hint("%s: %s", meaning < MEANINGS ? "give the ID of one" : "containers are",
			 text);
	else
		log_hint("no process is in the control group of a container; --cgroup takes any "
			 "group");
}

/* Picks the match. A pod with several containers is taken as a unit; everything else must be
 * unique. Returns 0, or an exit status after printing what is wrong. */
static exit_status running_choose(const struct running_list *list, const char *word, char *path,
				  size_t size)
{
	for (enum meaning meaning = MEANS_ID; meaning < MEANINGS; meaning++) {
		const struct running *found = NULL;
		size_t end;

		for (size_t i = 0; i < list->n; i++) {
			const struct running *running = &list->all[i];

			if (!means(running, word, meaning))
				continue;
			if (found &&
			    (meaning != MEANS_POD || strcmp(found->is.pod, running->is.pod) != 0)) {
				log_error("several containers are called '%s'", word);
				running_hint(list, word, meaning);
				return EX_NOINPUT;
			}
			found = running;
		}
		if (!found)
			continue;
		end = meaning == MEANS_POD ? found->is.pod_end : found->is.end;
		snprintf(path, size, "%.*s", (int)end, found->path);
		return 0;
	}
	log_error("no container or pod '%s' is running", word);
	running_hint(list, word, MEANINGS);
	return EX_UNAVAILABLE;
}

/* Sets *path, of size bytes, to the cgroup of a running container given by name, POD/NAME or ID
 * prefix; or of a pod given by name or UID. Full matches precede ID prefixes. Returns 0, or
 * after printing what is wrong EX_UNAVAILABLE (none), EX_NOINPUT (several; they are listed), or
 * EX_OSERR. */
static exit_status container_find(const char *word, char *path, size_t size)
{
	struct running_list list = { 0 };
	struct process_walk walk = { 0 };
	int status;

	while (target_next(&walk))
		running_add(&list, walk.pid);
	status = list.no_memory ? log_no_memory() : running_choose(&list, word, path, size);
	running_clear(&list);
	return status;
}

/* --- Target processes, now and by rules for later ones --- */

#define GROUP_PAUSE (50 * NSEC_PER_MSEC) /* between two scans, which take about 0.1 ms */

struct list {
	struct processes *processes;
	size_t capacity;
	bool no_memory;
};

static int compare_processes(const void *a, const void *b)
{
	return ORDER(((const struct process *)a)->pid, ((const struct process *)b)->pid);
}

static void processes_sort(struct processes *processes)
{
	ARRAY_SORT(processes->all, processes->n, compare_processes);
	processes->n = ARRAY_UNIQUE(processes->all, processes->n, compare_processes);
}

/* Adds a process, unless it has ended. */
static void list_add(struct list *list, pid_t pid)
{
	struct processes *processes = list->processes;
	struct proc_stat stat;

	if (!proc_stat_read(&stat, pid) || stat.kernel || !stat.threads)
		return;
	if (ARRAY_ADD(processes->all, processes->n, list->capacity,
		      (struct process){
			      .pid = pid, .started = stat.started, .threads = stat.threads }))
		list->no_memory = true;
}

/* Finishes a list; pid: a process just found running. */
static exit_status list_finish(struct list *list, pid_t pid)
{
	if (list->no_memory)
		return log_no_memory();
	processes_sort(list->processes);
	if (list->processes->n)
		return 0;
	log_error("process %d has just ended", (int)pid);
	log_hint("--wait waits for the next one of a name");
	return EX_UNAVAILABLE;
}

/* Chooses by PIDs, or by any other option that names a single process. */
static exit_status choose_each(struct processes *processes, const struct options *options)
{
	struct list list = { .processes = processes };
	struct target target = { .pid = 0 };
	size_t i = 0;
	int status;

	do {
		status = target_choose(&target, options, options->pids[i]);
		if (!status)
			list_add(&list, target.pid);
	} while (!status && ++i < PIDS_MAX && options->pids[i]);
	return status ? status : list_finish(&list, target.pid);
}

static exit_status choose_named(struct processes *processes, const struct options *options)
{
	const struct target_name name = target_name_of(options);
	struct list list = { .processes = processes };
	struct target target = { .pid = 0 };
	struct process_walk walk = { 0 };
	int status = 0;

	target_await(options);
	while (target_next(&walk))
		if (target_name_fits(&name, walk.pid, walk.stat.comm))
			list_add(&list, walk.pid);
	if (!processes->n && !list.no_memory) {
		status = target_find(&target, 0, &name);
		if (!status)
			list_add(&list, target.pid);
	}
	return status ? status : list_finish(&list, target.pid);
}

static exit_status group_failed(const char *path, int error)
{
	if (error == -EOPNOTSUPP) {
		log_error("control group %s is one for threads, not for processes", path);
		log_hint("give the group above it that has their processes");
	} else {
		log_error("cannot read control group %s: %s", path, strerror(-error));
		if (error == -ENOENT)
			log_hint("`cat /proc/PID/cgroup` says in which one a process is");
		else if (error == -EACCES || error == -EPERM)
			log_hint("run it as root");
	}
	return error == -EACCES || error == -EPERM ? EX_NOPERM : EX_UNAVAILABLE;
}

/* Returns 0, even without processes, or a negative errno. */
static int group_list(struct list *list, const char *path)
{
	struct processes *processes = list->processes;
	pid_t *pids = NULL;
	size_t n = 0;
	int error = group_find(&processes->group, path);

	if (!error)
		error = group_processes(&processes->group, &pids, &n);
	for (size_t i = 0; i < n && !error; i++)
		if (pids[i] != getpid())
			list_add(list, pids[i]);
	free(pids);
	return list->no_memory ? -ENOMEM : error;
}

/* Lists a group once it has a process, or after wait (ns; 0: at once). */
static int group_await(struct list *list, const char *path, uint64_t wait)
{
	uint64_t began = clock_monotonic(), now = began, deadline = u64_add(began, wait);
	int error = group_list(list, path);

	/* -ENODEV: it has just been removed. */
	while ((!error || error == -ENOENT || error == -ENODEV) && !list->processes->n &&
	       now < deadline) {
		if (now == began)
			log_note("waiting for a process in control group %s", path);
		now = clock_monotonic();
		clock_wait_until(u64_min(deadline, now + GROUP_PAUSE));
		error = group_list(list, path);
		now = clock_monotonic();
	}
	return error;
}

static exit_status choose_group(struct processes *processes, const char *path, uint64_t wait)
{
	struct list list = { .processes = processes };
	int error = group_await(&list, path, wait);

	if (error == -ENOMEM)
		return log_no_memory();
	if (error)
		return group_failed(path, error);
	processes->in_group = true;
	processes_sort(processes);
	if (processes->n)
		return 0;
	log_error("there is no process in control group %s", path);
	log_hint("`cat /proc/PID/cgroup` says in which one a process is; --wait waits for one");
	return EX_UNAVAILABLE;
}

static exit_status choose_container(struct processes *processes, const char *word)
{
	char path[PATH_MAX];
	int status = container_find(word, path, sizeof(path));

	return status ? status : choose_group(processes, path, 0);
}

exit_status processes_choose(struct processes *processes, const struct options *options)
{
	memset(processes, 0, sizeof(*processes));
	processes->follow_fork = options->follow_fork;
	processes->show_arguments = options->show_arguments;
	if (options->cgroup)
		return choose_group(processes, options->cgroup, options->wait);
	if (options->container)
		return choose_container(processes, options->container);
	return options->all ? choose_named(processes, options) : choose_each(processes, options);
}

exit_status processes_of(struct processes *processes, pid_t pid, const struct options *options)
{
	struct list list = { .processes = processes };

	memset(processes, 0, sizeof(*processes));
	processes->follow_fork = options->follow_fork;
	processes->show_arguments = options->show_arguments;
	list_add(&list, pid);
	return list_finish(&list, pid);
}

bool processes_is_one(const struct processes *processes)
{
	return processes->n == 1 && !processes->follow_fork && !processes->in_group;
}

bool processes_have(const struct processes *processes, pid_t pid)
{
	const struct process key = { .pid = pid };

	return processes->n &&
	       bsearch(&key, processes->all, processes->n, sizeof(key), compare_processes);
}

unsigned int processes_threads(const struct processes *processes)
{
	unsigned int threads = 0;

	for (size_t i = 0; i < processes->n; i++)
		threads += processes->all[i].threads;
	return threads;
}

void processes_clear(struct processes *processes)
{
	free(processes->all);
	memset(processes, 0, sizeof(*processes));
}
