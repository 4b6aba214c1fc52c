// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "awaited_process.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/fanotify.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/clock.h"
#include "cli/base/proc_file.h"

/* Machines may have very many processes and descriptors. CPU time. */
#define LOOK_MOST_NS (50 * NSEC_PER_MSEC)

/* --- What it does --- */

/* NULL: another one, or it is gone. */
static const char *state_word(pid_t pid)
{
	static const char *const words[] = {
		['R'] = "running", ['S'] = "asleep",  ['D'] = "asleep",
		['T'] = "stopped", ['t'] = "stopped", ['Z'] = "a zombie",
	};
	struct proc_stat stat;

	return proc_stat_read(&stat, pid) &&
			       (unsigned char)stat.state < sizeof(words) / sizeof(*words)
		       ? words[(unsigned char)stat.state]
		       : NULL;
}

bool awaited_describe(struct awaited_process *found, pid_t pid)
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

pid_t awaited_only_child(pid_t pid)
{
	pid_t only;

	return proc_children(pid, &only, 1) == 1 ? only : 0;
}

static bool child_find(struct awaited_process *found, pid_t pid)
{
	const pid_t child = awaited_only_child(pid);

	return child && awaited_describe(found, child);
}

/* --- Locks of files --- */

/* "7: -> FLOCK  ADVISORY  WRITE 4711 fe:00:12 0 EOF" waits for the lock of the line before that has
 * the same number and no arrow: lock_get_status(), fs/locks.c. Who took that may have ended. */
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
	return is_found && awaited_describe(found, (pid_t)holder);
}

/* --- Leases --- */

/* "7: LEASE  BREAKING  READ  4711 fe:00:12 0 EOF" has to be given back. Who waits for it is not
 * there. */
static bool lease_holder_find(struct awaited_process *found)
{
	FILE *file = fopen("/proc/locks", "re");
	long holder, only = 0;
	char line[256];
	bool one = true;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%*d: LEASE BREAKING %*s %ld", &holder) != 1)
			continue;
		one &= !only || only == holder;
		only = holder;
	}
	if (file)
		fclose(file);
	return only > 0 && one && awaited_describe(found, (pid_t)only);
}

/* --- Who has a descriptor of a file --- */

static bool descriptors_have(pid_t pid, descriptor_fn *is_wanted, const void *context)
{
	struct proc_list fds;
	bool found = false;
	char target[PATH_MAX];

	proc_list_begin(&fds, "/proc/%d/fd", (int)pid);
	while (!found && proc_list_next(&fds))
		found = proc_fd_link(pid, fds.number, target, sizeof(target)) &&
			is_wanted(pid, fds.number, target, context);
	proc_list_end(&fds);
	return found;
}

bool awaited_only_find(struct awaited_process *found, pid_t but, descriptor_fn *is_wanted,
		       const void *context)
{
	uint64_t until = clock_read(CLOCK_THREAD_CPUTIME_ID) + LOOK_MOST_NS;
	struct proc_list processes;
	bool whole = false;
	pid_t only = 0;
	size_t n = 0;

	proc_list_begin(&processes, "/proc");
	while (clock_read(CLOCK_THREAD_CPUTIME_ID) < until &&
	       !(whole = !proc_list_next(&processes))) {
		const pid_t pid = processes.number;

		if (pid == but || !descriptors_have(pid, is_wanted, context))
			continue;
		only = pid;
		n++;
	}
	proc_list_end(&processes);
	return n == 1 && whole && awaited_describe(found, only);
}

/* Finds what follows a label in the fdinfo of a descriptor. Returns false if it is not there. */
static bool fdinfo_read(pid_t pid, int fd, const char *label, char value[static 32])
{
	char name[64], text[512];
	const char *at;

	snprintf(name, sizeof(name), "fdinfo/%d", fd);
	if (proc_file_read(pid, name, text, sizeof(text)) <= 0)
		return false;
	at = strstr(text, label);
	return at && sscanf(at + strlen(label), "%31s", value) == 1;
}

/* --- Readers of pipes, sockets, terminals --- */

#define EVENTFD "anon_inode:[eventfd]"
#define TERMINALS "/dev/pts/"

/* True if the descriptor is of what such a link is of, and was opened so that it can read. */
static bool reads_from(pid_t pid, int fd, const char *link, const void *wanted)
{
	const int mode = strcmp(link, wanted) != 0 ? -1 : proc_fd_mode(pid, fd);

	return mode == O_RDONLY || mode == O_RDWR;
}

/* The one that waits has a descriptor of the other end, too, if it has just forked. */
bool awaited_reader_find(struct awaited_process *found, pid_t pid, const char *link_to)
{
	return awaited_only_find(found, pid, reads_from, link_to);
}

/* "eventfd-id:" is the same in all descriptors of one. */
static bool has_eventfd(pid_t pid, int fd, const char *link, const void *wanted)
{
	char id[32];

	return !strcmp(link, EVENTFD) && fdinfo_read(pid, fd, "eventfd-id:", id) &&
	       !strcmp(id, wanted);
}

