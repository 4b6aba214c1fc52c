/* SPDX-License-Identifier: Apache-2.0 */
/* Perf events of CPUs that come online during a run, or go offline. Part of the session. */
#ifndef SESSION_ONLINE_H
#define SESSION_ONLINE_H

#include "online_cpus.h"

struct counters;
struct faults;
struct tracing;

struct session_online {
	struct online_cpus cpus;
	struct faults *faults;
	struct counters *counters;
	struct tracing *tracing;
};

/* Before any perf event is opened: notes whose there will be, and which CPUs are online. */
void session_online_open(struct session_online *online, struct faults *faults,
			 struct counters *counters, struct tracing *tracing);

/* To be called often: opens events on CPUs that have come. Warns where there are none. */
void session_online_look(struct session_online *online);

void session_online_close(struct session_online *online);

#endif
