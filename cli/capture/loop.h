/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting: for a deadline, a signal, the button, or the end of the target. */
#ifndef LOOP_H
#define LOOP_H

#include <stdint.h>
#include <sys/types.h>

#include "cli/base/exit_status.h"
#include "cli/base/signals.h"

struct loop;

enum loop_event {
	LOOP_DEADLINE,
	LOOP_SIGNAL,  /* SIGINT or SIGTERM; the next one ends the process at once */
	LOOP_EXIT,    /* the target has ended */
	LOOP_DONE,    /* tick() says so */
	LOOP_PRESSED, /* the button was, since it was last told of */
	LOOP_ERROR,   /* has been printed */
};

/* The signals are not owned. Returns NULL without memory. */
struct loop *loop_new(struct signals *signals);

/* Watches this process from now on, in place of one that has ended. Returns 0, or after printing
 * what failed an exit status. */
exit_status loop_watch_process(struct loop *loop, pid_t pid);

/* The target ends later than that process: loop_end() says when. */
void loop_outlive_process(struct loop *loop);
void loop_end(struct loop *loop);

/* Forgets the process that has ended, and what woke the loop up. */
void loop_forget_process(struct loop *loop);

/* NULL is allowed. */
void loop_close(struct loop *loop);

/* A descriptor that wakes the loop up for a tick() when it becomes readable; of two at
 * most. -1: none. */
void loop_watch(struct loop *loop, int fd);

/* From now on it tells of the button, which is not owned. */
void loop_heed(struct loop *loop, const struct button *button);

/* From now on the first of the signals is the process's, see signals_pass_on(). */
void loop_pass_on(struct loop *loop);

/* Waits until the process has ended, or a signal comes that is not passed on, or has come
 * before. */
void loop_await_exit(struct loop *loop);

/* Waits until the deadline (ns of CLOCK_MONOTONIC) or an event, and calls tick(context) every
 * LOOP_TICK_NS meanwhile, or as loop_tick_each() has it; after the deadline it still looks once.
 * tick() returns 0; 1 to end this wait with LOOP_DONE; or after printing why a negative errno,
 * which ends it with LOOP_ERROR. Other events but LOOP_PRESSED stay: the next call returns them
 * again at once.
 */
enum loop_event loop_wait(struct loop *loop, uint64_t deadline, int (*tick)(void *), void *context);
#define LOOP_TICK_NS 20000000ULL

/* ns: less than a second. */
void loop_tick_each(struct loop *loop, uint64_t ns);

/* --- What this process has attached to the kernel --- */

/* Detaches all of it, while another thread may wait for something else: its descriptors become
 * copies of this one, and are closed as ever. Nothing that was recorded since is to be read. */
void attached_drop(int instead);

#endif
