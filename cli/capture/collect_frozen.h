/* SPDX-License-Identifier: Apache-2.0 */
/* Freezers of control groups: which group they hold, and when threads may have been frozen in their
 * sleep. */
#ifndef COLLECT_FROZEN_H
#define COLLECT_FROZEN_H

#include "cli/model/sample.h"

#define FROZEN_SPANS 16 /* power of two */

struct session;
struct session_view;

struct frozen_watch {
	char group[CULPRIT_GROUP_LEN]; /* cgroup last seen frozen, */
	uint64_t at;                   /* since the epoch; 0: none */
	pid_t pid;                     /* the process in it; 0: none */
	uint64_t looked;               /* last read of cgroups, CLOCK_MONOTONIC ns */
	/* Version 1 freezes sleeping threads where they are, without an event: its state, 0: not
	 * open, else the descriptor + 1; next look for the file, and last look at the state. */
	int state;
	uint64_t due, seen;
	/* The last times in which the group was frozen, CLOCK_MONOTONIC ns, as a ring. */
	struct frozen_span {
		uint64_t from, to; /* to 0: still */
	} spans[FROZEN_SPANS];
	size_t n_spans; /* so far */
};

/* Looks at the groups: to be called every few ms. pid: of the target. */
void frozen_look(struct frozen_watch *watch, const struct session *session, pid_t pid);

/* Gives the sample the group that was frozen in the window, and for how long. */
void frozen_take(const struct frozen_watch *watch, const struct session_view *view,
		 struct sample *sample);

void frozen_clear(struct frozen_watch *watch);

#endif
