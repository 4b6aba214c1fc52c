/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "signals.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"

struct signals {
	sigset_t set;
	int fd;
	int pass_to;                    /* the pidfd of whom the next one is for; -1: nobody */
	int number;                     /* the one that counted; 0: none */
	uint64_t asked;                 /* when that came, CLOCK_MONOTONIC ns */
	void (*restore)(void *context); /* then; NULL: nothing */
	void *context;
};

exit_status signals_open(struct signals **out)
{
	struct signals *signals = calloc(1, sizeof(*signals));

	*out = signals;
	if (!signals)
		return log_no_memory();
	signals->pass_to = -1;
	sigemptyset(&signals->set);
	sigaddset(&signals->set, SIGINT);
	sigaddset(&signals->set, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals->set, NULL);
	signals->fd = signalfd(-1, &signals->set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals->fd >= 0)
		return 0;
	log_error("cannot wait for signals: %s", strerror(errno));
	return EX_OSERR;
}

exit_status signals_restore_first(struct signals *signals, void (*restore)(void *context),
				  void *context)
{
	signals->restore = restore;
	signals->context = context;
	if (!restore || signals->number)
		return 0;
	sigaddset(&signals->set, SIGHUP);
	sigaddset(&signals->set, SIGQUIT);
	sigprocmask(SIG_BLOCK, &signals->set, NULL);
	if (signalfd(signals->fd, &signals->set, 0) >= 0)
		return 0;
	log_error("cannot wait for signals: %s", strerror(errno));
	return EX_OSERR;
}

void signals_close(struct signals *signals)
{
	if (!signals)
		return;
	if (signals->fd >= 0) {
		signals_ask(signals); /* one that comes this late is not to kill */
		close(signals->fd);
	}
	sigprocmask(SIG_UNBLOCK, &signals->set, NULL);
	free(signals);
}

int signals_fd(const struct signals *signals)
{
	return signals->fd;
}

void signals_pass_on(struct signals *signals, int pidfd)
{
	signals->pass_to = pidfd;
}

bool signals_ask(struct signals *signals)
{
	struct signalfd_siginfo info;

	while (!signals->number && read(signals->fd, &info, sizeof(info)) == sizeof(info)) {
		if (signals->pass_to >= 0) {
			if (info.ssi_code != SI_KERNEL)
				syscall(SYS_pidfd_send_signal, signals->pass_to,
					(int)info.ssi_signo, NULL, 0);
			signals->pass_to = -1;
			continue;
		}
		signals->number = (int)info.ssi_signo;
		signals->asked = clock_monotonic();
		if (signals->restore)
			signals->restore(signals->context);
		signal(SIGINT, SIG_DFL);
		signal(SIGTERM, SIG_DFL);
		sigprocmask(SIG_UNBLOCK, &signals->set, NULL);
	}
	return signals->number;
}

int signals_number(const struct signals *signals)
{
	return signals->number;
}

int signals_wait(struct signals *signals, int fd, short events, uint64_t deadline)
{
	struct pollfd fds[] = { { .fd = fd, .events = events },
				{ .fd = signals ? signals->fd : -1, .events = POLLIN } };

	uint64_t begun = clock_monotonic(), hurry = UINT64_MAX;

	for (;;) {
		uint64_t now = clock_monotonic(), until;
		struct timespec left;
		int ready;

		if (fds[1].fd >= 0 && signals_ask(signals)) {
			fds[1].fd = -1;
			hurry = SIGNALS_PATIENCE_NS +
				(signals->asked > begun ? signals->asked : begun);
		}
		until = deadline < hurry ? deadline : hurry;
		left = clock_timespec(until > now ? until - now : 0);
		ready = ppoll(fds, 2, &left, NULL);
		if (ready < 0 && errno != EINTR)
			return -errno;
		if (ready > 0 && fds[0].revents)
			return 0;
		if (!ready && until <= clock_monotonic())
			return hurry <= deadline ? -EINTR : -ETIMEDOUT;
	}
}
