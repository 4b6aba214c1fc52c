/* SPDX-License-Identifier: Apache-2.0 */
/* SIGINT and SIGTERM, which ask this program to end, and waits for other processes that stay
 * responsive to them. */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

#include "exit_status.h"

struct signals;

/* Takes over both signals. Returns 0, or an exit status after printing what failed. */
exit_status signals_open(struct signals **signals);

/* Restores them; NULL is allowed. */
void signals_close(struct signals *signals);

/* Calls restore(context) before the first signal that counts lets the next one kill this
 * process. Also takes over SIGHUP and SIGQUIT. NULL: calls nothing. Returns 0, or an exit status
 * after printing what failed. */
exit_status signals_restore_first(struct signals *signals, void (*restore)(void *context),
				  void *context);

/* Descriptor to poll: readable after a signal. */
int signals_fd(const struct signals *signals);

/* Lets another thread act if a signal counts, the run has made no progress for
 * SIGNALS_PATIENCE_NS, and it sleeps in an operation that may block (blocking.h). That thread ends
 * the process, or from now on calls stuck(unblocked). stuck() may replace descriptors in use by
 * that one, which never blocks. */
void signals_when_stuck(struct signals *signals, void (*stuck)(int unblocked));

/* True if stuck() was called. */
bool signals_was_stuck(const struct signals *signals);

/* Passes the first signal on to a process, whose pidfd the caller keeps; signals of the terminal
 * reach it anyway. The next signal counts. */
void signals_pass_on(struct signals *signals, int pidfd);

/* Takes pending signals without waiting. After the first one that counts, default actions are
 * restored: the next one kills this process. Returns true if this program should end. */
bool signals_ask(struct signals *signals);

/* The signal that counted; 0: none. */
int signals_number(const struct signals *signals);

/* Waits for another process, until one of the poll() events or the deadline (CLOCK_MONOTONIC
 * ns). If this program should end, or is asked to meanwhile, waits only SIGNALS_PATIENCE_NS
 * longer. NULL: ignores signals. Returns 0; -EINTR: gave up, because this program should end;
 * -ETIMEDOUT; another negative errno. */
int signals_wait(struct signals *signals, int fd, short events, uint64_t deadline);
#define SIGNALS_PATIENCE_NS 1000000000ULL

/* --- SIGUSR1 --- */

struct report_signal {
	int fd; /* descriptor to poll: readable after the signal; -1: unused */
};

/* Catches the signal for report_signal_arrived(), and nothing else. Returns 0, or an exit status
 * after printing what failed. */
exit_status report_signal_open(struct report_signal *report_signal);

/* True if it arrived since the last call, once or more often. */
bool report_signal_arrived(const struct report_signal *report_signal);

/* Ignores the signal from now on; does nothing if not opened. */
void report_signal_close(struct report_signal *report_signal);

#endif
