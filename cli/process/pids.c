// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "pids.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/base/parse.h"
#include "cli/base/proc_file.h"

/* --- PIDs of other namespaces --- */

/* Levels of a namespace and its ancestors: MAX_PID_NS_LEVEL, include/linux/pid_namespace.h, plus
 * one. */
#define PID_NAMESPACE_LEVELS 33
#define LABEL "NSpid:"

struct search {
	const char *proc;
	struct stat space; /* the namespace */
	size_t level;      /* index of its PIDs */
	pid_t pid;
};

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Reads numbers separated by blanks, up to the end of the line. */
static size_t pids_read(const char *text, pid_t pids[PID_NAMESPACE_LEVELS])
{
	size_t n = 0;
	char *end;

	for (text += strspn(text, " \t"); *text && *text != '\n'; text = end + strspn(end, " \t")) {
		long pid;

		if (!isdigit((unsigned char)*text) || n == PID_NAMESPACE_LEVELS)
			return 0;
		pid = strtol(text, &end, 10);
		if (pid <= 0 || pid > INT_MAX || (*end && !strchr(" \t\n", *end)))
			return 0;
		pids[n++] = (pid_t)pid;
	}
	return n;
}

/* Reads a process's PIDs from its status file, outermost namespace first. Returns their number;
 * 0: missing or invalid. */
static size_t process_pids(const char *proc, pid_t pid, pid_t pids[PID_NAMESPACE_LEVELS])
{
	char path[PATH_MAX], *line = NULL;
	size_t size = 0, n = 0;
	FILE *status;

	snprintf(path, sizeof(path), "%s/%d/status", proc, (int)pid);
	status = fopen(path, "re");
	/* Line by line: that of a process's groups has no practical limit. */
	while (status && !n && getline(&line, &size, status) > 0)
		if (!strncmp(line, LABEL, strlen(LABEL)))
			n = pids_read(line + strlen(LABEL), pids);
	free(line);
	if (status)
		fclose(status);
	return n;
}

