// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "asked_look.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/base/proc_file.h"
#include "cli/base/syscall_set.h"
#include "polled.h"

#define LINK_LEN 64 /* a longer one is a path */
#define CHILDREN_MOST 16
#define THREADS_MOST 64 /* of a process that are looked at */
#define RUNNING_LOOKS 3

/* 0 if the link is of no socket. */
static uint64_t socket_inode(const char *target)
{
	static const char begin[] = "socket:[";

	return strncmp(target, begin, strlen(begin)) != 0
		       ? 0
		       : strtoull(target + strlen(begin), NULL, 10);
}

static void socket_link(char target[static LINK_LEN], uint64_t inode)
{
	snprintf(target, LINK_LEN, "socket:[%" PRIu64 "]", inode);
}

struct asking {
	pid_t pid;
	pid_t children[CHILDREN_MOST];
	size_t n_children;
	struct socket_facts facts[POLLED_MOST];
	enum asked_kind kinds[POLLED_MOST];
	char links[POLLED_MOST][LINK_LEN];
	size_t n;
};

#define DESCRIPTORS_MOST 256 /* of a process that are looked at */

static bool is_pipe(const char *link)
{
	return !strncmp(link, "pipe:", strlen("pipe:"));
}

/* True if a process has such a descriptor, but this one; of a pipe the end that is written to. */
static bool holds(pid_t pid, const char *target, int except)
{
	const pid_t of = proc_thread(pid);
	struct proc_list fds;
	char other[LINK_LEN];
	bool found = false;

	proc_list_begin(&fds, "/proc/%d/fd", (int)of);
	for (size_t n = 0; !found && n < DESCRIPTORS_MOST && proc_list_next(&fds); n++) {
		proc_fd_link(of, fds.number, other, sizeof(other));
		found = fds.number != except && !strcmp(other, target) &&
			(!is_pipe(target) || proc_fd_mode(of, fds.number) > O_RDONLY);
	}
	proc_list_end(&fds);
	return found;
}

/* By who has the other end of a pipe or a pair of sockets. */
static enum asked_kind kind_by_holder(const struct asking *asking, const char *target, int except)
{
	if (holds(asking->pid, target, except))
		return ASKED_OWN;
	for (size_t i = 0; i < asking->n_children; i++)
		if (holds(asking->children[i], target, -1))
			return ASKED_CHILD;
	return ASKED_OUTSIDE;
}

/* "Pid:\t4711" in fdinfo. */
static enum asked_kind kind_of_pidfd(const struct asking *asking, int fd)
{
	char name[64], text[512];
	const char *at = NULL;
	pid_t pid = 0;

	snprintf(name, sizeof(name), "fdinfo/%d", fd);
	if (proc_file_read(proc_thread(asking->pid), name, text, sizeof(text)) > 0)
		at = strstr(text, "\nPid:");
	if (at)
		pid = (pid_t)strtol(at + strlen("\nPid:"), NULL, 10);
	for (size_t i = 0; i < asking->n_children; i++)
		if (asking->children[i] == pid)
			return ASKED_CHILD;
	return ASKED_OUTSIDE;
}

/* Who has the other end. */
static bool holder_find(struct awaited_process *found, pid_t pid, uint64_t peer_inode)
{
	char peer[LINK_LEN];

	if (!peer_inode)
		return false;
	socket_link(peer, peer_inode);
	return awaited_reader_find(found, pid, peer);
}

/* True if a thread of a process may sleep at such a descriptor. */
static bool sleeps_at(pid_t pid, const char *link)
{
	struct proc_list threads;
	bool found = false;
	size_t n = 0;

	proc_list_begin(&threads, "/proc/%d/task", (int)pid);
	while (!found && proc_list_next(&threads))
		found = ++n > THREADS_MOST || polled_at(pid, threads.number, link);
	proc_list_end(&threads);
	return found;
}

/* The kernel does not say who sent last through a local socket. But who has read the request, and
 * does not wait for another one there, has not answered yet. One with many connections may be busy
 * with another one, for a moment. */
static bool owes_answer(pid_t pid, uint64_t peer_inode)
{
	const struct timespec pause = { .tv_nsec = 3 * NSEC_PER_MSEC };
	struct awaited_process server;
	char link[LINK_LEN];

	if (!holder_find(&server, pid, peer_inode))
		return false;
	socket_link(link, peer_inode);
	for (unsigned int i = 0; i < RUNNING_LOOKS; i++) {
		if (i)
			nanosleep(&pause, NULL);
		if (sleeps_at(server.pid, link))
			return false;
	}
	return true;
}

