// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "jit_files.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/clock.h"
#include "probes/elf/file.h"

#define INTERVAL NSEC_PER_SEC

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

static int perf_map_open(pid_t pid, const struct owner *owner)
{
	char root[32], path[48];

	snprintf(root, sizeof(root), "/proc/%d/root", (int)pid);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", owner->pid);
	return file_open_itself(root, path);
}

/* Its writer maps it so that profilers see it. */
static int dump_open(const struct mapped *mapped, const struct mapped_files *files)
{
	size_t n;
	const struct mapping *mappings = mapped_mappings(mapped, &n);

	for (size_t i = n; i-- > 0;) {
		uint32_t number = mappings[i].object;

		if (number != SPACE_NO_FILE &&
		    !fnmatch("*/jit-[0-9]*.dump", mapped_files_path(files, number), 0))
			return mapped_files_open(files, number);
	}
	return -ENOENT;
}

/* A descriptor of what may be read and was not found before stays what it is; any other is closed
 * and becomes -1. */
static int file_accept(struct jit_files *files, enum jit_file kind, const struct owner *owner,
		       int fd)
{
	struct stat stat;

	if (fd < 0)
		return -1;
	if (!fstat(fd, &stat) && S_ISREG(stat.st_mode) && stat.st_uid == owner->user &&
	    (files->found[kind].inode != stat.st_ino || files->found[kind].device != stat.st_dev)) {
		files->found[kind].inode = stat.st_ino;
		files->found[kind].device = stat.st_dev;
		return fd;
	}
	close(fd);
	return -1;
}

/* Code that is in no ELF file may also be mapped from memory that has a name. */
static bool makes_code(const struct mapped *mapped, const struct mapped_files *files)
{
	size_t n;
	const struct mapping *mappings = mapped_mappings(mapped, &n);

	for (size_t i = 0; i < n; i++) {
		if (mappings[i].object == SPACE_NO_FILE
			    ? mappings[i].end != UINT64_MAX
			    : !mapped_files_is_elf(files, mappings[i].object))
			return true;
	}
	return false;
}

void jit_files_look(struct jit_files *files, pid_t pid, const struct mapped *mapped,
		    const struct mapped_files *mapped_files, int fds[JIT_FILES])
{
	uint64_t now = clock_monotonic();
	struct owner owner;

	for (unsigned int i = 0; i < JIT_FILES; i++)
		fds[i] = -1;
	if ((files->looked && now - files->looked < INTERVAL) || !makes_code(mapped, mapped_files))
		return;
	files->looked = now;
	if (!owner_read(pid, &owner))
		return;
	fds[JIT_PERF_MAP] = file_accept(files, JIT_PERF_MAP, &owner, perf_map_open(pid, &owner));
	fds[JIT_DUMP] = file_accept(files, JIT_DUMP, &owner, dump_open(mapped, mapped_files));
}
