// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "pids.h"

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
#include <time.h>
#include <unistd.h>

#include "cli/base/clock.h"
#include "cli/base/parse.h"
#include "cli/base/proc_file.h"

/* --- PIDs of other namespaces --- */

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

/* --- A process for longer than its PID is its own --- */

#define DELETED " (deleted)"

static void file_read(char file[static PATH_MAX], pid_t pid)
{
	const size_t suffix = strlen(DELETED);
	char path[64];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)proc_thread(pid));
	length = readlink(path, file, PATH_MAX - 1);
	file[length > 0 ? length : 0] = '\0';
	/* An upgrade has replaced it. */
	if (length > (ssize_t)suffix && !strcmp(file + length - suffix, DELETED))
		file[length - (ssize_t)suffix] = '\0';
}

bool identity_read(struct identity *identity, pid_t pid)
{
	struct proc_stat stat;

	memset(identity, 0, sizeof(*identity));
	identity->pid = pid;
	if (!proc_stat_read(&stat, pid) || !stat.threads ||
	    strlen(stat.comm) >= sizeof(identity->name))
		return false;
	identity->started = stat.started;
	memcpy(identity->name, stat.comm, strlen(stat.comm));
	file_read(identity->file, pid);
	return true;
}

bool identity_is_alive(const struct identity *identity)
{
	struct identity now;

	return identity_read(&now, identity->pid) && now.started == identity->started;
}

bool identity_is_successor(const struct identity *identity, const struct identity *other)
{
	return (other->pid != identity->pid || other->started != identity->started) &&
	       other->started >= identity->started && !strcmp(other->name, identity->name) &&
	       !strcmp(other->file, identity->file);
}

uint64_t identity_clock(void)
{
	struct timespec boot;

	clock_gettime(CLOCK_BOOTTIME, &boot);
	return clock_ns(&boot);
}

uint64_t identity_started_at(const struct identity *identity)
{
	struct timespec wall;

	clock_gettime(CLOCK_REALTIME, &wall);
	return clock_ns(&wall) - identity_clock() + identity->started;
}

/* --- Files in which daemons write their PID --- */

static int text_read(int fd, pid_t *pid, uint64_t *written)
{
	struct stat status;
	char text[64], *number;
	uint64_t value;
	ssize_t length;

	if (fstat(fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL;
	length = read(fd, text, sizeof(text) - 1);
	if (length <= 0)
		return length ? -errno : -ENODATA;
	text[length] = '\0';
	number = text + strspn(text, " \t");
	/* What follows the number: blanks, further lines, as of PostgreSQL. */
	number[strcspn(number, " \t\r\n")] = '\0';
	if (parse_u64(number, 1, INT32_MAX, &value))
		return -EINVAL;
	*pid = (pid_t)value;
	*written = clock_ns(&status.st_mtim);
	return 0;
}

int pidfile_read(const char *path, pid_t *pid, uint64_t *written)
{
	/* A pipe would keep us waiting for its writer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), error;

	if (fd < 0)
		return -errno;
	error = text_read(fd, pid, written);
	close(fd);
	return error;
}