/* The other end of a terminal. */
static bool emulates(pid_t pid, int fd, const char *link, const void *wanted)
{
	char number[32];

	return (!strcmp(link, "/dev/ptmx") || !strcmp(link, "/dev/pts/ptmx")) &&
	       fdinfo_read(pid, fd, "tty-index:", number) && !strcmp(number, wanted);
}

/* A pipe without a name, "pipe:[4711]", is only in descriptors; a message queue, "/jobs", has its
 * name there. */
static bool reader_find(struct awaited_process *found, pid_t pid, int fd)
{
	char link[PATH_MAX], id[32];

	if (!proc_fd_link(proc_thread(pid), fd, link, sizeof(link)))
		return false;
	if (!strcmp(link, EVENTFD))
		return fdinfo_read(proc_thread(pid), fd, "eventfd-id:", id) &&
		       awaited_only_find(found, pid, has_eventfd, id);
	if (!strncmp(link, TERMINALS, strlen(TERMINALS)))
		return awaited_only_find(found, pid, emulates, link + strlen(TERMINALS));
	return awaited_reader_find(found, pid, link);
}

/* "       key      msqid perms      cbytes       qnum lspid lrpid ...", of this program's IPC
 * namespace, and with PIDs as it sees them. */
static bool receiver_find(struct awaited_process *found, pid_t pid, int queue)
{
	FILE *file = proc_same_namespace(pid, "ipc") == 1 ? fopen("/proc/sysvipc/msg", "re") : NULL;
	int id, received = 0;
	char line[256];

	while (file && !received && fgets(line, sizeof(line), file))
		if (sscanf(line, "%*d %d %*o %*u %*u %*d %d", &id, &received) != 2 || id != queue)
			received = 0;
	if (file)
		fclose(file);
	return received > 0 && received != pid && awaited_describe(found, received);
}

/* --- Programs that serve others --- */

/* Finds the number of a FUSE connection, the minor one of its file system's device, by the mount of
 * a descriptor: "42 27 0:39 / /mnt ro - fuse.x x ro". "": unknown. */
static void connection_find(char connection[static 32], pid_t pid, int fd)
{
	char mount[32], path[64], *line = NULL;
	size_t size = 0;
	FILE *file;

	*connection = '\0';
	pid = proc_thread(pid);
	if (fd < 0 || !fdinfo_read(pid, fd, "mnt_id:", mount))
		return;
	snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
	file = fopen(path, "re");
	while (file && !*connection && getline(&line, &size, file) > 0)
		if (!strncmp(line, mount, strlen(mount)) && line[strlen(mount)] == ' ')
			sscanf(line, "%*s %*s %*[0-9]:%31s", connection);
	free(line);
	if (file)
		fclose(file);
}

/* Descriptors of /dev/fuse say which connection they are for, on some kernels. */
static bool serves(pid_t pid, int fd, const char *link, const void *wanted)
{
	char connection[32];

	return !strcmp(link, "/dev/fuse") &&
	       (!*(const char *)wanted || !fdinfo_read(pid, fd, "fuse_connection:", connection) ||
		!strcmp(connection, wanted));
}

static bool server_find(struct awaited_process *found, pid_t pid, int fd)
{
	char connection[32];

	connection_find(connection, pid, fd);
	return awaited_only_find(found, pid, serves, connection);
}

/* "pending: 1 total: 1": threads wait for it now. */
static bool fills_memory(pid_t pid, int fd, const char *link, const void *unused)
{
	char total[32];

	(void)unused;
	return !strcmp(link, "anon_inode:[userfaultfd]") && fdinfo_read(pid, fd, "total:", total) &&
	       strtoul(total, NULL, 10) > 0;
}

#define FAN_CLASSES (FAN_CLASS_CONTENT | FAN_CLASS_PRE_CONTENT)

/* "fanotify flags:5 event-flags:0": of a class that is asked first. */
static bool scans(pid_t pid, int fd, const char *link, const void *unused)
{
	char flags[32];

	(void)unused;
	return !strcmp(link, "anon_inode:[fanotify]") &&
	       fdinfo_read(pid, fd, "fanotify flags:", flags) &&
	       strtoul(flags, NULL, 16) & FAN_CLASSES;
}

static bool supervises(pid_t pid, int fd, const char *link, const void *unused)
{
	(void)pid, (void)fd, (void)unused;
	return !strcmp(link, "anon_inode:seccomp notify");
}

bool awaited_process_find(struct awaited_process *found, enum awaited_as as, pid_t pid, int fd)
{
	switch (as) {
	case AWAITED_CHILD:
		return child_find(found, pid);
	case AWAITED_FILE_LOCK:
		return lock_holder_find(found, pid);
	case AWAITED_LEASE:
		return lease_holder_find(found);
	case AWAITED_READER:
		return reader_find(found, pid, fd);
	case AWAITED_RECEIVER:
		return receiver_find(found, pid, fd);
	case AWAITED_FUSE:
		return server_find(found, pid, fd);
	case AWAITED_PAGER:
		return awaited_only_find(found, pid, fills_memory, NULL);
	case AWAITED_SCANNER:
		return awaited_only_find(found, pid, scans, NULL);
	case AWAITED_SUPERVISOR:
		return awaited_only_find(found, pid, supervises, NULL);
	case AWAITED_PEER:
		break;
	}
	return false;
}