static enum asked_kind kind_of_socket(const struct asking *asking, const struct socket_facts *facts)
{
	const bool alone = asking->n == 1;
	const enum asked_kind kind = asked_of_socket(facts, alone);

	return kind == ASKED_IDLE && alone && !facts->stream && facts->peer_inode &&
			       owes_answer(asking->pid, facts->peer_inode)
		       ? ASKED_OPEN
		       : kind;
}

static enum asked_kind kind_of(const struct asking *asking, size_t i, int fd)
{
	static const char *const own[] = { "anon_inode:[eventfd]", "anon_inode:[timerfd]",
					   "anon_inode:[signalfd]" };
	const struct socket_facts *facts = &asking->facts[i];
	const char *target = asking->links[i];
	char peer[LINK_LEN];

	for (size_t j = 0; j < sizeof(own) / sizeof(*own); j++)
		if (!strcmp(target, own[j]))
			return ASKED_OWN;
	if (is_pipe(target))
		return kind_by_holder(asking, target, fd);
	if (!strcmp(target, "anon_inode:[pidfd]"))
		return kind_of_pidfd(asking, fd);
	if (facts->role != SOCKET_PAIR)
		return kind_of_socket(asking, facts);
	socket_link(peer, facts->peer_inode);
	return kind_by_holder(asking, peer, -1);
}

static void children_read(struct asking *asking)
{
	asking->n_children = proc_children(asking->pid, asking->children, CHILDREN_MOST);
	if (asking->n_children > CHILDREN_MOST)
		asking->n_children = CHILDREN_MOST;
}

/* Returns false as soon as it is known to be idle. */
static bool asking_fill(struct asking *asking, struct sockets *sockets, const struct polled *polled)
{
	const pid_t of = proc_thread(asking->pid);
	bool any = false;

	children_read(asking);
	asking->n = polled->n;
	for (size_t i = 0; i < polled->n; i++) {
		proc_fd_link(of, polled->fds[i], asking->links[i], sizeof(asking->links[i]));
		asking->facts[i] = (struct socket_facts){ .inode = socket_inode(asking->links[i]) };
		any |= asking->facts[i].inode;
	}
	if (any)
		sockets_look(sockets, asking->pid, asking->facts, asking->n);
	for (size_t i = 0; i < polled->n; i++) {
		asking->kinds[i] = kind_of(asking, i, polled->fds[i]);
		if (asking->kinds[i] == ASKED_OUTSIDE)
			return false;
	}
	return true;
}

/* --- Those who wait for requests themselves --- */

#define CHILDREN_DEEP 4

/* What threads of a process sleep at. */
struct served {
	uint64_t listener; /* one waits for connections there; 0: none */
	bool accepted;     /* one waits at a connection that a client made */
	bool by_asker;     /* one waits for what this process sends by a pipe, or the like */
};

static void served_add(struct served *served, pid_t asker, const struct socket_facts *facts,
		       const char *link)
{
	char peer[LINK_LEN];

	socket_link(peer, facts->peer_inode);
	served->accepted |= facts->role == SOCKET_ACCEPTED;
	served->by_asker |= is_pipe(link) ? holds(asker, link, -1)
					  : facts->role == SOCKET_PAIR && holds(asker, peer, -1);
	if (facts->role == SOCKET_LISTENS)
		served->listener = facts->inode;
}

/* asker: whose sockets are looked up; it is in the same network namespace, or nothing is found. */
static void served_find(struct served *served, struct sockets *sockets, pid_t asker, pid_t pid)
{
	struct socket_facts facts[POLLED_MOST];
	char links[POLLED_MOST][LINK_LEN];
	struct proc_list threads;
	struct polled polled;

	*served = (struct served){ .listener = 0 };
	proc_list_begin(&threads, "/proc/%d/task", (int)pid);
	for (size_t n = 0; n < THREADS_MOST && proc_list_next(&threads); n++) {
		if (!polled_now(&polled, pid, threads.number))
			continue;
		for (size_t i = 0; i < polled.n; i++) {
			proc_fd_link(threads.number, polled.fds[i], links[i], sizeof(links[i]));
			facts[i] = (struct socket_facts){ .inode = socket_inode(links[i]) };
		}
		sockets_look(sockets, asker, facts, polled.n);
		for (size_t i = 0; i < polled.n; i++)
			served_add(served, asker, &facts[i], links[i]);
	}
	proc_list_end(&threads);
}

