// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "loop.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"

/* --- What this process has attached to the kernel --- */

/* A program stays attached while any process holds its link, or the perf event that runs it. */
static bool holds_program(int directory, const char *name)
{
	static const char *const kinds[] = { "anon_inode:bpf_link", "anon_inode:[perf_event]" };
	char kind[32];
	ssize_t length = readlinkat(directory, name, kind, sizeof(kind) - 1);

	kind[length < 0 ? 0 : length] = '\0';
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kind, kinds[i]))
			return true;
	return false;
}

void attached_drop(int instead)
{
	DIR *list = opendir("/proc/self/fd");
	const struct dirent *entry;

	while (list && (entry = readdir(list)))
		if (holds_program(dirfd(list), entry->d_name))
			dup3(instead, atoi(entry->d_name), O_CLOEXEC);
	if (list)
		closedir(list);
}

/* --- Waits for a deadline, a signal, SIGUSR1, or the end of the target --- */

struct loop {
	struct pollfd fds[5]; /* signals, the target, two that wake the loop, SIGUSR1 */
	struct signals *signals;
	const struct report_signal *report_signal; /* NULL: none */
	int pidfd;                                 /* of the target */
	uint64_t tick_ns;
	unsigned int ticks;
	enum loop_event event; /* LOOP_DEADLINE: none yet */
};

struct loop *loop_new(struct signals *signals)
{
	struct loop *loop = calloc(1, sizeof(*loop));

	if (!loop)
		return NULL;
	loop->signals = signals;
	loop->pidfd = -1;
	loop->tick_ns = LOOP_TICK_NS;
	loop->fds[0] = (struct pollfd){ signals_fd(signals), POLLIN, 0 };
	for (int i = 1; i < 5; i++)
		loop->fds[i] = (struct pollfd){ -1, POLLIN, 0 };
	return loop;
}

void loop_forget_process(struct loop *loop)
{
	signals_pass_on(loop->signals, -1);
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
	signals_pass_on(loop->signals, -1);
	if (loop->pidfd >= 0)
		close(loop->pidfd);
	free(loop);
}

static enum loop_event loop_failed(const char *what)
{
	log_error("cannot %s: %s", what, strerror(errno));
	return LOOP_ERROR;
}

void loop_heed(struct loop *loop, const struct report_signal *report_signal)
{
	loop->report_signal = report_signal;
	loop->fds[4].fd = report_signal->fd;
}

void loop_pass_on(struct loop *loop)
{
	signals_pass_on(loop->signals, loop->pidfd);
}

void loop_await_exit(struct loop *loop)
{
	struct pollfd *fds = loop->fds;

	fds[1].fd = loop->pidfd;
	fds[1].revents = 0;
	while (!signals_ask(loop->signals) && !fds[1].revents)
		poll(fds, 2, -1);
}

void loop_watch(struct loop *loop, int fd)
{
	int last = loop->fds[2].fd < 0 ? 2 : 3;

	loop->fds[last].fd = fd;
}

void loop_tick_each(struct loop *loop, uint64_t ns)
{
	loop->tick_ns = ns;
}

/* What is looked at now and then may happen as regularly as ticks do. So their lengths vary, by a
 * quarter. */
static uint64_t tick_next(struct loop *loop)
{
	return loop->tick_ns * (12 + loop->ticks++ * 5 % 8) / 16;
}

enum loop_event loop_wait(struct loop *loop, uint64_t deadline, int (*tick)(void *), void *context)
{
	for (bool looked = false; loop->event == LOOP_DEADLINE; looked = true) {
		uint64_t now = clock_monotonic(), left = now < deadline ? deadline - now : 0;
		struct timespec timeout = { 0, (long)u64_min(left, tick_next(loop)) };
		int ready, done;

		if (!left && looked)
			return LOOP_DEADLINE;
		ready = ppoll(loop->fds, 5, &timeout, NULL);
		if (ready < 0 && errno != EINTR)
			loop->event = loop_failed("poll");
		else if ((ready || signals_number(loop->signals)) && signals_ask(loop->signals))
			loop->event = LOOP_SIGNAL;
		else if (ready > 0 && loop->fds[1].revents)
			loop->event = LOOP_EXIT;
		if (loop->event != LOOP_DEADLINE)
			break;
		done = tick(context);
		if (done > 0)
			return LOOP_DONE;
		if (done < 0)
			loop->event = LOOP_ERROR;
		else if (ready > 0 && loop->fds[4].revents &&
			 report_signal_arrived(loop->report_signal))
			return LOOP_PRESSED;
	}
	return loop->event;
}
