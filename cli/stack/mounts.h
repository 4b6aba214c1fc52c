/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a process had mapped, found by its mounts. */
#ifndef MOUNTS_H
#define MOUNTS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* As the kernel knows a file. */
struct mounted_file {
	unsigned int major, minor; /* of its file system */
	uint64_t inode;
	const char *path; /* in its file system, from the root of that on: "/..." */
};

/* Whether what is open is this file. Btrfs and overlay file systems show
 * another device in stat() than the kernel's own, both without a major number:
 * there the inode has to do. */
bool mounted_file_is(const struct mounted_file *file, int fd);

/* Opens a file for reading below the process's root directory, where one of its
 * mounts has it; path becomes its path as the process sees it. Returns a
 * descriptor, which the caller closes; -ENOENT if it is not there any more;
 * another -errno. */
int mounts_open(pid_t pid, const struct mounted_file *file, char path[PATH_MAX]);

#endif
