/* SPDX-License-Identifier: Apache-2.0 */
/* Perf events: names, and counts per thread. */
#ifndef COUNTER_H
#define COUNTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"

#define COUNTER_NAME 32

/* An event as perf_event_open(2) takes it. */
struct counter_event {
	char name[COUNTER_NAME]; /* as given */
	uint32_t type;
	uint64_t config;
};

struct counter_set {
	struct counter_event all[KD_COUNTERS];
	size_t n;
	bool per_cpu;
};

/* Events behind "default": those that FD.io's performance lab counts. */
#define COUNTERS_DEFAULT                                                                           \
	"cycles,instructions,cache-references,cache-misses,context-switches,minor-faults,"         \
	"major-faults"

/* Event names, NULL after the last. */
const char *counter_event_name(size_t index);

/* Reads a comma-separated list of names as in perf, or raw codes such as r3c. Returns 0;
 * -EINVAL: no such event, -E2BIG: too many, -EEXIST: a name appears twice. On error *wrong is
 * the name. */
int counter_set_read(const char *list, struct counter_set *set, char wrong[static COUNTER_NAME]);

/* Count of one event for one thread in a window, on one CPU or all. */
struct counter_row {
	char name[COUNTER_NAME];
	int32_t cpu;    /* -1: all CPUs */
	uint64_t value; /* scaled up if the event was multiplexed */
	/* How long the event was wanted, and counted, while the thread ran, ns; 0: unknown. */
	uint64_t enabled_ns, running_ns;
	bool scaled;
};

/* Scales a count of a multiplexed event up to the full time. */
uint64_t counter_scale(const struct kd_counted *counted);

/* Sums an event over all CPUs; false if it was not counted. */
bool counters_find(const struct counter_row *rows, size_t n, const char *name, uint64_t *value);

/* Ratios of two events: part per scale of base. */
struct counter_ratio {
	const char *title, *part, *base;
	unsigned int scale;
};
extern const struct counter_ratio counter_ratios[];
extern const size_t counter_n_ratios;

#endif
