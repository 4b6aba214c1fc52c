/* SPDX-License-Identifier: Apache-2.0 */
/* Ticks that hit threads in user mode: where each was. */
#ifndef PART_USER_TICKS_H
#define PART_USER_TICKS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct session;

/* Most that are kept of a thread. */
#define USER_TICKS 128

/* Copies the addresses of the last ones of a thread between two times (CLOCK_MONOTONIC ns). Returns
 * their number; 0 also if the thread has ended. */
size_t session_user_ticks(const struct session *session, pid_t tid, uint64_t from, uint64_t to,
			  uint64_t ips[static USER_TICKS]);

#endif
