/* SPDX-License-Identifier: Apache-2.0 */
/* Perf events, as the kernel side counts them for each thread. Part of the session. */
#ifndef SESSION_COUNTERS_H
#define SESSION_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/base/exit_status.h"
#include "cli/model/counter.h"
#include "online_cpus.h"
#include "session_hash.h"
#include "session_types.h"

struct bpf_link;
struct kernel_delay;
struct programs;

struct counters {
	bool on;
	struct kernel_delay *skel;
	struct counter_set set; /* those that this machine has */
	struct bpf_link *link;
	bool unread; /* it was said that they cannot be read at a window's edges */
};

/* Before the programs are loaded: all that is here is loaded only if config->counters has events.
 * Returns 0, or after printing what failed EX_OSERR. */
exit_status counters_select(struct counters *counters, struct kernel_delay *skel,
			    const struct session_config *config, uint32_t slots, uint32_t banks);

/* When they are loaded, before those that all runs have are attached: a thread's end is seen here
 * first. Says once what this machine cannot count. Returns 0, or after printing what failed
 * EX_OSERR or EX_NOPERM. */
exit_status counters_attach(struct counters *counters, struct programs *programs);

/* Has the CPUs read that run threads of the target now: an interrupt for each of them. Says once if
 * one cannot be read. */
void counters_look(struct counters *counters, const struct session_view *view);

/* Adds what was counted in a window to the rows of threads (hash.map is set here). Returns 0 or
 * -ENOMEM. */
int counters_read(const struct counters *counters, struct session_hash hash);

void counters_close(struct counters *counters);

/* --- Perf events of CPUs that come online during a run, or go offline --- */

/* Part of the session. */

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
