// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "target_name.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/log.h"
#include "cli/base/proc_file.h"
#include "target.h"

struct target_name target_name_of(const struct options *options)
{
	return (struct target_name){
		.comm = options->comm,
		.file = options->exe,
		.user = options->uid,
	};
}

/* Returns 0 or a negative errno. What the file system of a process's file knows by itself is
 * enough: it may be one that does not answer. */
static int file_look(struct statx *file, const char *path)
{
	return statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO, file) ? -errno : 0;
}

static int file_fits(const char *file, pid_t pid)
{
	struct statx wanted, found;
	char path[32];
	int error;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)proc_thread(pid));
	error = file_look(&wanted, file) ?: file_look(&found, path);
	if (error)
		return error;
	return wanted.stx_dev_major == found.stx_dev_major &&
	       wanted.stx_dev_minor == found.stx_dev_minor && wanted.stx_ino == found.stx_ino;
}

static bool users_read(pid_t pid, unsigned int *real, unsigned int *effective)
{
	char status[4096], *line;

	if (proc_file_read(pid, "status", status, sizeof(status)) <= 0)
		return false;
	line = strstr(status, "\nUid:"); /* line feeds in the name are escaped there */
	return line && sscanf(line, "\nUid: %u %u", real, effective) == 2;
}

/* A program that others may run as another user has its own as the real one. */
static bool user_fits(uid_t user, pid_t pid)
{
	unsigned int real, effective;

	return users_read(pid, &real, &effective) && real == user && effective == user;
}

bool target_name_fits(const struct target_name *name, pid_t pid, const char *comm)
{
	return !strcmp(comm, name->comm) && (name->user == UID_ANY || user_fits(name->user, pid)) &&
	       (!name->file || file_fits(name->file, pid) > 0);
}

/* --- Others of the name --- */

struct others {
	const struct target_name *name;
	size_t n;
	pid_t first;
	bool refused; /* its file, by the kernel */
};

static void other_look(void *context, pid_t pid, const char *comm)
{
	struct others *others = context;

	if (strcmp(comm, others->name->comm) || others->n++)
		return;
	others->first = pid;
	others->refused = others->name->file && file_fits(others->name->file, pid) == -EACCES;
}

bool target_name_hint(const struct target_name *name)
{
	struct others others = { .name = name };
	char path[32], file[PATH_MAX];
	unsigned int real = 0, effective = 0;
	ssize_t length;

	target_each(other_look, &others);
	if (!others.n)
		return false;
	if (others.refused) {
		log_hint("whose executable process %d runs may not be read: that takes "
			 "CAP_SYS_PTRACE",
			 (int)others.first);
		return true;
	}
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)proc_thread(others.first));
	length = readlink(path, file, sizeof(file) - 1);
	file[length > 0 ? length : 0] = '\0';
	users_read(others.first, &real, &effective);
	log_hint("%s%d has this name, but runs %s as user %u; --pid takes any process",
		 others.n > 1 ? "among others " : "", (int)others.first,
		 *file ? file : "an unknown file", effective);
	return true;
}
