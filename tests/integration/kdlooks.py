# SPDX-License-Identifier: Apache-2.0
"""When the program looked at a file in /proc, and what a disk and its reader had done by then."""

import pathlib

# Tells on standard error when a file in /proc was read: before and after that.
LOOKS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static int looked_at = -1;
static long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}
#define OPEN(name)                                                          \\
	int name(const char *path, int flags, ...)                          \\
	{                                                                   \\
		int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, #name); \\
		va_list list;                                               \\
		int fd;                                                     \\
		va_start(list, flags);                                      \\
		fd = real(path, flags, va_arg(list, int));                  \\
		va_end(list);                                               \\
		if (!strcmp(path, getenv("LOOK_AT")))                       \\
			looked_at = fd;                                     \\
		return fd;                                                  \\
	}
OPEN(open)
OPEN(open64)
static ssize_t looked(const char *name, int fd, void *buffer, size_t size)
{
	ssize_t (*real)(int, void *, size_t) = dlsym(RTLD_NEXT, "read");
	long long before = now();
	ssize_t got = real(fd, buffer, size);

	if (fd >= 0 && fd == looked_at) {
		looked_at = -1;
		dprintf(2, "look %lld %lld\\n", before, now());
	}
	return got;
}
ssize_t read(int fd, void *buffer, size_t size) { return looked("read", fd, buffer, size); }
ssize_t __read_chk(int fd, void *buffer, size_t size, size_t room) { return looked("read", fd, buffer, size); }
"""


def disk_bytes(disk):
    """Bytes read from and written to a disk so far."""
    for line in pathlib.Path("/proc/diskstats").read_text().splitlines():
        fields = line.split()
        if fields[2] == disk:
            return 512 * (int(fields[5]) + int(fields[9]))
    return 0


def read_by(log, at):
    """How many bytes of the log were certainly read by then, and how many may have been; one read may
    be under way."""
    return (max((done for when, done in log if when <= at), default=0),
            min(done for when, done in log if when >= at) + (1 << 20))
