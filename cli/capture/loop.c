// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "loop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../clock.h"
#include "../exit_status.h"
#include "../log.h"

struct loop {
	struct pollfd fds[4]; /* signals, the target, what wakes up: two */
	sigset_t signals;
	enum loop_event event; /* LOOP_DEADLINE: none so far */
};

int loop_open(struct loop **out, pid_t pid)
{
	struct loop *loop = calloc(1, sizeof(*loop));

	*out = NULL;
	if (!loop) {
		log_error("no memory");
		return EX_OSERR;
	}
	sigemptyset(&loop->signals);
	sigaddset(&loop->signals, SIGINT);
	sigaddset(&loop->signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &loop->signals, NULL);
	loop->fds[0] = (struct pollfd){ signalfd(-1, &loop->signals, SFD_CLOEXEC), POLLIN, 0 };
	loop->fds[1] = (struct pollfd){ (int)syscall(SYS_pidfd_open, pid, 0), POLLIN, 0 };
	loop->fds[2] = loop->fds[3] = (struct pollfd){ -1, POLLIN, 0 };
	*out = loop;
	if (loop->fds[0].fd >= 0 && loop->fds[1].fd >= 0)
		return 0;
	if (loop->fds[0].fd >= 0 && errno == ESRCH) {
		log_error("process %d has ended", (int)pid);
		return EX_UNAVAILABLE;
	}
	log_error("cannot watch process %d: %s", (int)pid, strerror(errno));
	return EX_OSERR;
}

void loop_close(struct loop *loop)
{
	if (!loop)
		return;
	for (int i = 0; i < 2; i++)
		if (loop->fds[i].fd >= 0)
			close(loop->fds[i].fd);
	sigprocmask(SIG_UNBLOCK, &loop->signals, NULL);
	free(loop);
}

static enum loop_event loop_failed(const char *what)
{
	log_error("cannot %s: %s", what, strerror(errno));
	return LOOP_ERROR;
}

/* From now on the signals do what they do by default. */
static enum loop_event loop_signalled(struct loop *loop)
{
	struct signalfd_siginfo info;

	if (read(loop->fds[0].fd, &info, sizeof(info)) < 0)
		return loop_failed("read a signal");
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &loop->signals, NULL);
	return LOOP_SIGNAL;
}

void loop_watch(struct loop *loop, int fd)
{
	int place = loop->fds[2].fd < 0 ? 2 : 3;

	loop->fds[place].fd = fd;
}

enum loop_event loop_wait(struct loop *loop, uint64_t deadline, int (*tick)(void *), void *context)
{
	while (loop->event == LOOP_DEADLINE) {
		uint64_t now = clock_monotonic(), until;
		struct timespec timeout;
		int ready, done;

		if (now >= deadline)
			return LOOP_DEADLINE;
		until = deadline - now < LOOP_TICK_NS ? deadline - now : LOOP_TICK_NS;
		timeout = (struct timespec){ 0, (long)until };
		ready = ppoll(loop->fds, 4, &timeout, NULL);
		if (ready < 0 && errno != EINTR)
			loop->event = loop_failed("poll");
		else if (ready > 0 && loop->fds[0].revents)
			loop->event = loop_signalled(loop);
		else if (ready > 0 && loop->fds[1].revents)
			loop->event = LOOP_EXIT;
		if (loop->event != LOOP_DEADLINE)
			break;
		done = tick(context);
		if (done > 0)
			return LOOP_DONE;
		if (done < 0)
			loop->event = LOOP_ERROR;
	}
	return loop->event;
}
