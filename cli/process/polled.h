/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptors at which a thread sleeps. */
#ifndef POLLED_H
#define POLLED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define POLLED_MOST 32

struct polled {
	int fds[POLLED_MOST];
	size_t n;
};

/* True for such a call: a poll, or one that receives from a descriptor, or waits for a signal. */
bool polled_is(uint32_t call);

/* Reads the arguments of the system call in which a thread sleeps, by its number.
 * False if it is none of these, if it has ended, or has more descriptors than that. One that only
 * waits for a signal has none. pid: of its process. */
bool polled_find(struct polled *polled, pid_t pid, pid_t tid, uint32_t call);

/* The same for whatever call the thread sleeps in, also one that waits for connections. */
bool polled_now(struct polled *polled, pid_t pid, pid_t tid);

/* True if the thread sleeps at a descriptor that links to this ("socket:[4711]"); also if that is
 * not known, as it has more descriptors, waits by io_uring, or is one of a 32-bit program. */
bool polled_at(pid_t pid, pid_t tid, const char *link);

#endif
