// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "appear.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"

/* Between looks through /proc: without the connector, and with it, which is silent about forks
 * that keep the name. */
#define LEAST_PAUSE (50 * NSEC_PER_MSEC)
#define LEAST_PAUSE_CONNECTED (2 * NSEC_PER_SEC)
#define ACK_MS 200         /* for the kernel's answer; it comes before send() returns */
#define MESSAGES_MOST 4096 /* in a look: others may send as fast as we read */

/* struct cn_msg, which ends with an array and so cannot be a member. */
struct connector_head {
	struct cb_id id;
	uint32_t seq, ack;
	uint16_t len, flags;
};
_Static_assert(sizeof(struct connector_head) == sizeof(struct cn_msg), "linux/connector.h");

/* A message of the connector: without gaps, as it comes. */
struct netlink_message {
	struct nlmsghdr netlink;
	struct connector_head connector;
	struct proc_event event;
} __attribute__((packed));

/* Only what gives processes a name reaches us: forks are many, and keep the parent's. */
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

/* The kernel counts listeners, and before 6.6 one that only closes its socket stays
 * counted: each fork and exec of the machine makes a message for it. */
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
	/* Where it is not meant for us, as in a namespace, it does not answer. */
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

static bool has_name(const struct appear *appear, const char *pid)
{
	char path[64], name[KD_COMM_LEN + 1];
	size_t length;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%.16s/comm", pid);
	file = fopen(path, "re");
	length = file ? fread(name, 1, sizeof(name), file) : 0;
	if (file)
		fclose(file);
	return length == strlen(appear->name) + 1 && !memcmp(name, appear->name, length - 1);
}

/* Of a thread that is not the first the name is not the process's. */
static bool event_is_of_it(const struct appear *appear, const struct proc_event *event)
{
	char pid[16];

	if (event->what == PROC_EVENT_COMM)
		return event->event_data.comm.process_pid == event->event_data.comm.process_tgid &&
		       !strncmp(event->event_data.comm.comm, appear->name, KD_COMM_LEN);
	if (event->what != PROC_EVENT_EXEC)
		return false;
	snprintf(pid, sizeof(pid), "%d", event->event_data.exec.process_tgid);
	return has_name(appear, pid);
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
		else if (length < 0 && errno == ENOBUFS) /* some were lost */
			found = true;
	} while (--left && (length >= 0 || errno == ENOBUFS || errno == EINTR));
	return found || !left;
}

/* A look through /proc takes as long as there are processes: the more, the seldomer. */
static bool names_look(struct appear *appear)
{
	uint64_t began = clock_monotonic();
	struct dirent *entry;
	bool found = false;
	DIR *proc;

	if (began < appear->next)
		return false;
	proc = opendir("/proc");
	while (proc && !found && (entry = readdir(proc)))
		found = isdigit((unsigned char)*entry->d_name) && has_name(appear, entry->d_name);
	if (proc)
		closedir(proc);
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

int appear_fd(const struct appear *appear)
{
	return appear->fd;
}

void appear_wait(const struct appear *appear, uint64_t ns)
{
	struct pollfd fd = { appear->fd, POLLIN, 0 };
	struct timespec timeout =
		clock_timespec(u64_min(ns, u64_sub(appear->next, clock_monotonic())));

	ppoll(&fd, 1, &timeout, NULL);
}

void appear_close(struct appear *appear)
{
	if (appear->fd >= 0)
		connector_close(appear->fd);
	appear->fd = -1;
}