/* True if the process's namespace is the wanted one, or lies below levels under it. */
static bool is_inside(const struct search *search, pid_t pid, size_t below)
{
	char path[PATH_MAX];
	struct stat space = { 0 };
	int fd, above;

	snprintf(path, sizeof(path), "%s/%d/ns/pid", search->proc, (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	for (; fd >= 0 && below; below--) {
		above = ioctl(fd, NS_GET_PARENT);
		close(fd);
		fd = above;
	}
	if (fd < 0)
		return false;
	above = fstat(fd, &space);
	close(fd);
	return !above && is_same_file(&space, &search->space);
}

/* Namespace of a process, from a single file. */
static bool space_of(const char *proc, const char *pid, struct stat *space)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/%s/ns/pid", proc, pid) < (int)sizeof(path) &&
	       !stat(path, space);
}

static bool is_wanted(const struct search *search, pid_t pid)
{
	pid_t pids[PID_NAMESPACE_LEVELS];
	size_t n = process_pids(search->proc, pid, pids);

	return n > search->level && pids[search->level] == search->pid &&
	       is_inside(search, pid, n - 1 - search->level);
}

int pid_namespace_find(const char *proc, pid_t member, pid_t pid, pid_t *found)
{
	struct search search = { .proc = proc, .pid = pid };
	pid_t pids[PID_NAMESPACE_LEVELS];
	char name[16];
	struct stat ours, theirs;
	bool have_ours = space_of(proc, "self", &ours);
	struct dirent *entry;
	int error = -ESRCH;
	DIR *folder;

	snprintf(name, sizeof(name), "%d", (int)member);
	if (!space_of(proc, name, &search.space))
		return -errno;
	search.level = process_pids(proc, member, pids);
	if (!search.level--)
		return -ENODATA;
	folder = opendir(proc);
	if (!folder)
		return -errno;
	while (error && (entry = readdir(folder))) {
		pid_t candidate = (pid_t)strtol(entry->d_name, NULL, 10);

		if (!isdigit((unsigned char)*entry->d_name))
			continue;
		/* Most processes are in our namespace, which this finds without their status. */
		if (have_ours && !is_same_file(&ours, &search.space) &&
		    space_of(proc, entry->d_name, &theirs) && is_same_file(&ours, &theirs))
			continue;
		if (!is_wanted(&search, candidate))
			continue;
		*found = candidate;
		error = 0;
	}
	closedir(folder);
	return error;
}

/* --- Identity of a process beyond its PID --- */

#define DELETED " (deleted)"

static void file_read(char file[static PATH_MAX], pid_t pid)
{
	const size_t suffix = strlen(DELETED);
	size_t length;

	proc_link_read(proc_thread(pid), "exe", file, PATH_MAX);
	length = strlen(file);
	/* Replaced by an upgrade. */
	if (length > suffix && !strcmp(file + length - suffix, DELETED))
		file[length - suffix] = '\0';
}

bool identity_read(struct identity *identity, pid_t pid)
{
	struct proc_stat stat;

	memset(identity, 0, sizeof(*identity));
	identity->pid = pid;
	if (!proc_stat_read(&stat, pid) || !stat.threads ||
	    strlen(stat.comm) >= sizeof(identity->name))
		return false;
	identity->started = stat.started;
	memcpy(identity->name, stat.comm, strlen(stat.comm));
	file_read(identity->file, pid);
	return true;
}

bool identity_is_alive(const struct identity *identity)
{
	struct identity now;

	return identity_read(&now, identity->pid) && now.started == identity->started;
}

uint64_t identity_clock(void)
{
	return clock_read(CLOCK_BOOTTIME);
}

uint64_t identity_started_at(const struct identity *identity)
{
	return clock_read(CLOCK_REALTIME) - identity_clock() + identity->started;
}

/* --- PID files of daemons --- */

static int text_read(int fd, pid_t *pid, uint64_t *written)
{
	struct stat status;
	char text[64], *number;
	uint64_t value;
	ssize_t length;

	if (fstat(fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL;
	length = read(fd, text, sizeof(text) - 1);
	if (length <= 0)
		return length ? -errno : -ENODATA;
	text[length] = '\0';
	number = text + strspn(text, " \t");
	/* The number may be followed by blanks or further lines, as in PostgreSQL. */
	number[strcspn(number, " \t\r\n")] = '\0';
	if (parse_u64(number, 1, INT32_MAX, &value))
		return -EINVAL;
	*pid = (pid_t)value;
	*written = clock_ns(&status.st_mtim);
	return 0;
}

int pidfile_read(const char *path, pid_t *pid, uint64_t *written)
{
	/* Opening a pipe would wait for its writer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), error;

	if (fd < 0)
		return -errno;
	error = text_read(fd, pid, written);
	close(fd);
	return error;
}

/* --- New processes with some name --- */

/* Pause between scans of /proc: without the process connector, and with it, because it does not
 * report forks that keep the name. */
#define LEAST_PAUSE (50 * NSEC_PER_MSEC)
#define LEAST_PAUSE_CONNECTED (2 * NSEC_PER_SEC)
#define ACK_MS 200         /* for the kernel's answer, which precedes the return of send() */
#define MESSAGES_MOST 4096 /* per look: others may send as fast as we read */

/* struct cn_msg ends in an array, so it cannot be a member. */
struct connector_head {
	struct cb_id id;
	uint32_t seq, ack;
	uint16_t len, flags;
};
_Static_assert(sizeof(struct connector_head) == sizeof(struct cn_msg), "linux/connector.h");

/* A connector message: packed, as received. */
struct netlink_message {
	struct nlmsghdr netlink;
	struct connector_head connector;
	struct proc_event event;
} __attribute__((packed));

/* Only receives events that name processes: forks are many, and keep the parent's name. */
static bool filter_set(int fd)
{
	const unsigned int what = offsetof(struct netlink_message, event) +
				  offsetof(struct proc_event, what);
	/* Classic BPF loads in network order. */
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, what),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(PROC_EVENT_NONE), 3, 0), /* the answer */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(PROC_EVENT_EXEC), 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(PROC_EVENT_COMM), 1, 0),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
	};
	const struct sock_fprog program = { sizeof(code) / sizeof(*code), code };

	return !setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

static bool op_send(int fd, enum proc_cn_mcast_op op)
{
	struct {
		struct nlmsghdr netlink;
		struct connector_head connector;
		uint32_t op;
	} __attribute__((packed)) message = {
		.netlink = { .nlmsg_len = sizeof(message), .nlmsg_type = NLMSG_DONE },
		.connector = { .id = { CN_IDX_PROC, CN_VAL_PROC }, .len = sizeof(message.op) },
		.op = op,
	};

	return send(fd, &message, sizeof(message), 0) == (ssize_t)sizeof(message);
}

/* The kernel counts listeners. Before 6.6, closing the socket does not reduce the count: each
 * fork and exec on the machine then makes a message for it. */
static void connector_close(int fd)
{
	op_send(fd, PROC_CN_MCAST_IGNORE);
	close(fd);
}

static int connector_open(void)
{
	const struct sockaddr_nl group = { .nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC };
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_CONNECTOR);
	struct pollfd poll_fd = { fd, POLLIN, 0 };

	if (fd < 0)
		return -1;
	if (!filter_set(fd) || bind(fd, (const struct sockaddr *)&group, sizeof(group)) ||
	    !op_send(fd, PROC_CN_MCAST_LISTEN)) {
		close(fd);
		return -1;
	}
	/* It does not answer where it is not available, as in a namespace. */
	if (poll(&poll_fd, 1, ACK_MS) > 0)
		return fd;
	connector_close(fd);
	return -1;
}

