/* SPDX-License-Identifier: Apache-2.0 */
/* Who can end a sleep that goes on: a child, who has a file's lock or a lease on it, who reads from
 * a pipe, who serves a file system, fills memory, or has to allow a call. */
#ifndef AWAITED_PROCESS_H
#define AWAITED_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/model/thread_row.h"

enum awaited_as {
	AWAITED_CHILD,      /* of the thread's process */
	AWAITED_FILE_LOCK,  /* has the lock of flock() or fcntl() that the process waits for */
	AWAITED_LEASE,      /* has a lease on a file that it has to give back */
	AWAITED_READER,     /* reads what is written to the descriptor: a pipe, a terminal, ... */
	AWAITED_FUSE,       /* serves the file system of the descriptor, or the only one */
	AWAITED_PAGER,      /* handles page faults of others (userfaultfd) */
	AWAITED_SCANNER,    /* has to allow accesses to files (fanotify) */
	AWAITED_SUPERVISOR, /* has to answer for system calls (seccomp) */
	AWAITED_RECEIVER,   /* received last from the message queue (System V) with this number */
	AWAITED_PEER,       /* has the other end of the connection: see asked_peer() */
};

/* Names are raw, not escaped. */
struct awaited_process {
	pid_t pid;
	char name[KD_COMM_LEN];
	char state[WAIT_STATE_LEN]; /* "stopped", "asleep in pipe_read"; "": unknown */
};

/* Looks in /proc, at most for some ms. fd: the descriptor at which pid sleeps, or the queue; -1:
 * none. False if there is none, or more than one. */
bool awaited_process_find(struct awaited_process *found, enum awaited_as as, pid_t pid, int fd);

/* Describes a process. Returns false if it has ended. */
bool awaited_describe(struct awaited_process *found, pid_t pid);

/* The only child of a process; 0: none, or several. */
pid_t awaited_only_child(pid_t pid);

/* True if a process's descriptor, a name in /proc/PID/fd that links to this, is one of those that
 * are looked for. */
typedef bool descriptor_fn(pid_t pid, int fd, const char *link, const void *context);

/* The only process with such a descriptor, but one. Takes some ms at most. */
bool awaited_only_find(struct awaited_process *found, pid_t but, descriptor_fn *is_wanted,
		       const void *context);

/* The only process other than pid that can read what such a link is of: "pipe:[4711]",
 * "socket:[4712]". Takes some ms at most. */
bool awaited_reader_find(struct awaited_process *found, pid_t pid, const char *link_to);

#endif
