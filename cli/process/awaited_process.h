/* SPDX-License-Identifier: Apache-2.0 */
/* Who can end a sleep that goes on: a child, who has a file's lock, who reads from a pipe. */
#ifndef AWAITED_PROCESS_H
#define AWAITED_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/model/thread_row.h"

enum awaited_as {
	AWAITED_CHILD,     /* of the thread's process */
	AWAITED_FILE_LOCK, /* has the lock of flock() or fcntl() that the process waits for */
	AWAITED_READER,    /* reads from the pipe at the descriptor */
};

/* Names are raw, not escaped. */
struct awaited_process {
	pid_t pid;
	char name[KD_COMM_LEN];
	char state[WAIT_STATE_LEN]; /* "stopped", "asleep in pipe_read"; "": unknown */
};

/* Describes a process. Returns false if it has ended. */
bool awaited_process_describe(struct awaited_process *found, pid_t pid);

/* Looks in /proc, at most for some ms. fd: AWAITED_READER only. False if there is none, or more
 * than one. */
bool awaited_process_find(struct awaited_process *found, enum awaited_as as, pid_t pid, int fd);

#endif
