/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for a deadline, a signal, SIGUSR1, or the end of the target. */
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
	LOOP_DONE,    /* on request of tick() */
	LOOP_PRESSED, /* SIGUSR1, since the last report */
	LOOP_ERROR,   /* already printed */
};

/* Does not own the signals. Returns NULL without memory. */
struct loop *loop_new(struct signals *signals);

/* Watches this process from now on, in place of an ended one. Returns 0, or an exit status after
 * printing what failed. */
exit_status loop_watch_process(struct loop *loop, pid_t pid);

/* Ignores the end of the watched process, as the target outlives it; loop_end() reports the
 * target's. */
void loop_outlive_process(struct loop *loop);
void loop_end(struct loop *loop);

/* Forgets the ended process, and the descriptors that wake the loop. */
void loop_forget_process(struct loop *loop);

/* NULL is allowed. */
void loop_close(struct loop *loop);

/* Wakes the loop for a tick() when the descriptor becomes readable; two at most. -1: none. */
void loop_watch(struct loop *loop, int fd);

/* Reports SIGUSR1 from now on; does not own report_signal. */
void loop_heed(struct loop *loop, const struct report_signal *report_signal);

/* Passes the first signal on to the process from now on, see signals_pass_on(). */
void loop_pass_on(struct loop *loop);

/* Waits until the process ends, or a signal arrives (or has arrived) that is not passed on. */
void loop_await_exit(struct loop *loop);

/* Waits until the deadline (ns of CLOCK_MONOTONIC) or an event. Calls tick(context) every
 * about LOOP_TICK_NS or loop_tick_each() ns, and once if the deadline has passed. tick() returns 0;
 * 1 to end this wait with LOOP_DONE; or a negative errno after printing why, which ends it with
 * LOOP_ERROR. Events other than LOOP_PRESSED stay: the next call returns them at once. */
enum loop_event loop_wait(struct loop *loop, uint64_t deadline, int (*tick)(void *), void *context);
#define LOOP_TICK_NS 20000000ULL

/* Sets the period of ticks, ns: less than 0.8 s. */
void loop_tick_each(struct loop *loop, uint64_t ns);

/* --- What this process has attached to the kernel --- */

/* Detaches everything, even while another thread waits for the kernel. The descriptors become
 * copies of this one, and are closed as usual. Nothing recorded since then may be read. */
void attached_drop(int instead);

#endif
