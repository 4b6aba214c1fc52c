// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "mounts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cli/base/proc_file.h"
#include "probes/elf/elf_file.h"

#define MOST_TRIED 64 /* a file system may be mounted any number of times */

struct mount {
	unsigned int major, minor;
	char *root;  /* what of the file system is mounted */
	char *point; /* where */
};

bool mounted_file_is(const struct mounted_file *file, int fd)
{
	struct stat stat;

	if (fstat(fd, &stat) || stat.st_ino != file->inode)
		return false;
	return (major(stat.st_dev) == file->major && minor(stat.st_dev) == file->minor) ||
	       (!major(stat.st_dev) && !file->major);
}

/* The kernel writes blanks and the like as \ooo. */
static void unescape(char *text)
{
	char *to = text;

	for (; *text; text++, to++) {
		if (text[0] == '\\' && strspn(text + 1, "01234567") >= 3) {
			*to = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + text[3] - '0');
			text += 3;
		} else {
			*to = *text;
		}
	}
	*to = '\0';
}

/* "ID PARENT MAJOR:MINOR ROOT MOUNTPOINT ...", see proc_pid_mountinfo(5). */
static bool mount_parse(struct mount *mount, char *line)
{
	char *rest = NULL;
	int at = 0;

	if (sscanf(line, "%*u %*u %u:%u %n", &mount->major, &mount->minor, &at) != 2 || !at)
		return false;
	mount->root = strtok_r(line + at, " ", &rest);
	mount->point = strtok_r(NULL, " ", &rest);
	if (!mount->root || !mount->point)
		return false;
	unescape(mount->root);
	unescape(mount->point);
	return true;
}

/* Where a mount has the file. Returns whether it can have it. */
static bool mount_path(const struct mount *mount, const struct mounted_file *file,
		       char path[PATH_MAX])
{
	size_t root = strcmp(mount->root, "/") ? strlen(mount->root) : 0;
	const char *point = strcmp(mount->point, "/") ? mount->point : "";
	int length;

	if (mount->major != file->major || mount->minor != file->minor ||
	    strncmp(file->path, mount->root, root) != 0)
		return false;
	if (file->path[root] && file->path[root] != '/')
		return false;
	length = snprintf(path, PATH_MAX, "%s%s", point, file->path + root);
	return length > 0 && length < PATH_MAX;
}

static int mount_open(const char *root, const struct mounted_file *file, const char *path)
{
	int fd = file_open(root, path);

	if (fd < 0 || mounted_file_is(file, fd))
		return fd;
	close(fd);
	return -ENOENT;
}

int mounts_open(pid_t pid, const struct mounted_file *file, char path[PATH_MAX])
{
	unsigned int tried = 0;
	pid_t thread = proc_thread(pid);
	struct mount mount;
	int fd = -ENOENT;
	size_t size = 0;
	char root[32], name[40], *line = NULL;
	FILE *mounts;

	snprintf(root, sizeof(root), "/proc/%d/root", (int)thread);
	snprintf(name, sizeof(name), "/proc/%d/mountinfo", (int)thread);
	mounts = fopen(name, "re");
	if (!mounts)
		return -errno;
	while (fd < 0 && tried < MOST_TRIED && getline(&line, &size, mounts) >= 0) {
		if (!mount_parse(&mount, line) || !mount_path(&mount, file, path))
			continue;
		tried++;
		fd = mount_open(root, file, path);
	}
	free(line);
	fclose(mounts);
	return fd;
}
