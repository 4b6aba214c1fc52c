// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "jit_open.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cli/base/proc_file.h"
#include "probes/elf/file.h"

/* What /proc/PID/status says. */
struct owner {
	uid_t user; /* effective */
	int pid;    /* in the process's own namespace */
};

static bool owner_read(pid_t pid, struct owner *owner)
{
	char path[32], line[256], *last;
	unsigned int found = 0;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	status = fopen(path, "re");
	while (status && fgets(line, sizeof(line), status)) {
		last = strrchr(line, '\t');
		found += sscanf(line, "Uid: %*u %u", &owner->user) == 1;
		found += !strncmp(line, "NSpid:", 6) && last && sscanf(last, "%d", &owner->pid);
	}
	if (status)
		fclose(status);
	return found == 2;
}

/* A descriptor of what may be read stays what it is; any other is closed. */
static int file_accept(int fd, const struct owner *owner, struct jit_id *id)
{
	struct stat stat;

	if (!fstat(fd, &stat) && S_ISREG(stat.st_mode) && stat.st_uid == owner->user) {
		*id = (struct jit_id){ stat.st_ino, major(stat.st_dev), minor(stat.st_dev) };
		return fd;
	}
	close(fd);
	return -EACCES;
}

int jit_open_perf_map(pid_t pid, struct jit_id *id)
{
	char root[32], path[48];
	struct owner owner;
	int fd;

	if (!owner_read(pid, &owner))
		return -ESRCH;
	snprintf(root, sizeof(root), "/proc/%d/root", (int)proc_thread(pid));
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", owner.pid);
	fd = file_open_itself(root, path);
	return fd < 0 ? fd : file_accept(fd, &owner, id);
}

int jit_open_dump(pid_t pid, int fd, struct jit_id *id)
{
	struct owner owner;

	if (fd < 0)
		return fd;
	if (owner_read(pid, &owner))
		return file_accept(fd, &owner, id);
	close(fd);
	return -ESRCH;
}
