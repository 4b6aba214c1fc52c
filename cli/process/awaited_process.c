// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "awaited_process.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/clock.h"
#include "cli/base/proc_file.h"

/* Machines may have very many processes and descriptors. CPU time. */
#define LOOK_MOST_NS (20 * NSEC_PER_MSEC)

/* --- What it does --- */

/* The word for a state of /proc/PID/stat, which follows the name in parentheses. */
static const char *state_word(pid_t pid)
{
	static const char *const words[] = {
		['R'] = "running", ['S'] = "asleep",  ['D'] = "asleep",
		['T'] = "stopped", ['t'] = "stopped", ['Z'] = "a zombie",
	};
	char stat[256];
	const char *name_end;
	unsigned char state;

	if (proc_file_read(pid, "stat", stat, sizeof(stat)) < 0)
		return NULL;
	name_end = strrchr(stat, ')');
	state = name_end && name_end[1] ? (unsigned char)name_end[2] : 0;
	return state < sizeof(words) / sizeof(*words) ? words[state] : NULL;
}

bool awaited_process_describe(struct awaited_process *found, pid_t pid)
{
	char wchan[KD_FUNCTION_LEN] = "", comm[KD_COMM_LEN + 1] = "";
	const char *word = state_word(pid);
	ssize_t length = proc_comm_read(pid, comm, sizeof(comm));

	if (length < 0)
		return false;
	*found = (struct awaited_process){ .pid = pid };
	memcpy(found->name, comm, sizeof(found->name));
	if (!word)
		return true;
	if (strcmp(word, "asleep") != 0 ||
	    proc_file_read(pid, "wchan", wchan, sizeof(wchan)) <= 0 || !strcmp(wchan, "0"))
		*wchan = '\0';
	wchan[strcspn(wchan, ".")] = '\0';
	snprintf(found->state, sizeof(found->state), "%s%s%s", word, *wchan ? " in " : "", wchan);
	return true;
}

/* --- Children --- */

/* Needs CONFIG_PROC_CHILDREN. */
static bool child_find(struct awaited_process *found, pid_t pid)
{
	char path[64], name[64], children[256];
	struct dirent *entry;
	DIR *directory;
	pid_t only = 0;
	size_t n = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	directory = opendir(path);
	while (directory && (entry = readdir(directory))) {
		char *end = children;

		snprintf(name, sizeof(name), "./task/%.20s/children", entry->d_name);
		if (!isdigit((unsigned char)*entry->d_name) ||
		    proc_file_read(pid, name, children, sizeof(children)) <= 0)
			continue;
		while (isdigit((unsigned char)*end)) {
			only = (pid_t)strtol(end, &end, 10);
			end += *end == ' ';
			n++;
		}
	}
	if (directory)
		closedir(directory);
	return n == 1 && awaited_process_describe(found, only);
}

/* --- Locks of files --- */

/* "7: -> FLOCK  ADVISORY  WRITE 4711 fe:00:12 0 EOF" waits for the lock of the line before that has
 * the same number and no arrow: lock_get_status(), fs/locks.c. */
static bool lock_holder_find(struct awaited_process *found, pid_t pid)
{
	FILE *file = fopen("/proc/locks", "re");
	char line[256], kind[16], how[16], mode[16];
	long number, holder = 0, of = 0, waiter;
	bool is_found = false;

	while (file && !is_found && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%ld: -> %15s %15s %15s %ld", &number, kind, how, mode, &waiter) ==
		    5)
			is_found = waiter == pid && number == of && holder > 0;
		else if (sscanf(line, "%ld: %15s %15s %15s %ld", &number, kind, how, mode,
				&holder) == 5)
			of = number;
	}
	if (file)
		fclose(file);
	return is_found && awaited_process_describe(found, (pid_t)holder);
}

/* --- Readers of pipes --- */

/* True if the descriptor of a process was opened so that it can read. */
static bool can_read(pid_t pid, const char *fd)
{
	char name[64], text[256];
	const char *flags;

	snprintf(name, sizeof(name), "fdinfo/%.20s", fd);
	if (proc_file_read(pid, name, text, sizeof(text)) <= 0)
		return false;
	flags = strstr(text, "flags:");
	return flags && (strtoul(flags + strlen("flags:"), NULL, 8) & O_ACCMODE) != O_WRONLY;
}

/* True if a process has a descriptor of this pipe from which it can read. */
static bool reads_from(pid_t pid, const char *pipe)
{
	char path[64], link[128], target[64];
	bool reads = false;
	struct dirent *entry;
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	directory = opendir(path);
	while (directory && !reads && (entry = readdir(directory))) {
		ssize_t length;

		snprintf(link, sizeof(link), "%s/%.20s", path, entry->d_name);
		length = isdigit((unsigned char)*entry->d_name)
				 ? readlink(link, target, sizeof(target) - 1)
				 : -1;
		if (length <= 0)
			continue;
		target[length] = '\0';
		reads = !strcmp(target, pipe) && can_read(pid, entry->d_name);
	}
	if (directory)
		closedir(directory);
	return reads;
}

static uint64_t cpu_time(void)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

/* A pipe without a name, "pipe:[4711]", is only in descriptors. */
static bool reader_find(struct awaited_process *found, pid_t pid, int fd)
{
	uint64_t until = cpu_time() + LOOK_MOST_NS;
	char link[64], pipe[64];
	struct dirent *entry = NULL;
	DIR *directory;
	ssize_t length;
	pid_t only = 0;
	size_t n = 0;

	snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)proc_thread(pid), fd);
	length = readlink(link, pipe, sizeof(pipe) - 1);
	if (length <= 0 || length == sizeof(pipe) - 1)
		return false;
	pipe[length] = '\0';
	directory = opendir("/proc");
	while (directory && (entry = readdir(directory)) && cpu_time() < until) {
		pid_t reader = (pid_t)strtol(entry->d_name, NULL, 10);

		/* The one that waits has a descriptor of the other end, too, if it has just forked.
		 */
		if (reader <= 0 || reader == pid || !reads_from(reader, pipe))
			continue;
		only = reader;
		n++;
	}
	if (directory)
		closedir(directory);
	return n == 1 && !entry && awaited_process_describe(found, only);
}

bool awaited_process_find(struct awaited_process *found, enum awaited_as as, pid_t pid, int fd)
{
	switch (as) {
	case AWAITED_CHILD:
		return child_find(found, pid);
	case AWAITED_FILE_LOCK:
		return lock_holder_find(found, pid);
	case AWAITED_READER:
		return reader_find(found, pid, fd);
	}
	return false;
}
