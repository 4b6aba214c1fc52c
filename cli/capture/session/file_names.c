// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "file_names.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cli/base/names.h"
#include "cli/base/proc_file.h"
#include "cli/base/texts.h"
#include "cli/process/disk_users.h"

/* Beyond these, all are forgotten: a process can wait at new files without end. */
#define NAMES_MOST 16384

#define MINOR_BITS 20 /* in the kernel's device numbers */

struct named {
	struct kd_file file; /* key */
	struct descriptor is;
};

struct file_names {
	ino_t net; /* this program's network namespace; 0: unknown */
	void *tree;
	size_t n;
	struct descriptor spare; /* of the last file, without memory */
};

struct file_names *file_names_new(void)
{
	struct file_names *names = calloc(1, sizeof(*names));
	struct stat net;

	if (!names)
		return NULL;
	if (!stat("/proc/self/ns/net", &net))
		names->net = net.st_ino;
	return names;
}

void file_names_free(struct file_names *names)
{
	if (!names)
		return;
	tdestroy(names->tree, free);
	free(names);
}

/* True if a path ends with the file's name. A removed file has a suffix. */
static bool is_name(const struct kd_file *file, const char *path)
{
	const char *last = path_last(path);
	size_t length = strnlen(file->name, sizeof(file->name));

	return !strncmp(last, file->name, length) &&
	       (!last[length] || length + 1 >= sizeof(file->name) || /* truncated */
		!strcmp(last + length, " (deleted)"));
}

/* True if it is the file that the thread waited at, not another with its number. File systems such
 * as overlayfs show users other device numbers than the kernel has. */
static bool is_same(const struct kd_file *file, const struct statx *now, const char *path)
{
	dev_t device = makedev(file->device >> MINOR_BITS, file->device & ((1U << MINOR_BITS) - 1));

	if (now->stx_ino != file->inode)
		return false;
	return makedev(now->stx_dev_major, now->stx_dev_minor) == device ||
	       file->kind == KD_AWAITED_DISK || is_name(file, path);
}

/* Finds the path of a descriptor. If it is another file by now, only the path's last component. */
static void path_find(pid_t pid, const struct kd_file *file, struct descriptor *is)
{
	char link[64], path[PATH_MAX];
	struct statx now;
	size_t length;

	snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)proc_thread(pid), file->fd);
	if (symlink_read(link, path, sizeof(path))) {
		length = strlen(path);
		/* Checks the link last, as it may lead to another file by now. Sends no request
		 * to a server: one that does not answer would block this process, too. */
		if (!statx(AT_FDCWD, link, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_INO, &now) &&
		    is_same(file, &now, path)) {
			/* The end is more useful than the beginning. */
			if (length < sizeof(is->path))
				memcpy(is->path, path, length + 1);
			else
				snprintf(is->path, sizeof(is->path), "...%s",
					 path + length - (sizeof(is->path) - 4));
			return;
		}
	}
	if (file->name[0])
		snprintf(is->path, sizeof(is->path), ".../%.*s", (int)sizeof(file->name),
			 file->name);
}

static void disk_find(const struct kd_file *file, struct descriptor *is)
{
	uint32_t device_major = file->device >> MINOR_BITS;
	uint32_t device_minor = file->device & ((1U << MINOR_BITS) - 1);

	if (!device_major) /* not on a disk */
		return;
	snprintf(is->device_number, sizeof(is->device_number), "%u:%u", device_major, device_minor);
	disk_name(is->device, device_major, device_minor);
}

static void socket_find(const struct file_names *names, const struct kd_file *file,
			struct descriptor *is)
{
	const char *protocol = NULL;

	if (file->family == AF_UNIX)
		protocol = "unix";
	else if (file->protocol == IPPROTO_TCP)
		protocol = "tcp";
	else if (file->protocol == IPPROTO_UDP)
		protocol = "udp";
	if (protocol)
		snprintf(is->protocol, sizeof(is->protocol), "%s", protocol);
	else
		snprintf(is->protocol, sizeof(is->protocol), "af %u", file->family);
	if (names->net && file->net && file->net != names->net)
		is->other_net = file->net;
	if (file->family == AF_UNIX)
		memcpy(is->path, file->name, sizeof(file->name));
	if (file->family != AF_INET && file->family != AF_INET6)
		return;
	address_text(is->local, file->family, file->local, file->local_port);
	if (file->peer_port)
		address_text(is->peer, file->family, file->peer, file->peer_port);
}

static void descriptor_find(const struct file_names *names, pid_t pid, const struct kd_file *file,
			    struct descriptor *is)
{
	is->fd = file->fd;
	is->inode = file->inode;
	if (file->fd < 0 || !file->kind)
		return;
	if (file->kind == KD_AWAITED_SOCKET)
		socket_find(names, file, is);
	else
		path_find(pid, file, is);
	if (file->kind == KD_AWAITED_FILE || file->kind == KD_AWAITED_DISK)
		disk_find(file, is);
}

static int by_file(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct kd_file));
}

/* Returns NULL without memory. */
static const struct named *named_find(struct file_names *names, pid_t pid,
				      const struct kd_file *file)
{
	struct named **found = tfind(file, &names->tree, by_file), *named;

	if (found)
		return *found;
	if (names->n == NAMES_MOST) {
		tdestroy(names->tree, free);
		names->tree = NULL;
		names->n = 0;
	}
	named = calloc(1, sizeof(*named));
	if (!named)
		return NULL;
	named->file = *file;
	descriptor_find(names, pid, file, &named->is);
	if (!tsearch(named, &names->tree, by_file)) {
		free(named);
		return NULL;
	}
	names->n++;
	return named;
}

const struct descriptor *file_names_find(struct file_names *names, pid_t pid,
					 const struct kd_file *file)
{
	const struct named *named = named_find(names, pid, file);

	if (named)
		return &named->is;
	names->spare = (struct descriptor){ 0 };
	descriptor_find(names, pid, file, &names->spare);
	return &names->spare;
}

char *file_names_text(struct file_names *names, pid_t pid, const struct kd_file *file)
{
	char what[DESCRIPTOR_TEXT_LEN], *text;

	descriptor_text(file_names_find(names, pid, file), what);
	return asprintf(&text, "fd %d%s%s", file->fd, *what ? ", " : "", what) < 0 ? NULL : text;
}
