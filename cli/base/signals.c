// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "signals.h"

#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "blocking.h"
#include "clock.h"
#include "log.h"
#include "proc_file.h"

/* --- SIGUSR1 --- */

exit_status report_signal_open(struct report_signal *report_signal)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	report_signal->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (report_signal->fd >= 0)
		return 0;
	log_error("cannot wait for SIGUSR1: %s", strerror(errno));
	return EX_OSERR;
}

bool report_signal_arrived(const struct report_signal *report_signal)
{
	struct signalfd_siginfo info;
	bool pressed = false;

	while (read(report_signal->fd, &info, sizeof(info)) == sizeof(info))
		pressed = true;
	return pressed;
}

void report_signal_close(struct report_signal *report_signal)
{
	if (report_signal->fd < 0)
		return;
	signal(SIGUSR1, SIG_IGN); /* a signal this late must not kill */
	close(report_signal->fd);
}

/* --- Signals that end the program --- */

struct signals {
	sigset_t set;
	int fd;
	int pass_to;                    /* pidfd that receives the next one; -1: none */
	int number;                     /* the signal that counted; 0: none */
	uint64_t wanted;                /* time of its arrival, CLOCK_MONOTONIC ns */
	void (*restore)(void *context); /* called then; NULL: none */
	void *context;
	pthread_t watcher;
	int events;                   /* wakes the watcher */
	void (*stuck)(int unblocked); /* NULL: the process ends */
	bool is_watched, was_stuck;
	atomic_bool closing;
};

/* --- Watcher --- */

/* It only closes descriptors. Capabilities are per thread. */
static void privileges_drop(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	syscall(SYS_capset, &header, none);
}

/* Takes signals the other thread has not. Returns true if one counts that was not acted on. */
static bool turn_ask(struct signals *signals)
{
	return !atomic_load(&signals->closing) && !signals->was_stuck && signals_ask(signals);
}

/* False if it runs, or waits for a CPU: then it is slow, as on a machine without a free CPU or in a
 * group that has used up its quota. */
static bool run_sleeps(void)
{
	struct proc_stat stat;

	return !proc_stat_read(&stat, getpid()) || stat.state != 'R';
}

/* The run has not progressed since. */
static void stuck_act(struct signals *signals)
{
	if (!turn_ask(signals))
		return;
	if (!signals->stuck)
		_exit(EX_SIGNALLED + signals->number);
	signals->was_stuck = true;
	signals->stuck(signals->fd);
}

/* If this thread takes the first signal, it alone does not block the next one, so it must keep
 * running. */
static void *watch(void *context)
{
	struct signals *signals = context;
	struct pollfd fds[] = { { .fd = signals->events, .events = POLLIN },
				{ .fd = signals->fd, .events = POLLIN } };
	eventfd_t reported;
	bool counts;

	privileges_drop();
	while (!atomic_load(&signals->closing)) {
		poll(fds, 2, -1);
		blocking_turn_take();
		counts = turn_ask(signals);
		blocking_turn_end();
		eventfd_read(signals->events, &reported);
		if (!counts)
			continue;
		while (!atomic_load(&signals->closing) &&
		       (poll(fds, 1, SIGNALS_PATIENCE_NS / NSEC_PER_MSEC) > 0 || !run_sleeps()))
			eventfd_read(signals->events, &reported);
		blocking_turn_take();
		stuck_act(signals);
		blocking_turn_end();
	}
	return NULL;
}

static int watcher_start(struct signals *signals)
{
	sigset_t all, before;
	int error;

	signals->events = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (signals->events < 0)
		return -errno;
	blocking_watched();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&signals->watcher, NULL, watch, signals);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	signals->is_watched = !error;
	return -error;
}

static void watcher_tell(const struct signals *signals)
{
	eventfd_write(signals->events, 1);
}

static void watcher_end(struct signals *signals)
{
	blocking_unwatched();
	if (signals->is_watched) {
		atomic_store(&signals->closing, true);
		watcher_tell(signals);
		pthread_join(signals->watcher, NULL);
	}
	if (signals->events >= 0)
		close(signals->events);
}

void signals_when_stuck(struct signals *signals, void (*stuck)(int unblocked))
{
	signals->stuck = stuck;
}

bool signals_was_stuck(const struct signals *signals)
{
	return signals->was_stuck;
}

/* --- Signals --- */

exit_status signals_open(struct signals **out)
{
	struct signals *signals = calloc(1, sizeof(*signals));
	int error;

	*out = signals;
	if (!signals)
		return log_no_memory();
	signals->pass_to = signals->events = -1;
	sigemptyset(&signals->set);
	sigaddset(&signals->set, SIGINT);
	sigaddset(&signals->set, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals->set, NULL);
	signals->fd = signalfd(-1, &signals->set, SFD_CLOEXEC | SFD_NONBLOCK);
	error = signals->fd < 0 ? -errno : watcher_start(signals);
	if (!error)
		return 0;
	log_error("cannot wait for signals: %s", strerror(-error));
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
	watcher_end(signals);
	if (signals->fd >= 0) {
		signals_ask(signals); /* a signal this late must not kill */
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
		signals->wanted = clock_monotonic();
		if (signals->restore)
			signals->restore(signals->context);
		signal(SIGINT, SIG_DFL);
		signal(SIGTERM, SIG_DFL);
		sigprocmask(SIG_UNBLOCK, &signals->set, NULL);
		watcher_tell(signals);
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
				(signals->wanted > begun ? signals->wanted : begun);
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
