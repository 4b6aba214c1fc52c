// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "lock_holder.h"

#include <ctype.h>
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "awaited_process.h"
#include "cli/base/array.h"
#include "cli/base/proc_file.h"

/* --- Locks of files --- */

/* A lock of another process, see lock_get_status() of fs/locks.c. */
struct file_lock {
	unsigned int major, minor;
	unsigned long long inode;
	pid_t pid;
	bool writes;
};

#define FILE_LOCKS_MOST 1024

/* Reads those that other processes have, "7: POSIX  ADVISORY  WRITE 4711 fe:00:12 0 EOF"; that of
 * who waits has an arrow before the kind. Returns their number. */
static size_t locks_read(struct file_lock *locks, pid_t except)
{
	FILE *file = fopen("/proc/locks", "re");
	char line[256], kind[16], how[16], mode[16];
	size_t n = 0;

	while (file && n < FILE_LOCKS_MOST && fgets(line, sizeof(line), file)) {
		struct file_lock *lock = &locks[n];

		if (sscanf(line, "%*d: %15s %15s %15s %d %x:%x:%llu", kind, how, mode, &lock->pid,
			   &lock->major, &lock->minor, &lock->inode) != 7 ||
		    lock->pid <= 0 || lock->pid == except)
			continue;
		lock->writes = !strcmp(mode, "WRITE");
		n++;
	}
	if (file)
		fclose(file);
	return n;
}

/* One who writes comes before those who read; of several of a kind, none is the one. */
struct holders {
	pid_t writer, reader;
	bool several_write, several_read;
};

static void holder_add(struct holders *holders, const struct file_lock *lock)
{
	pid_t *one = lock->writes ? &holders->writer : &holders->reader;
	bool *several = lock->writes ? &holders->several_write : &holders->several_read;

	*several |= *one && *one != lock->pid;
	*one = lock->pid;
}

static void holders_find(struct holders *holders, pid_t pid, const struct file_lock *locks,
			 size_t n)
{
	char path[64], name[96];
	struct dirent *entry;
	DIR *directory;
	struct stat stat_;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)proc_thread(pid));
	directory = opendir(path);
	while (directory && (entry = readdir(directory))) {
		snprintf(name, sizeof(name), "%s/%.20s", path, entry->d_name);
		if (!isdigit((unsigned char)*entry->d_name) || stat(name, &stat_) ||
		    !S_ISREG(stat_.st_mode))
			continue;
		for (size_t i = 0; i < n; i++)
			if (locks[i].inode == stat_.st_ino &&
			    locks[i].major == major(stat_.st_dev) &&
			    locks[i].minor == minor(stat_.st_dev))
				holder_add(holders, &locks[i]);
	}
	if (directory)
		closedir(directory);
}

bool lock_holder_of_file(struct awaited_process *found, pid_t pid)
{
	struct file_lock *locks = calloc(FILE_LOCKS_MOST, sizeof(*locks));
	struct holders holders = { .writer = 0 };
	size_t n = locks ? locks_read(locks, pid) : 0;

	if (n)
		holders_find(&holders, pid, locks, n);
	free(locks);
	if (holders.writer)
		return !holders.several_write && awaited_process_describe(found, holders.writer);
	return holders.reader && !holders.several_read &&
	       awaited_process_describe(found, holders.reader);
}

/* --- Sessions of PostgreSQL --- */

#define TITLE_LEN 256
#define CHILDREN_LEN 65536

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
static bool may_hold(const char *title)
{
	const char *activity = activity_of(title);

	if (!activity)
		return strstr(title, "autovacuum worker");
	return strcmp(activity, "idle") != 0 && !ends_with(activity, " waiting");
}

bool lock_holder_of_session(struct awaited_process *found, pid_t pid)
{
	char title[TITLE_LEN], name[64], *children, *end;
	struct proc_stat stat;
	size_t n = 0;
	pid_t only = 0;

	title_read(title, pid);
	if (!activity_of(title) || !ends_with(title, " waiting") || !proc_stat_read(&stat, pid))
		return false;
	children = malloc(CHILDREN_LEN);
	snprintf(name, sizeof(name), "./task/%d/children", (int)stat.parent);
	end = children && proc_file_read(stat.parent, name, children, CHILDREN_LEN) > 0 ? children
											: NULL;
	while (end && isdigit((unsigned char)*end)) {
		pid_t child = (pid_t)strtol(end, &end, 10);

		end += *end == ' ';
		title_read(title, child);
		if (child == pid || !may_hold(title))
			continue;
		only = child;
		n++;
	}
	free(children);
	if (n != 1 || !awaited_process_describe(found, only))
		return false;
	title_read(title, only);
	if (activity_of(title))
		snprintf(found->state, sizeof(found->state), "%s", activity_of(title));
	return true;
}
