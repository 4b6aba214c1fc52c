// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "polled.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>

#include "cli/base/arith.h"
#include "cli/base/proc_file.h"
#include "cli/base/syscall_set.h"

/* How a system call has its descriptors. */
enum polled_by { BY_ARRAY, BY_SETS, BY_EPOLL, BY_DESCRIPTOR, BY_LISTENER, BY_SIGNAL };

static const struct {
	const char *call;
	enum polled_by by;
} calls[] = {
	{ "poll", BY_ARRAY },           { "ppoll", BY_ARRAY },
	{ "select", BY_SETS },          { "pselect6", BY_SETS },
	{ "epoll_wait", BY_EPOLL },     { "epoll_pwait", BY_EPOLL },
	{ "epoll_pwait2", BY_EPOLL },   { "read", BY_DESCRIPTOR },
	{ "readv", BY_DESCRIPTOR },     { "recvfrom", BY_DESCRIPTOR },
	{ "recvmsg", BY_DESCRIPTOR },   { "recvmmsg", BY_DESCRIPTOR },
	{ "connect", BY_DESCRIPTOR },   { "accept", BY_LISTENER },
	{ "accept4", BY_LISTENER },     { "pause", BY_SIGNAL },
	{ "rt_sigsuspend", BY_SIGNAL }, { "rt_sigtimedwait", BY_SIGNAL },
};

#define CALLS (sizeof(calls) / sizeof(*calls))

/* Index of a call; CALLS: none of these. Only native calls: others have other structures, and
 * numbers. */
static size_t call_find(uint32_t call)
{
	const char *name = syscall_mode(call) ? NULL : syscall_name(call);
	size_t i = name ? 0 : CALLS;

	while (i < CALLS && strcmp(name, calls[i].call) != 0)
		i++;
	return i;
}

bool polled_is(uint32_t call)
{
	const size_t i = call_find(call);

	return i < CALLS && calls[i].by != BY_LISTENER;
}

static bool add(struct polled *polled, int fd)
{
	for (size_t i = 0; i < polled->n; i++)
		if (polled->fds[i] == fd)
			return true;
	if (polled->n == POLLED_MOST)
		return false;
	polled->fds[polled->n++] = fd;
	return true;
}

static bool array_read(struct polled *polled, pid_t pid, const uint64_t *arguments)
{
	struct pollfd all[POLLED_MOST];
	const uint64_t n = arguments[1];

	if (!n || n > POLLED_MOST || !remote_read(pid, arguments[0], all, n * sizeof(*all)))
		return false;
	for (size_t i = 0; i < n; i++)
		if (all[i].fd >= 0)
			add(polled, all[i].fd);
	return true;
}

static bool sets_read(struct polled *polled, pid_t pid, const uint64_t *arguments)
{
	const size_t n = (size_t)u64_min(arguments[0], FD_SETSIZE);

	for (size_t set = 1; set <= 3; set++) {
		fd_set fds;

		if (!arguments[set])
			continue;
		/* The kernel takes whole words. */
		if (!remote_read(pid, arguments[set], &fds, (n + 63) / 64 * 8))
			return false;
		for (size_t fd = 0; fd < n; fd++)
			if (FD_ISSET(fd, &fds) && !add(polled, (int)fd))
				return false;
	}
	return true;
}

/* "tfd:        5 events:       19 data: ..." in fdinfo. */
static bool epoll_read(struct polled *polled, pid_t pid, int epoll)
{
	char name[64], text[POLLED_MOST * 128], *at = text;
	ssize_t length;

	snprintf(name, sizeof(name), "fdinfo/%d", epoll);
	length = proc_file_read(pid, name, text, sizeof(text));
	/* What does not fit are more than that. */
	if (length <= 0 || (size_t)length + 1 >= sizeof(text))
		return false;
	while ((at = strstr(at, "tfd:"))) {
		at += strlen("tfd:");
		if (!add(polled, (int)strtol(at, &at, 10)))
			return false;
	}
	return true;
}

static bool call_read(struct polled *polled, pid_t pid, const struct proc_call *call)
{
	const uint64_t *arguments = call->arguments;
	const size_t i = call_find((uint32_t)call->number);
	bool found = false;

	polled->n = 0;
	if (i == CALLS)
		return false;
	switch (calls[i].by) {
	case BY_ARRAY:
		found = array_read(polled, pid, arguments);
		break;
	case BY_SETS:
		found = sets_read(polled, pid, arguments);
		break;
	case BY_EPOLL:
		found = epoll_read(polled, proc_thread(pid), (int)arguments[0]);
		break;
	case BY_DESCRIPTOR:
	case BY_LISTENER:
		found = add(polled, (int)arguments[0]);
		break;
	case BY_SIGNAL:
		return true;
	}
	return found && polled->n;
}

bool polled_find(struct polled *polled, pid_t pid, pid_t tid, uint32_t call)
{
	struct proc_call now;

	return proc_call_read(&now, tid) && now.number == call && call_read(polled, pid, &now);
}

bool polled_now(struct polled *polled, pid_t pid, pid_t tid)
{
	struct proc_call now;

	return proc_call_read(&now, tid) && now.number >= 0 && call_read(polled, pid, &now);
}

bool polled_at(pid_t pid, pid_t tid, const char *link)
{
	/* Longer ones are paths. */
	char other[64];
	struct polled polled;
	struct proc_call now;
	const char *name;
	bool found = false;

	if (!proc_call_read(&now, tid) || now.number < 0)
		return false;
	if (!(now.sp >> 32)) /* a 32-bit program: its calls have other numbers */
		return true;
	if (!call_read(&polled, pid, &now)) {
		name = syscall_name((uint32_t)now.number);
		return call_find((uint32_t)now.number) < CALLS ||
		       (name && !strcmp(name, "io_uring_enter"));
	}
	for (size_t i = 0; i < polled.n && !found; i++) {
		proc_fd_link(tid, polled.fds[i], other, sizeof(other));
		found = !strcmp(other, link);
	}
	return found;
}
