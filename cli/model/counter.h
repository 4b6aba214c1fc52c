/* SPDX-License-Identifier: Apache-2.0 */
/* Perf events: their names, and what was counted of a thread. */
#ifndef COUNTER_H
#define COUNTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"

#define COUNTER_NAME 32

/* An event as perf_event_open(2) takes it. */
struct counter_event {
	char name[COUNTER_NAME]; /* as it was given */
	uint32_t type;
	uint64_t config;
};

struct counter_set {
	struct counter_event all[KD_COUNTERS];
	size_t n;
	bool per_cpu;
};

/* What "default" stands for: what FD.io's performance lab counts. */
#define COUNTERS_DEFAULT                                                                           \
	"cycles,instructions,cache-references,cache-misses,context-switches,minor-faults,"         \
	"major-faults"

/* Names of events, NULL behind the last one. */
const char *counter_event_name(size_t index);

/* Reads a list of names with commas between them, as perf has them, or raw: r3c. Returns 0;
 * -EINVAL: there is no such event, -E2BIG: there are too many, -EEXIST: one is there twice; *wrong
 * is the name then. */
int counter_set_read(const char *list, struct counter_set *set, char wrong[static COUNTER_NAME]);

/* What was counted of a thread in a window: of an event, on one CPU or all. */
struct counter_row {
	char name[COUNTER_NAME];
	int32_t cpu;    /* -1: on all */
	uint64_t value; /* scaled up if it was not counted all the time */
	/* For how many ns of the thread's runs it was wanted, and counted; 0: not known. */
	uint64_t enabled_ns, running_ns;
	bool scaled;
};

/* A value that was counted for a part of the time, as if it had been for all of it. */
uint64_t counter_scale(const struct kd_counted *counted);

/* The sum of an event on all CPUs; false if it was not counted. */
bool counters_find(const struct counter_row *rows, size_t n, const char *name, uint64_t *value);

/* What follows from two of them: ROW(title, part, whole, scale): part per so many of whole. */
#define COUNTER_RATIOS(ROW)                                                                        \
	ROW("instructions per cycle", "instructions", "cycles", 1)                                 \
	ROW("cache misses per 1000 instructions", "cache-misses", "instructions", 1000)            \
	ROW("branch misses per 1000 instructions", "branch-misses", "instructions", 1000)          \
	ROW("L1-dcache misses per 1000 instructions", "L1-dcache-load-misses", "instructions",     \
	    1000)                                                                                  \
	ROW("LLC misses per 1000 instructions", "LLC-load-misses", "instructions", 1000)           \
	ROW("dTLB misses per 1000 instructions", "dTLB-load-misses", "instructions", 1000)
struct counter_ratio {
	const char *title, *part, *whole;
	unsigned int scale;
};
extern const struct counter_ratio counter_ratios[];
extern const size_t counter_n_ratios;

#endif
