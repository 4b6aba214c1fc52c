// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "lock_holder.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "awaited_process.h"
#include "cli/base/proc_file.h"

/* --- Locks of files --- */

/* /proc/locks has inodes as their file system numbers them, which may differ from what stat(2)
 * says. So it only says who has locks; of what is in fdinfo. */
#define FILES_MOST 256
#define PIDS_MOST_LOOKED 64

struct open_file_id {
	uint32_t major, minor; /* of the device */
	uint64_t inode;
};

/* Called for each regular file that a process has open. */
typedef void file_found(void *context, int fd, const struct open_file_id *file);

/* Does not ask a server of the file system, which may never answer. */
static bool file_is(const char *path, struct open_file_id *file)
{
	struct statx is;

	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &is) ||
	    !S_ISREG(is.stx_mode))
		return false;
	*file = (struct open_file_id){ is.stx_dev_major, is.stx_dev_minor, is.stx_ino };
	return true;
}

static void files_each(pid_t pid, file_found *found, void *context)
{
	const pid_t of = proc_thread(pid);
	struct open_file_id file;
	struct proc_list fds;
	char name[64];

	proc_list_begin(&fds, "/proc/%d/fd", (int)of);
	while (proc_list_next(&fds)) {
		snprintf(name, sizeof(name), "/proc/%d/fd/%d", (int)of, fds.number);
		if (file_is(name, &file))
			found(context, fds.number, &file);
	}
}

/* One who writes comes before those who read; of several of a kind, none is the one. */
struct holders {
	struct open_file_id files[FILES_MOST]; /* of who waits */
	size_t n;
	pid_t pid; /* looked at */
	pid_t writer, reader;
	bool several_write, several_read;
};

static void file_add(void *context, int fd, const struct open_file_id *file)
{
	struct holders *holders = context;

	(void)fd;
	if (holders->n < FILES_MOST)
		holders->files[holders->n++] = *file;
}

static bool is_same(const struct open_file_id *a, const struct open_file_id *b)
{
	return a->major == b->major && a->minor == b->minor && a->inode == b->inode;
}

/* Has lines such as "lock:\t1: POSIX  ADVISORY  WRITE 4711 fe:00:12 0 EOF" of locks that the
 * process has by this descriptor. */
static void holder_add(void *context, int fd, const struct open_file_id *file)
{
	struct holders *holders = context;
	char name[64], text[1024], mode[16];
	const char *lock = NULL;
	size_t i = 0;
	pid_t *one;
	bool writes;

	while (i < holders->n && !is_same(&holders->files[i], file))
		i++;
	snprintf(name, sizeof(name), "fdinfo/%d", fd);
	if (i < holders->n && proc_file_read(holders->pid, name, text, sizeof(text)) > 0)
		lock = strstr(text, "lock:");
	for (; lock; lock = strstr(lock + 1, "lock:")) {
		if (sscanf(lock, "lock: %*d: %*s %*s %15s", mode) != 1)
			continue;
		writes = !strcmp(mode, "WRITE");
		one = writes ? &holders->writer : &holders->reader;
		*(writes ? &holders->several_write
			 : &holders->several_read) |= *one && *one != holders->pid;
		*one = holders->pid;
	}
}

/* Reads who has locks, "7: POSIX  ADVISORY  WRITE 4711 fe:00:12 0 EOF" (lock_get_status(),
 * fs/locks.c); that of who waits has an arrow before the kind. Returns the number of PIDs. */
static size_t lockers_read(pid_t pids[static PIDS_MOST_LOOKED], pid_t except)
{
	FILE *file = fopen("/proc/locks", "re");
	char line[256];
	size_t n = 0, i;
	int pid;

	while (file && n < PIDS_MOST_LOOKED && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%*d: %*15[A-Z] %*15s %*15s %d", &pid) != 1 || pid <= 0 ||
		    pid == except)
			continue;
		for (i = 0; i < n && pids[i] != pid; i++)
			;
		if (i == n)
			pids[n++] = pid;
	}
	if (file)
		fclose(file);
	return n;
}

bool lock_holder_of_file(struct awaited_process *found, pid_t pid)
{
	struct holders *holders = calloc(1, sizeof(*holders));
	pid_t pids[PIDS_MOST_LOOKED], one = 0;
	size_t n = holders ? lockers_read(pids, pid) : 0;

	if (n)
		files_each(pid, file_add, holders);
	for (size_t i = 0; i < n; i++) {
		holders->pid = pids[i];
		files_each(pids[i], holder_add, holders);
	}
	if (n && holders->writer)
		one = holders->several_write ? 0 : holders->writer;
	else if (n && holders->reader)
		one = holders->several_read ? 0 : holders->reader;
	free(holders);
	return one && awaited_describe(found, one);
}

/* Of a line of /proc/locks about a lock that somebody has. */
struct held_line {
	int pid;
	uint64_t inode;
};

/* Returns false for others. */
static bool held_line_read(struct held_line *lock, const char *line)
{
	return sscanf(line, "%*d: %*15[A-Z] %*s %*s %d %*x:%*x:%" SCNu64, &lock->pid,
		      &lock->inode) == 2;
}

