/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting: for a deadline, a signal, or the end of the target. */
#ifndef LOOP_H
#define LOOP_H

#include <stdint.h>
#include <sys/types.h>

struct loop;

enum loop_event {
	LOOP_DEADLINE,
	LOOP_SIGNAL, /* SIGINT or SIGTERM; the next one ends the process at once */
	LOOP_EXIT,   /* the target has ended */
	LOOP_DONE,   /* tick() says so */
	LOOP_ERROR,  /* has been printed */
};

/* Takes SIGINT and SIGTERM over and watches the process. Returns 0, or after
 * printing what failed an exit status. */
int loop_open(struct loop **loop, pid_t pid);

/* Gives the signals back; NULL is allowed. */
void loop_close(struct loop *loop);

/* A descriptor that wakes the loop up for a tick() when it becomes readable; of two at
 * most. -1: none. */
void loop_watch(struct loop *loop, int fd);

/* Waits until the deadline (ns of CLOCK_MONOTONIC) or an event, and calls
 * tick(context) every LOOP_TICK_NS meanwhile. tick() returns 0; 1 to end this
 * wait with LOOP_DONE; or after printing why a negative errno, which ends it with
 * LOOP_ERROR. Other events stay: the next call returns them again at once. */
enum loop_event loop_wait(struct loop *loop, uint64_t deadline, int (*tick)(void *), void *context);
#define LOOP_TICK_NS 20000000ULL

#endif
