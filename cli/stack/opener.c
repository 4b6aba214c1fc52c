// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "opener.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "cli/base/clock.h"
#include "cli/base/log.h"
#include "cli/base/proc_file.h"
#include "cli/sandbox/helper.h"
#include "cli/sandbox/sandbox.h"
#include "probes/elf/elf_file.h"
#include "probes/elf/symbols.h"
#include "protocol.h"

/* --- Files that a process had mapped, found by its mounts --- */

#define MOST_TRIED 64 /* a file system may have any number of mounts */

struct mount {
	unsigned int major, minor;
	char *root;  /* mounted subtree of the file system */
	char *point; /* mount point */
};

/* True if the open file is this one. For btrfs and overlay file systems, stat() shows another
 * device than the kernel, both without a major number: there only the inode counts. */
static bool mounted_file_is(const struct inode_key *key, int fd)
{
	struct stat stat;

	if (fstat(fd, &stat) || stat.st_ino != key->inode)
		return false;
	return (major(stat.st_dev) == key->major && minor(stat.st_dev) == key->minor) ||
	       (!major(stat.st_dev) && !key->major);
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

/* Path of a file in a mount. Returns false if the mount cannot contain it. */
static bool mount_path(const struct mount *mount, const struct object *file, char path[PATH_MAX])
{
	size_t root = strcmp(mount->root, "/") ? strlen(mount->root) : 0;
	const char *point = strcmp(mount->point, "/") ? mount->point : "";
	int length;

	if (mount->major != file->key.major || mount->minor != file->key.minor ||
	    strncmp(file->path, mount->root, root) != 0)
		return false;
	if (file->path[root] && file->path[root] != '/')
		return false;
	length = snprintf(path, PATH_MAX, "%s%s", point, file->path + root);
	return length > 0 && length < PATH_MAX;
}

/* Opens a file for reading below the process's root, through one of its mounts; path becomes its
 * path in the process's view. Returns a descriptor, which the caller closes; -ENOENT if the file
 * is gone; another -errno. */
static int mounts_open(pid_t pid, const struct object *file, char path[PATH_MAX])
{
	unsigned int tried = 0;
	struct mount mount;
	int fd = -ENOENT;
	size_t size = 0;
	char name[40], *line = NULL;
	FILE *mounts;

	snprintf(name, sizeof(name), "/proc/%d/mountinfo", (int)proc_thread(pid));
	mounts = fopen(name, "re");
	if (!mounts)
		return -errno;
	while (fd < 0 && tried < MOST_TRIED && getline(&line, &size, mounts) >= 0) {
		if (!mount_parse(&mount, line) || !mount_path(&mount, file, path))
			continue;
		tried++;
		fd = file_open(pid, path);
		if (fd >= 0 && !mounted_file_is(&file->key, fd)) {
			close(fd);
			fd = -ENOENT;
		}
	}
	free(line);
	fclose(mounts);
	return fd;
}

/* --- Separate debug files --- */

#define BUILD_ID ".build-id/"
#define SUFFIX ".debug"
#define HEX "0123456789abcdef"
#define MOST_HEX 128 /* digits; a build ID has 40 */

static bool is_build_id(const char *path)
{
	size_t length;

	if (strspn(path, HEX) != 2 || path[2] != '/')
		return false;
	path += 3;
	length = strspn(path, HEX);
	return length && length <= MOST_HEX && !strcmp(path + length, SUFFIX);
}

static bool is_link(const char *object, const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	char valid[DEBUG_PATH];

	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return false;
	for (unsigned int i = 0; debug_link_path(i, object, name, valid); i++)
		if (!strcmp(path, valid))
			return true;
	return false;
}

bool debug_path_is_valid(const char *object, const char *path)
{
	if (!strncmp(path, BUILD_ID, strlen(BUILD_ID)))
		return is_build_id(path + strlen(BUILD_ID));
	return *path == '/' && is_link(object, path);
}

int debug_path_open(pid_t pid, const char *object, const char *path)
{
	int fd;

	if (!debug_path_is_valid(object, path))
		return -EINVAL;
	fd = elf_only(debug_file_open(&pid, path));
	return fd < 0 ? elf_only(debug_file_open(NULL, path)) : fd;
}

/* --- Files about JIT code --- */

/* From /proc/PID/status. */
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

/* Keeps a descriptor of an acceptable file; closes any other. */
static int file_accept(int fd, const struct owner *owner, struct inode_key *key)
{
	struct stat stat;

	if (!fstat(fd, &stat) && S_ISREG(stat.st_mode) && stat.st_uid == owner->user) {
		*key = (struct inode_key){ major(stat.st_dev), minor(stat.st_dev), stat.st_ino };
		return fd;
	}
	close(fd);
	return -EACCES;
}

/* Opens the process's /tmp/perf-PID.map in its root, with the PID of its namespace. Returns a
 * descriptor, which the caller takes over, or a negative errno. -EACCES: not a regular file of
 * the process's user, so others may have written it. */
static int jit_open_perf_map(pid_t pid, struct inode_key *key)
{
	char path[48];
	struct owner owner;
	int fd;

	if (!owner_read(pid, &owner))
		return -ESRCH;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", owner.pid);
	fd = file_open_itself(pid, path);
	return fd < 0 ? fd : file_accept(fd, &owner, key);
}

/* Checks a descriptor of a mapped file; closes it unless it is returned. */
static int jit_open_dump(pid_t pid, int fd, struct inode_key *key)
{
	struct owner owner;

	if (fd < 0)
		return fd;
	if (owner_read(pid, &owner))
		return file_accept(fd, &owner, key);
	close(fd);
	return -ESRCH;
}

/* --- Opener process --- */

/* A sleeping disk takes some seconds. */
#define PATIENCE (5 * NSEC_PER_SEC)
/* Files that may time out; after them, nothing is opened. */
#define MOST_SILENT 3

enum wanted { WANTED_MAPPED, WANTED_DEBUG, WANTED_GONE, WANTED_PERF_MAP, WANTED_DUMP };

/* A request. */
struct wanted_file {
	uint32_t wanted;
	int32_t pid;
	struct object object;     /* its path is the next field */
	char path[PROTOCOL_PATH]; /* gone: in its file system */
	char debug[PROTOCOL_PATH];
};

_Static_assert(sizeof(struct wanted_file) <= PACKET_PAYLOAD, "a request fits");

struct opener {
	struct helper helper;
	struct signals *signals;
	unsigned int without;
	struct inode_key silent[MOST_SILENT]; /* files that timed out */
	unsigned int n_silent;
	bool has_ended; /* by itself, which was reported */
	struct packet packet;
};

/* --- Child --- */

/* True if the mapping still exists: the kernel's link points to the current one there. */
static int still_there(void *context, const struct map *map)
{
	const struct object *object = context;

	return map->start == object->start && map->end == object->end &&
	       inode_key_is(&map->key, &object->key);
}

static int mapped_open(pid_t pid, const struct object *object)
{
	struct object by_path = *object;
	int fd = object_open(pid, object);

	if (fd < 0 || mounted_file_is(&object->key, fd) ||
	    maps_each(pid, still_there, (void *)object) > 0)
		return fd;
	close(fd);
	by_path.start = by_path.end = 0;
	return object_open(pid, &by_path);
}

/* found: path of an unmapped file, or ""; key: of a file with names of JIT code, or 0. */
static int wanted_open(struct wanted_file *wanted, char found[PATH_MAX], struct inode_key *key)
{
	const struct object *object = &wanted->object;

	wanted->object.path = wanted->path;
	*found = '\0';
	*key = (struct inode_key){ 0 };
	switch (wanted->wanted) {
	case WANTED_MAPPED:
		return elf_only(mapped_open(wanted->pid, object));
	case WANTED_DEBUG:
		return debug_path_open(wanted->pid, wanted->path, wanted->debug);
	case WANTED_GONE:
		return elf_only(mounts_open(wanted->pid, object, found));
	case WANTED_PERF_MAP:
		return jit_open_perf_map(wanted->pid, key);
	case WANTED_DUMP:
		return jit_open_dump(wanted->pid, mapped_open(wanted->pid, object), key);
	default:
		return -EINVAL;
	}
}

static void opener_run(void *context, int socket, pid_t parent)
{
	struct opener *opener = context;
	struct packet *packet = &opener->packet;
	struct wanted_file wanted;
	char found[PATH_MAX];
	struct inode_key key;
	const char *what;

	if (sandbox_enter(socket, parent, opener->without | SANDBOX_OPENS, &what))
		_exit(EXIT_FAILURE);
	while (!packet_receive(SANDBOX_SOCKET, packet, false, 0) &&
	       packet->size == sizeof(wanted)) {
		int fd, err;

		memcpy(&wanted, packet->payload, sizeof(wanted));
		fd = wanted_open(&wanted, found, &key);
		if (fd >= 0)
			helper_try_close(fd);
		packet_begin(packet, MESSAGE_FILE);
		packet->head.status = fd < 0 ? fd : 0;
		packet->head.t = key.inode;
		packet->head.number = key.major;
		packet->head.n = key.minor;
		err = packet_put_text(packet, found) ?: packet_send(SANDBOX_SOCKET, packet, fd, 0);
		if (fd >= 0)
			close(fd);
		if (err)
			break;
	}
}

/* --- Parent --- */

int opener_open(struct opener **out, struct signals *signals, unsigned int without)
{
	struct opener *opener = calloc(1, sizeof(*opener));
	int err;

	*out = opener;
	if (!opener)
		return -ENOMEM;
	opener->signals = signals;
	opener->without = without;
	err = helper_start(&opener->helper, opener_run, opener);
	if (err) {
		free(opener);
		*out = NULL;
	}
	return err;
}

pid_t opener_child(const struct opener *opener)
{
	return opener->helper.pid;
}

void opener_close(struct opener *opener)
{
	int status;

	if (!opener)
		return;
	helper_end(&opener->helper, &status);
	free(opener);
}

static bool is_silent(const struct opener *opener, const struct wanted_file *wanted)
{
	const struct inode_key *key = &wanted->object.key;
	bool has_device = key->major || key->minor; /* otherwise only its path is known */

	for (unsigned int i = 0; i < opener->n_silent && has_device; i++)
		if (opener->silent[i].major == key->major && opener->silent[i].minor == key->minor)
			return true;
	return opener->n_silent == MOST_SILENT;
}

/* Ends a child that does not respond; a new one does the rest. */
static void opener_fail(struct opener *opener, const struct wanted_file *wanted, int err)
{
	const char *path = wanted->wanted == WANTED_DEBUG ? wanted->debug : wanted->path;
	int status;

	helper_end(&opener->helper, &status);
	if (err == -EINTR) {
		opener->n_silent = MOST_SILENT;
		return;
	}
	if (err == -EPIPE && !opener->has_ended)
		log_warn("%s cannot be opened: the process that opens files has ended unexpectedly",
			 path);
	opener->has_ended |= err == -EPIPE;
	if (err != -ETIMEDOUT)
		return;
	opener->silent[opener->n_silent++] = wanted->object.key;
	log_warn("%s cannot be opened: its file system does not answer", path);
}

/* found: NULL: not wanted. */
static int opener_ask(struct opener *opener, const struct wanted_file *wanted, char *found)
{
	struct packet *packet = &opener->packet;
	uint64_t deadline = clock_monotonic() + PATIENCE;
	const char *text;
	int err = 0;

	if (is_silent(opener, wanted))
		return -ETIMEDOUT;
	if (!opener->helper.pid)
		err = helper_start(&opener->helper, opener_run, opener);
	if (err)
		return err;
	packet_begin(packet, MESSAGE_OPEN);
	memcpy(packet->payload, wanted, sizeof(*wanted));
	packet->size = sizeof(*wanted);
	err = packet_send(opener->helper.socket, packet, -1, deadline)
		      ?: signals_wait(opener->signals, opener->helper.socket, POLLIN, deadline)
		      ?: packet_receive(opener->helper.socket, packet, true, deadline);
	if (err) {
		opener_fail(opener, wanted, err);
		return err == -EINTR ? -ETIMEDOUT : err;
	}
	text = packet_text(packet, PATH_MAX);
	if (found)
		strcpy(found, text ? text : "");
	if (packet->fd >= 0 && text)
		return packet->fd;
	if (packet->fd >= 0)
		close(packet->fd);
	return packet->head.status < 0 ? packet->head.status : -EBADMSG;
}

static int object_ask(struct opener *opener, enum wanted how, pid_t pid,
		      const struct object *object, char *found)
{
	struct wanted_file wanted = { .wanted = how, .pid = pid, .object = *object };

	if (strlen(object->path) >= sizeof(wanted.path))
		return -ENAMETOOLONG;
	strcpy(wanted.path, object->path);
	return opener_ask(opener, &wanted, found);
}

int opener_mapped(struct opener *opener, pid_t pid, const struct object *object)
{
	return object_ask(opener, WANTED_MAPPED, pid, object, NULL);
}

int opener_gone(struct opener *opener, pid_t pid, const struct object *file, char path[PATH_MAX])
{
	return object_ask(opener, WANTED_GONE, pid, file, path);
}

int opener_jit(struct opener *opener, pid_t pid, const struct object *dump, struct inode_key *key)
{
	const struct message *head = &opener->packet.head;
	char path[32]; /* for messages: inside a container the PID differs */
	const struct object perf_map = { .path = path };
	int fd;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)pid);
	fd = object_ask(opener, dump ? WANTED_DUMP : WANTED_PERF_MAP, pid, dump ? dump : &perf_map,
			NULL);
	if (fd >= 0)
		*key = (struct inode_key){ head->number, head->n, head->t };
	return fd;
}

int opener_debug(struct opener *opener, pid_t pid, const char *object, const char *path)
{
	struct wanted_file wanted = { .wanted = WANTED_DEBUG, .pid = pid };

	if (strlen(object) >= sizeof(wanted.path) || strlen(path) >= sizeof(wanted.debug))
		return -ENAMETOOLONG;
	strcpy(wanted.path, object);
	strcpy(wanted.debug, path);
	return opener_ask(opener, &wanted, NULL);
}
