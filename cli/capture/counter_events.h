/* SPDX-License-Identifier: Apache-2.0 */
/* Opens perf events on each CPU. */
#ifndef COUNTER_EVENTS_H
#define COUNTER_EVENTS_H

#include <linux/perf_event.h>
#include <stdbool.h>

#include "cli/model/counter.h"

/* System interface; tests replace it. */
struct counter_ops {
	/* Like perf_event_open(2) for all threads of one CPU. Returns a descriptor or a negative
	 * errno. */
	int (*open)(void *context, struct perf_event_attr *attr, int cpu);
	/* Hands a descriptor to its reader, by event index and CPU. The reader closes it.
	 * Returns 0 or a negative errno. */
	int (*put)(void *context, size_t event, int cpu, int fd);
	void *context;
};

/* Opens all events on this many CPUs, except offline ones. Events that this machine cannot count
 * move from the set to *missing. Returns 0 or a negative errno. */
int counter_events_open(struct counter_set *set, int cpus, const struct counter_ops *ops,
			struct counter_set *missing);

/* Opens the events of an opened set on a CPU that has come online since. Returns as
 * counter_events_open() does. */
int counter_events_open_cpu(const struct counter_set *set, int cpu, const struct counter_ops *ops);

#endif
