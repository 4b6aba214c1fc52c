// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Finds the file without opening it: to open a device may make it do something. */
static int file_find(const char *root, const char *path, int flags)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | (unsigned int)flags,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int dir, fd;

	if (!root) {
		fd = open(path, O_PATH | O_CLOEXEC | flags);
		return fd < 0 ? -errno : fd;
	}
	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how)); /* no glibc has it yet */
	if (fd < 0)
		fd = -errno;
	close(dir);
	return fd;
}

static int file_open_by(const char *root, const char *path, int flags)
{
	char self[64];
	struct stat stat;
	int found, fd;

	found = file_find(root, path, flags);
	if (found < 0)
		return found;
	if (fstat(found, &stat)) {
		fd = -errno;
	} else if (!S_ISREG(stat.st_mode)) {
		fd = -ENOEXEC;
	} else {
		snprintf(self, sizeof(self), "/proc/self/fd/%d", found);
		fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (fd < 0)
			fd = -errno;
	}
	close(found);
	return fd;
}

int file_open(const char *root, const char *path)
{
	return file_open_by(root, path, 0);
}

int file_open_itself(const char *root, const char *path)
{
	return file_open_by(root, path, O_NOFOLLOW);
}