void appear_open(struct appear *appear, const char *name)
{
	*appear = (struct appear){ .fd = connector_open() };
	snprintf(appear->name, sizeof(appear->name), "%s", name);
}

static bool has_name(const struct appear *appear, pid_t pid)
{
	char name[KD_COMM_LEN + 2]; /* those of kernel threads may be longer */
	ssize_t length = proc_comm_read(pid, name, sizeof(name));

	return length == (ssize_t)strlen(appear->name) && !strcmp(name, appear->name);
}

/* The name of a thread other than the first is not the process's. */
static bool event_is_of_it(const struct appear *appear, const struct proc_event *event)
{
	if (event->what == PROC_EVENT_COMM)
		return event->event_data.comm.process_pid == event->event_data.comm.process_tgid &&
		       !strncmp(event->event_data.comm.comm, appear->name, KD_COMM_LEN);
	return event->what == PROC_EVENT_EXEC &&
	       has_name(appear, event->event_data.exec.process_tgid);
}

static bool connector_look(struct appear *appear)
{
	struct netlink_message message = { 0 };
	struct proc_event event;
	unsigned int left = MESSAGES_MOST;
	bool found = false;
	ssize_t length;

	do {
		length = recv(appear->fd, &message, sizeof(message), 0);
		event = message.event;
		if (length >= (ssize_t)sizeof(message))
			found |= event_is_of_it(appear, &event);
		else if (length < 0 && errno == ENOBUFS) /* messages were lost */
			found = true;
	} while (--left && (length >= 0 || errno == ENOBUFS || errno == EINTR));
	return found || !left;
}

/* Scanning /proc takes longer with more processes, so it is done less often then. */
static bool names_look(struct appear *appear)
{
	uint64_t began = clock_monotonic();
	struct proc_list processes;
	bool found = false;

	if (began < appear->next)
		return false;
	proc_list_begin(&processes, "/proc");
	while (!found && proc_list_next(&processes))
		found = has_name(appear, processes.number);
	proc_list_end(&processes);
	appear->next = clock_monotonic();
	appear->next += u64_max(appear->fd < 0 ? LEAST_PAUSE : LEAST_PAUSE_CONNECTED,
				APPEAR_SHARE * (appear->next - began));
	return found;
}

bool appear_look(struct appear *appear)
{
	bool found = appear->fd >= 0 && connector_look(appear);

	return names_look(appear) || found;
}

void appear_close(struct appear *appear)
{
	if (appear->fd >= 0)
		connector_close(appear->fd);
	appear->fd = -1;
}
