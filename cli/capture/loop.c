// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "loop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"

struct loop {
	struct pollfd fds[4]; /* signals, the target, what wakes up: two */
	sigset_t signals;
	int pidfd;             /* of the target */
	bool passes_on;        /* the next signal */
	enum loop_event event; /* LOOP_DEADLINE: none so far */
};

exit_status loop_open(struct loop **out)
{
	struct loop *loop = calloc(1, sizeof(*loop));

	*out = NULL;
	if (!loop)
		return log_no_memory();
	loop->pidfd = -1;
	sigemptyset(&loop->signals);
	sigaddset(&loop->signals, SIGINT);
	sigaddset(&loop->signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &loop->signals, NULL);
	loop->fds[0] = (struct pollfd){ signalfd(-1, &loop->signals, SFD_CLOEXEC), POLLIN, 0 };
	for (int i = 1; i < 4; i++)
		loop->fds[i] = (struct pollfd){ -1, POLLIN, 0 };
	*out = loop;
	if (loop->fds[0].fd >= 0)
		return 0;
	log_error("cannot wait for signals: %s", strerror(errno));
	return EX_OSERR;
}

void loop_forget_process(struct loop *loop)
{
	if (loop->pidfd >= 0)
		close(loop->pidfd);
	loop->pidfd = loop->fds[1].fd = loop->fds[2].fd = loop->fds[3].fd = -1;
	if (loop->event == LOOP_EXIT)
		loop->event = LOOP_DEADLINE;
}

exit_status loop_watch_process(struct loop *loop, pid_t pid)
{
	loop_forget_process(loop);
	loop->pidfd = loop->fds[1].fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (loop->fds[1].fd >= 0)
		return 0;
	if (errno == ESRCH) {
		log_error("process %d has ended", (int)pid);
		return EX_UNAVAILABLE;
	}
	log_error("cannot watch process %d: %s", (int)pid, strerror(errno));
	return EX_OSERR;
}

void loop_outlive_process(struct loop *loop)
{
	loop->fds[1].fd = -1;
}

void loop_end(struct loop *loop)
{
	if (loop->event == LOOP_DEADLINE)
		loop->event = LOOP_EXIT;
}

void loop_close(struct loop *loop)
{
	if (!loop)
		return;
	if (loop->fds[0].fd >= 0)
		close(loop->fds[0].fd);
	if (loop->pidfd >= 0)
		close(loop->pidfd);
	sigprocmask(SIG_UNBLOCK, &loop->signals, NULL);
	free(loop);
}

static enum loop_event loop_failed(const char *what)
{
	log_error("cannot %s: %s", what, strerror(errno));
	return LOOP_ERROR;
}

void loop_pass_on(struct loop *loop)
{
	loop->passes_on = true;
}

/* From now on the signals do what they do by default, unless this one is passed on. */
static enum loop_event loop_signalled(struct loop *loop)
{
	struct signalfd_siginfo info;

	if (read(loop->fds[0].fd, &info, sizeof(info)) < 0)
		return loop_failed("read a signal");
	if (loop->passes_on) {
		loop->passes_on = false;
		if (info.ssi_code != SI_KERNEL)
			syscall(SYS_pidfd_send_signal, loop->pidfd, (int)info.ssi_signo, NULL, 0);
		return LOOP_DEADLINE;
	}
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &loop->signals, NULL);
	return LOOP_SIGNAL;
}

void loop_await_exit(struct loop *loop)
{
	struct pollfd *fds = loop->fds;

	fds[1].fd = loop->pidfd;
	for (fds[1].revents = 0; loop->event != LOOP_SIGNAL && !fds[1].revents;)
		if (poll(fds, 2, -1) > 0 && fds[0].revents)
			loop->event = loop_signalled(loop);
}

void loop_watch(struct loop *loop, int fd)
{
	int last = loop->fds[2].fd < 0 ? 2 : 3;

	loop->fds[last].fd = fd;
}

enum loop_event loop_wait(struct loop *loop, uint64_t deadline, int (*tick)(void *), void *context)
{
	for (bool looked = false; loop->event == LOOP_DEADLINE; looked = true) {
		uint64_t now = clock_monotonic(), left = now < deadline ? deadline - now : 0;
		struct timespec timeout = { 0, (long)(left < LOOP_TICK_NS ? left : LOOP_TICK_NS) };
		int ready, done;

		if (!left && looked)
			return LOOP_DEADLINE;
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