static char state_of(pid_t pid)
{
	struct proc_stat stat;

	return proc_stat_read(&stat, pid) ? stat.state : '\0';
}

static bool is_stopped(pid_t pid)
{
	const char state = state_of(pid);

	return state == 'T' || state == 't';
}

/* One with little to do runs for a moment only. */
static bool waits_for_requests(struct sockets *sockets, pid_t asker, pid_t pid, unsigned int looks)
{
	const struct timespec pause = { .tv_nsec = 3 * NSEC_PER_MSEC };
	struct served served;
	bool found = false;

	for (unsigned int i = 0; i < looks && !found; i++) {
		if (i && state_of(pid) != 'R')
			break;
		if (i)
			nanosleep(&pause, NULL);
		served_find(&served, sockets, asker, pid);
		found = served.listener || served.accepted || served.by_asker;
	}
	return found;
}

/* True if a process could wait for connections, also if it is busy with one. asker: as in
 * served_find(). */
static bool has_listener(struct sockets *sockets, pid_t asker, pid_t pid)
{
	const pid_t of = proc_thread(pid);
	struct socket_facts facts[POLLED_MOST];
	struct proc_list fds;
	char link[LINK_LEN];
	size_t n = 0;

	proc_list_begin(&fds, "/proc/%d/fd", (int)of);
	for (size_t i = 0; i < DESCRIPTORS_MOST && n < POLLED_MOST && proc_list_next(&fds); i++) {
		proc_fd_link(of, fds.number, link, sizeof(link));
		facts[n] = (struct socket_facts){ .inode = socket_inode(link) };
		n += facts[n].inode != 0;
	}
	proc_list_end(&fds);
	sockets_look(sockets, asker, facts, n);
	while (n && facts[n - 1].role != SOCKET_LISTENS)
		n--;
	return n;
}

/* True if a child, or one below it, waits for clients, or for its parent: then so does who started
 * it. */
static bool child_serves(struct sockets *sockets, pid_t pid, pid_t child, unsigned int looks)
{
	for (size_t n = 0; n < CHILDREN_DEEP && child && !is_stopped(child); n++) {
		if (waits_for_requests(sockets, pid, child, looks) ||
		    has_listener(sockets, pid, child))
			return true;
		child = awaited_only_child(child);
	}
	return false;
}

/* One of the children, if none of them serves. 0: none. */
static pid_t working_child(const struct asking *asking, struct sockets *sockets)
{
	const unsigned int looks = asking->n_children > 1 ? 1 : RUNNING_LOOKS;

	for (size_t i = 0; i < asking->n_children; i++)
		if (child_serves(sockets, asking->pid, asking->children[i], looks))
			return 0;
	return asking->n_children ? asking->children[0] : 0;
}

bool asked_child_serves(struct sockets *sockets, pid_t pid)
{
	struct asking asking = { .pid = pid };

	children_read(&asking);
	return asking.n_children && !working_child(&asking, sockets);
}

/* A program of one thread that only itself could wake, by a pipe or a signal, waits for its
 * children, if it has any that do not serve: as make does. */
static pid_t child_by_signal(const struct asking *asking, struct sockets *sockets)
{
	struct proc_stat stat;

	for (size_t i = 0; i < asking->n; i++)
		if (asking->kinds[i] != ASKED_OWN)
			return 0;
	return proc_stat_read(&stat, asking->pid) && stat.threads == 1
		       ? working_child(asking, sockets)
		       : 0;
}

bool asked_takes_turns(struct sockets *sockets, pid_t pid, pid_t holder)
{
	struct served of_holder, own;
	char target[LINK_LEN];

	if (is_stopped(holder))
		return false;
	served_find(&of_holder, sockets, pid, holder);
	socket_link(target, of_holder.listener);
	if (!of_holder.listener || !holds(pid, target, -1))
		return false;
	if (holder == pid) /* it was its turn */
		return true;
	served_find(&own, sockets, pid, pid);
	return own.listener != of_holder.listener;
}

