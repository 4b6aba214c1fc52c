/* SPDX-License-Identifier: Apache-2.0 */
/* Which process it is: a PID may be another one's soon. */
#ifndef IDENTITY_H
#define IDENTITY_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"

struct identity {
	pid_t pid;
	uint64_t started; /* ns since the machine's start, to a clock tick */
	char name[KD_COMM_LEN];
	char file[PATH_MAX]; /* its executable, also if that was replaced; "" if unknown */
};

/* Reads it; false if there is no such process, or it is a zombie. */
bool identity_read(struct identity *identity, pid_t pid);

/* True if this process is still there. */
bool identity_is_alive(const struct identity *identity);

/* True if other is not this process, and runs the same program under the same name. */
bool identity_is_successor(const struct identity *identity, const struct identity *other);

/* The time now, as in started. */
uint64_t identity_clock(void);

/* When the process started, ns of the wall clock as it is now. */
uint64_t identity_started_at(const struct identity *identity);

#endif
