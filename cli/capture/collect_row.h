/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a thread's row for one window from the maps. */
#ifndef COLLECT_ROW_H
#define COLLECT_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"
#include "cli/capture/session/config.h"
#include "cli/capture/session/types.h"
#include "cli/model/sample.h"
#include "cli/model/traces.h"
#include "cli/process/group.h"

/* Reads a slot's thread into a zeroed row, which owns what it gets. Adds one to *torn if no
 * consistent read was possible. Returns 1; 0 if the thread did not live in the window; or a
 * negative errno. */
int collect_row(struct session *session, const struct session_view *view, uint32_t slot,
		struct thread_row *row, uint64_t *torn);

/* Names a hardirq by its index in the thread's record. The thread may be NULL for indexes in
 * enum kd_vector. */
void collect_hardirq_name(struct session *session, int index, const struct kd_thread *thread,
			  struct irq_row *row);

/* Names a softirq by its vector. */
void collect_softirq_name(uint32_t vector, struct irq_row *row);

/* --- Whether cgroup I/O limits kept the target's threads waiting --- */

#define DISK_LIMITS 32 /* cgroup and disk pairs to look at */

struct disk_limits {
	struct disk_count counts[DISK_LIMITS];
	size_t n;
	uint64_t looked, due;      /* last and next read, CLOCK_MONOTONIC ns */
	struct disk_limit reached; /* limit reached last */
	uint64_t reached_at;       /* the time, since the epoch; 0: none */
};

/* Checks, a few times a second, how much of their I/O limits the cgroups of uninterruptibly
 * sleeping threads use. */
void disk_limits_look(struct disk_limits *limits, const struct session_view *view);

/* Gives the sample the limits its threads may have waited for. */
void disk_limits_take(struct disk_limits *limits, const struct session_view *view,
		      struct sample *sample);

/* --- Kernel stacks of records --- */

struct kernel_symbols;
struct stack;

#endif
