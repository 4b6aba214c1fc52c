/* SPDX-License-Identifier: Apache-2.0 */
/* Opening perf events on each CPU. */
#ifndef COUNTER_EVENTS_H
#define COUNTER_EVENTS_H

#include <linux/perf_event.h>
#include <stdbool.h>

#include "cli/model/counter.h"

/* How that is done; tests have others. */
struct counter_ops {
	/* As perf_event_open(2) for all threads of one CPU. Returns a descriptor or a negative
	 * errno. */
	int (*open)(void *context, struct perf_event_attr *attr, int cpu);
	/* Gives the descriptor of an event, by its index, and CPU to who reads it, which closes it.
	 * Returns 0 or a negative errno. */
	int (*put)(void *context, size_t event, int cpu, int fd);
	void *context;
};

/* Opens them all on so many CPUs, but those that are offline. What this machine cannot count is
 * taken out of the set and noted in *missing. Returns 0 or a negative errno. */
int counter_events_open(struct counter_set *set, int cpus, const struct counter_ops *ops,
			struct counter_set *missing);

/* Opens those of a set that was opened before on one CPU, too: it has come online since. Returns
 * as above. */
int counter_events_open_cpu(const struct counter_set *set, int cpu, const struct counter_ops *ops);

#endif