/* The first who has a lock of a file; 0: nobody. Sets the number of locks that it has. */
static pid_t holder_of_inode(uint64_t inode, unsigned int *locks)
{
	FILE *file = fopen("/proc/locks", "re");
	struct held_line lock;
	char line[256];
	int holder = 0;

	*locks = 0;
	while (file && !holder && fgets(line, sizeof(line), file))
		if (held_line_read(&lock, line) && lock.inode == inode && lock.pid > 0)
			holder = lock.pid;
	if (file)
		rewind(file);
	while (file && holder && fgets(line, sizeof(line), file))
		*locks += held_line_read(&lock, line) && lock.pid == holder;
	if (file)
		fclose(file);
	return holder;
}

pid_t lock_holder_only(uint64_t inode)
{
	unsigned int locks;
	pid_t holder = holder_of_inode(inode, &locks);

	return locks == 1 ? holder : 0;
}

bool lock_holder_of_dpkg(struct awaited_process *found, pid_t pid)
{
	static const char *const files[] = { "lock-frontend", "lock" };
	struct open_file_id file;
	unsigned int locks;
	pid_t holder = 0;
	char path[96];

	for (size_t i = 0; i < 2 && !holder; i++) {
		snprintf(path, sizeof(path), "/proc/%d/root/var/lib/dpkg/%s", (int)pid, files[i]);
		if (file_is(path, &file))
			holder = holder_of_inode(file.inode, &locks);
	}
	return holder && holder != pid && awaited_describe(found, holder);
}

/* A lock by flock() is in all descriptors that were inherited or sent, and one of an open file
 * (OFD) belongs to no process: /proc/locks knows who took the first, if that lives. */
static bool has_lock(pid_t pid, int fd, const char *link, const void *wanted)
{
	struct open_file_id file;
	char name[64], text[1024];

	(void)link;
	snprintf(name, sizeof(name), "/proc/%d/fd/%d", (int)pid, fd);
	if (!file_is(name, &file) || !is_same(&file, wanted))
		return false;
	snprintf(name, sizeof(name), "fdinfo/%d", fd);
	return proc_file_read(pid, name, text, sizeof(text)) > 0 && strstr(text, "lock:");
}

bool lock_holder_at(struct awaited_process *found, pid_t pid, int fd)
{
	struct open_file_id file;
	char name[64];

	snprintf(name, sizeof(name), "/proc/%d/fd/%d", (int)proc_thread(pid), fd);
	return file_is(name, &file) && awaited_only_find(found, 0, has_lock, &file);
}

/* --- Sessions of PostgreSQL --- */

#define TITLE_LEN 256
#define CHILDREN_MOST 8192

/* The title that a process gives itself; "" if unreadable. */
static void title_read(char title[static TITLE_LEN], pid_t pid)
{
	ssize_t length = proc_file_read(pid, "cmdline", title, TITLE_LEN);

	title[length > 0 ? length : 0] = '\0';
	for (length = (ssize_t)strlen(title); length && title[length - 1] == ' '; length--)
		title[length - 1] = '\0';
}

/* What a backend says that it does, behind its client: "postgres: user base [local] UPDATE
 * waiting", "postgres: user base 10.0.0.7(51934) idle in transaction". NULL: it has no client. */
static const char *activity_of(const char *title)
{
	const char *end = strstr(title, "[local] ");

	if (strncmp(title, "postgres: ", strlen("postgres: ")) != 0)
		return NULL;
	if (end)
		return end + strlen("[local] ");
	for (end = title; (end = strstr(end, ") ")); end++) {
		const char *digit = end;

		while (isdigit((unsigned char)digit[-1]))
			digit--;
		if (digit < end && digit[-1] == '(')
			return end + strlen(") ");
	}
	return NULL;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), of_end = strlen(end);

	return length >= of_end && !strcmp(text + length - of_end, end);
}

/* True if it may have locks, and does not wait for one. Transactions that are prepared belong to no
 * process. */
static bool may_hold(const char *title, bool idle_too)
{
	const char *activity = activity_of(title);

	if (!activity)
		return strstr(title, "autovacuum worker");
	return (idle_too || strcmp(activity, "idle") != 0) && !ends_with(activity, " waiting");
}

static bool session_find(struct awaited_process *found, pid_t pid, bool idle_too)
{
	char title[TITLE_LEN];
	struct proc_stat stat;
	size_t n = 0, n_children;
	pid_t only = 0, *children;

	title_read(title, pid);
	if (!activity_of(title) || !ends_with(title, " waiting") || !proc_stat_read(&stat, pid))
		return false;
	children = calloc(CHILDREN_MOST, sizeof(*children));
	n_children = children ? proc_children(stat.parent, children, CHILDREN_MOST) : 0;
	for (size_t i = 0; i < n_children && i < CHILDREN_MOST; i++) {
		title_read(title, children[i]);
		if (children[i] == pid || !may_hold(title, idle_too))
			continue;
		only = children[i];
		n++;
	}
	free(children);
	if (n != 1 || !awaited_describe(found, only))
		return false;
	title_read(title, only);
	if (activity_of(title))
		snprintf(found->state, sizeof(found->state), "%s", activity_of(title));
	return true;
}

bool lock_holder_of_session(struct awaited_process *found, pid_t pid)
{
	return session_find(found, pid, false);
}

bool lock_holder_of_advisory(struct awaited_process *found, pid_t pid)
{
	return session_find(found, pid, true);
}
