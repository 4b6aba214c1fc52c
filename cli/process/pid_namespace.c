// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "pid_namespace.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/nsfs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define LABEL "NSpid:"

struct search {
	const char *proc;
	struct stat space; /* the namespace */
	size_t level;      /* whose PIDs are at this index */
	pid_t pid;
};

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Numbers between blanks, to the end of the line. */
static size_t pids_read(const char *text, pid_t pids[PID_NAMESPACE_LEVELS])
{
	size_t n = 0;
	char *end;

	for (text += strspn(text, " \t"); *text && *text != '\n'; text = end + strspn(end, " \t")) {
		long pid;

		if (!isdigit((unsigned char)*text) || n == PID_NAMESPACE_LEVELS)
			return 0;
		pid = strtol(text, &end, 10);
		if (pid <= 0 || pid > INT_MAX || (*end && !strchr(" \t\n", *end)))
			return 0;
		pids[n++] = (pid_t)pid;
	}
	return n;
}

size_t pid_namespace_pids(const char *status, pid_t pids[PID_NAMESPACE_LEVELS])
{
	/* Line feeds in the process's name are escaped there. */
	while (status && strncmp(status, LABEL, strlen(LABEL)) != 0) {
		status = strchr(status, '\n');
		status = status ? status + 1 : NULL;
	}
	return status ? pids_read(status + strlen(LABEL), pids) : 0;
}

static size_t process_pids(const char *proc, pid_t pid, pid_t pids[PID_NAMESPACE_LEVELS])
{
	char path[PATH_MAX], *line = NULL;
	size_t size = 0, n = 0;
	FILE *status;

	snprintf(path, sizeof(path), "%s/%d/status", proc, (int)pid);
	status = fopen(path, "re");
	/* A line at a time: that of a process's groups has no limit that matters. */
	while (status && !n && getline(&line, &size, status) > 0)
		n = pid_namespace_pids(line, pids);
	free(line);
	if (status)
		fclose(status);
	return n;
}

/* True if the namespace of a process is the one that is looked for, or lies so many levels
 * below it. */
static bool is_inside(const struct search *search, pid_t pid, size_t below)
{
	char path[PATH_MAX];
	struct stat space = { 0 };
	int fd, above;

	snprintf(path, sizeof(path), "%s/%d/ns/pid", search->proc, (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	for (; fd >= 0 && below; below--) {
		above = ioctl(fd, NS_GET_PARENT);
		close(fd);
		fd = above;
	}
	if (fd < 0)
		return false;
	above = fstat(fd, &space);
	close(fd);
	return !above && is_same_file(&space, &search->space);
}

/* The namespace of a process without a look at more than one file. */
static bool space_of(const char *proc, const char *pid, struct stat *space)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/%s/ns/pid", proc, pid) < (int)sizeof(path) &&
	       !stat(path, space);
}

static bool is_wanted(const struct search *search, pid_t pid)
{
	pid_t pids[PID_NAMESPACE_LEVELS];
	size_t n = process_pids(search->proc, pid, pids);

	return n > search->level && pids[search->level] == search->pid &&
	       is_inside(search, pid, n - 1 - search->level);
}

int pid_namespace_find(const char *proc, pid_t member, pid_t pid, pid_t *found)
{
	struct search search = { .proc = proc, .pid = pid };
	pid_t pids[PID_NAMESPACE_LEVELS];
	char name[16];
	struct stat ours, theirs;
	bool have_ours = space_of(proc, "self", &ours);
	struct dirent *entry;
	int error = -ESRCH;
	DIR *folder;

	snprintf(name, sizeof(name), "%d", (int)member);
	if (!space_of(proc, name, &search.space))
		return -errno;
	search.level = process_pids(proc, member, pids);
	if (!search.level--)
		return -ENODATA;
	folder = opendir(proc);
	if (!folder)
		return -errno;
	while (error && (entry = readdir(folder))) {
		pid_t candidate = (pid_t)strtol(entry->d_name, NULL, 10);

		if (!isdigit((unsigned char)*entry->d_name))
			continue;
		/* Most processes are in our namespace, which this tells without their status. */
		if (have_ours && !is_same_file(&ours, &search.space) &&
		    space_of(proc, entry->d_name, &theirs) && is_same_file(&ours, &theirs))
			continue;
		if (!is_wanted(&search, candidate))
			continue;
		*found = candidate;
		error = 0;
	}
	closedir(folder);
	return error;
}
