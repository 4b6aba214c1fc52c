/* SPDX-License-Identifier: Apache-2.0 */
/* SIGINT and SIGTERM, which ask this program to end, and waiting for other processes without
 * being deaf to them. */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

#include "exit_status.h"

struct signals;

/* Takes both over. Returns 0, or after printing what failed an exit status. */
exit_status signals_open(struct signals **signals);

/* Gives them back; NULL is allowed. */
void signals_close(struct signals *signals);

/* Before the first that counts leaves the next one to end this process at once, restore(context) is
 * called; SIGHUP and SIGQUIT are taken over, too, from then on. NULL: nobody is called. Returns 0,
 * or after printing what failed an exit status. */
exit_status signals_restore_first(struct signals *signals, void (*restore)(void *context),
				  void *context);

/* To be polled: it is readable when one has come. */
int signals_fd(const struct signals *signals);

/* If a signal that counts has come, the run has not gone on for SIGNALS_PATIENCE_NS, and is at what
 * may block (blocking.h), another thread acts for it: it ends the process, or from now on calls
 * stuck(unblocked), which may close what others use, by putting that descriptor, which never
 * blocks, in its place. */
void signals_when_stuck(struct signals *signals, void (*stuck)(int unblocked));

/* Whether it was called. */
bool signals_was_stuck(const struct signals *signals);

/* From now on the first of them is for that process, whose pidfd remains the caller's: one that was
 * not sent by the terminal, whose signals reach it anyway, is passed on. The next one counts. */
void signals_pass_on(struct signals *signals, int pidfd);

/* Takes what has come, without waiting. After the first that counts they do what they do by
 * default: the next one ends this process at once. Returns whether this program is to end. */
bool signals_ask(struct signals *signals);

/* The signal that counted; 0: none. */
int signals_number(const struct signals *signals);

/* Waits for what another process does, until one of the events of poll() has come, or until the
 * deadline (CLOCK_MONOTONIC ns); but if this program is to end, or is asked to meanwhile, only for
 * SIGNALS_PATIENCE_NS from then on. NULL: signals are not looked at. Returns 0; -EINTR: no longer,
 * as this program is to end; -ETIMEDOUT; another negative errno. */
int signals_wait(struct signals *signals, int fd, short events, uint64_t deadline);
#define SIGNALS_PATIENCE_NS 1000000000ULL

/* --- SIGUSR1 --- */

struct button {
	int fd; /* to be polled: it is readable when the signal has come; -1: nobody waits for it */
};

/* From now on the signal is kept for button_pressed(), and does nothing else. Returns 0, or after
 * printing what failed an exit status. */
exit_status button_open(struct button *button);

/* Whether it has come since the last call, once or more often. */
bool button_pressed(const struct button *button);

/* From now on it is ignored; nothing if it was not opened. */
void button_close(struct button *button);

#endif
