/* SPDX-License-Identifier: Apache-2.0 */
/* Whom threads wait for whose sleeps nobody has ended yet: who can do that, and whom they asked. */
#ifndef COLLECT_AWAITED_H
#define COLLECT_AWAITED_H

#include "cli/capture/session/types.h"
#include "cli/model/sample.h"
#include "cli/process/asked_look.h"

#define ASKED_LOOKS 16 /* in a window */

/* A sleep that was looked at while it lasted. */
struct asked_sleep {
	uint32_t tid;
	int32_t call;
	uint64_t since;  /* since the session's epoch */
	uint64_t looked; /* when, CLOCK_MONOTONIC */
	bool found;      /* it is not idle: */
	struct asked asked;
	struct awaited_process child; /* that of asked, which may be gone at the end */
	uint64_t sent;                /* when, CLOCK_MONOTONIC; 0: when the sleep began */
};

/* Whether a client made the connection of a socket, by its inode. */
#define ACCEPTED_KNOWN 64
struct accepted {
	uint64_t inode; /* 0: none */
	bool is;
};

/* Sleeps of the window that was looked at last. Zeroed at the beginning, but for its sockets, which
 * belong to its owner. */
struct awaited_watch {
	struct sockets *sockets; /* NULL: nothing is looked at */
	uint64_t gen;
	uint64_t spent; /* CPU time of its looks, ns */
	struct asked_sleep all[ASKED_LOOKS];
	size_t n;
	uint64_t kept_due; /* when data that is kept back is worth a look, CLOCK_MONOTONIC */
	struct accepted accepted[ACCEPTED_KNOWN];
	/* Who had a lock of a file that this process tried to get; PID 0: nobody. */
	unsigned int held_looks;
	pid_t held_from;
	struct awaited_process held_by;
};

/* Looks at threads of an open window, or of one that has just been closed, that sleep for some time
 * already: once at each sleep, and at a few of them. */
void awaited_look(struct awaited_watch *watch, const struct session_view *view);

/* Adds to a sample's sleeps what was seen; and looks for who can end those that go on, if a thread
 * slept for most of the window; for a few at most. */
void awaited_take(struct awaited_watch *watch, const struct session_view *view,
		  struct sample *sample);

#endif