bool asked_look(struct asked *asked, struct sockets *sockets, pid_t pid, pid_t tid, uint32_t call)
{
	struct asking asking = { .pid = pid };
	const struct socket_facts *facts;
	struct polled polled;
	size_t i;

	if (!polled_find(&polled, pid, tid, call) || !asking_fill(&asking, sockets, &polled))
		return false;
	i = asked_choose(asking.kinds, asking.n);
	if (i == asking.n) {
		*asked = (struct asked){ .fd = polled.n ? polled.fds[0] : -1,
					 .child = child_by_signal(&asking, sockets) };
		return asked->child;
	}
	facts = &asking.facts[i];
	*asked = (struct asked){ .fd = polled.fds[i], .open = asking.kinds[i] == ASKED_OPEN };
	if (!asked->open) {
		asked->child = working_child(&asking, sockets);
		return asked->child;
	}
	asked->sent_ago = facts->sent ? facts->sent_ago : 0;
	asked->peer_inode = facts->peer_inode;
	memcpy(asked->to, facts->peer, sizeof(asked->to));
	return true;
}

bool asked_who(struct awaited_process *found, const struct asked *asked, pid_t pid)
{
	return asked->child ? awaited_describe(found, asked->child)
			    : holder_find(found, pid, asked->peer_inode);
}

static void facts_find(struct socket_facts *facts, struct sockets *sockets, pid_t pid, int fd)
{
	char target[LINK_LEN];

	proc_fd_link(proc_thread(pid), fd, target, sizeof(target));
	*facts = (struct socket_facts){ .inode = socket_inode(target) };
	if (facts->inode)
		sockets_look(sockets, pid, facts, 1);
}

/* Where a call has the address of a socket, and its length. */
static bool address_at(uint64_t at[static 2], pid_t pid, const struct proc_call *now)
{
	const char *name = syscall_name((uint32_t)now->number);
	const uint64_t *arguments = now->arguments;
	struct msghdr message;

	if (!strcmp(name, "connect")) {
		memcpy(at, &arguments[1], 2 * sizeof(*at));
	} else if (!strcmp(name, "sendto")) {
		memcpy(at, &arguments[4], 2 * sizeof(*at));
	} else if (!strcmp(name, "sendmsg") &&
		   remote_read(pid, arguments[1], &message, sizeof(message))) {
		at[0] = (uint64_t)(uintptr_t)message.msg_name;
		at[1] = message.msg_namelen;
	} else {
		return false;
	}
	return at[0];
}

/* The local socket to which a thread sends or connects, by its name. 0: none, or unknown. */
static uint64_t addressed_find(pid_t pid, pid_t tid, uint32_t call)
{
	struct sockaddr_un address = { 0 };
	const size_t before = offsetof(struct sockaddr_un, sun_path);
	struct proc_call now;
	uint64_t at[2];
	size_t length;

	if (syscall_mode(call) || !syscall_name(call) || !proc_call_read(&now, tid) ||
	    now.number != call || !address_at(at, pid, &now))
		return 0;
	length = (size_t)u64_min(at[1], sizeof(address) - 1);
	if (length <= before || !remote_read(pid, at[0], &address, length) ||
	    address.sun_family != AF_UNIX)
		return 0;
	return sockets_named(pid, address.sun_path, length - before);
}

bool asked_peer(struct awaited_process *found, struct sockets *sockets, pid_t pid, pid_t tid,
		int fd, uint32_t call)
{
	struct socket_facts facts;

	facts_find(&facts, sockets, pid, fd);
	if (facts.inode && !facts.peer_inode)
		facts.peer_inode = addressed_find(pid, tid, call);
	return holder_find(found, pid, facts.peer_inode);
}

bool asked_is_accepted(struct sockets *sockets, pid_t pid, int fd)
{
	struct socket_facts facts;

	facts_find(&facts, sockets, pid, fd);
	return facts.role == SOCKET_ACCEPTED || facts.role == SOCKET_LISTENS;
}

enum kept_back asked_kept_back(struct sockets *sockets, pid_t pid, pid_t tid, uint32_t call)
{
	struct socket_facts facts[POLLED_MOST];
	const pid_t of = proc_thread(pid);
	enum kept_back kept = KEPT_NOT;
	char target[LINK_LEN];
	struct polled polled;
	bool any = false;

	if (!polled_find(&polled, pid, tid, call))
		return KEPT_NOT;
	for (size_t i = 0; i < polled.n; i++) {
		proc_fd_link(of, polled.fds[i], target, sizeof(target));
		facts[i] = (struct socket_facts){ .inode = socket_inode(target) };
		any |= facts[i].inode;
	}
	if (any)
		sockets_look(sockets, pid, facts, polled.n);
	for (size_t i = 0; i < polled.n && !kept; i++)
		kept = facts[i].kept_back;
	return kept;
}
