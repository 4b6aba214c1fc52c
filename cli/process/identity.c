// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "identity.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/clock.h"
#include "cli/base/proc_file.h"

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
