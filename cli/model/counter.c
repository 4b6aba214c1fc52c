// SPDX-License-Identifier: Apache-2.0
#include "counter.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"

/* Names of perf-list(1), except cache events. */
#define HARDWARE(event) PERF_TYPE_HARDWARE, PERF_COUNT_HW_##event
#define SOFTWARE(event) PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##event
static const struct counter_event events[] = {
	{ "cycles", HARDWARE(CPU_CYCLES) },
	{ "cpu-cycles", HARDWARE(CPU_CYCLES) },
	{ "instructions", HARDWARE(INSTRUCTIONS) },
	{ "cache-references", HARDWARE(CACHE_REFERENCES) },
	{ "cache-misses", HARDWARE(CACHE_MISSES) },
	{ "branches", HARDWARE(BRANCH_INSTRUCTIONS) },
	{ "branch-instructions", HARDWARE(BRANCH_INSTRUCTIONS) },
	{ "branch-misses", HARDWARE(BRANCH_MISSES) },
	{ "bus-cycles", HARDWARE(BUS_CYCLES) },
	{ "ref-cycles", HARDWARE(REF_CPU_CYCLES) },
	{ "stalled-cycles-frontend", HARDWARE(STALLED_CYCLES_FRONTEND) },
	{ "stalled-cycles-backend", HARDWARE(STALLED_CYCLES_BACKEND) },
	{ "cpu-clock", SOFTWARE(CPU_CLOCK) },
	{ "task-clock", SOFTWARE(TASK_CLOCK) },
	{ "context-switches", SOFTWARE(CONTEXT_SWITCHES) },
	{ "cs", SOFTWARE(CONTEXT_SWITCHES) },
	{ "cpu-migrations", SOFTWARE(CPU_MIGRATIONS) },
	{ "migrations", SOFTWARE(CPU_MIGRATIONS) },
	{ "page-faults", SOFTWARE(PAGE_FAULTS) },
	{ "faults", SOFTWARE(PAGE_FAULTS) },
	{ "minor-faults", SOFTWARE(PAGE_FAULTS_MIN) },
	{ "major-faults", SOFTWARE(PAGE_FAULTS_MAJ) },
	{ "alignment-faults", SOFTWARE(ALIGNMENT_FAULTS) },
	{ "emulation-faults", SOFTWARE(EMULATION_FAULTS) },
};
#define EVENTS (sizeof(events) / sizeof(*events))

static const char *const caches[] = {
	[PERF_COUNT_HW_CACHE_L1D] = "L1-dcache", [PERF_COUNT_HW_CACHE_L1I] = "L1-icache",
	[PERF_COUNT_HW_CACHE_LL] = "LLC",        [PERF_COUNT_HW_CACHE_DTLB] = "dTLB",
	[PERF_COUNT_HW_CACHE_ITLB] = "iTLB",     [PERF_COUNT_HW_CACHE_BPU] = "branch",
	[PERF_COUNT_HW_CACHE_NODE] = "node",
};

#define ACCESS(of, is) PERF_COUNT_HW_CACHE_OP_##of, PERF_COUNT_HW_CACHE_RESULT_##is
static const struct {
	const char *suffix;
	uint64_t operation, result;
} accesses[] = {
	{ "-loads", ACCESS(READ, ACCESS) },          { "-load-misses", ACCESS(READ, MISS) },
	{ "-stores", ACCESS(WRITE, ACCESS) },        { "-store-misses", ACCESS(WRITE, MISS) },
	{ "-prefetches", ACCESS(PREFETCH, ACCESS) }, { "-prefetch-misses", ACCESS(PREFETCH, MISS) },
};

const struct counter_ratio counter_ratios[] = {
	{ "instructions per cycle", "instructions", "cycles", 1 },
	{ "cache misses per 1000 instructions", "cache-misses", "instructions", 1000 },
	{ "branch misses per 1000 instructions", "branch-misses", "instructions", 1000 },
	{ "L1-dcache misses per 1000 instructions", "L1-dcache-load-misses", "instructions", 1000 },
	{ "LLC misses per 1000 instructions", "LLC-load-misses", "instructions", 1000 },
	{ "dTLB misses per 1000 instructions", "dTLB-load-misses", "instructions", 1000 },
};
const size_t counter_n_ratios = sizeof(counter_ratios) / sizeof(*counter_ratios);

const char *counter_event_name(size_t index)
{
	return index < EVENTS ? events[index].name : NULL;
}

static bool cache_event_find(const char *name, struct counter_event *event)
{
	for (size_t i = 0; i < sizeof(caches) / sizeof(*caches); i++) {
		size_t length = strlen(caches[i]);

		if (strncmp(name, caches[i], length) != 0)
			continue;
		for (size_t j = 0; j < sizeof(accesses) / sizeof(*accesses); j++) {
			if (strcmp(name + length, accesses[j].suffix) != 0)
				continue;
			event->type = PERF_TYPE_HW_CACHE;
			event->config = i | accesses[j].operation << 8 | accesses[j].result << 16;
			return true;
		}
	}
	return false;
}

/* Raw code such as r3c, up to 64 bits. */
static bool raw_event_find(const char *name, struct counter_event *event)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	size_t length = strlen(name);

	if (*name != 'r' || length < 2 || length > 17 || strspn(name + 1, digits) != length - 1)
		return false;
	event->type = PERF_TYPE_RAW;
	event->config = strtoull(name + 1, NULL, 16);
	return true;
}

/* Finds an event by perf name or raw code. Returns 0 or -EINVAL. */
static int event_find(const char *name, struct counter_event *event)
{
	*event = (struct counter_event){ .name = "" };
	if (strlen(name) >= sizeof(event->name))
		return -EINVAL;
	memcpy(event->name, name, strlen(name));
	for (size_t i = 0; i < EVENTS; i++) {
		if (strcmp(name, events[i].name) != 0)
			continue;
		*event = events[i];
		return 0;
	}
	return cache_event_find(name, event) || raw_event_find(name, event) ? 0 : -EINVAL;
}

int counter_set_read(const char *list, struct counter_set *set, char wrong[static COUNTER_NAME])
{
	set->n = 0;
	for (const char *at = list; at;) {
		size_t length = strcspn(at, ",");
		struct counter_event event;
		int error = 0;

		snprintf(wrong, COUNTER_NAME, "%.*s", (int)length, at);
		if (length >= COUNTER_NAME || event_find(wrong, &event))
			return -EINVAL;
		for (size_t i = 0; i < set->n; i++)
			if (set->all[i].type == event.type && set->all[i].config == event.config)
				error = -EEXIST;
		if (!error && set->n == KD_COUNTERS)
			error = -E2BIG;
		if (error)
			return error;
		set->all[set->n++] = event;
		at = at[length] ? at + length + 1 : NULL;
	}
	return 0;
}

uint64_t counter_scale(const struct kd_counted *counted)
{
	double scaled;

	if (counted->running >= counted->enabled || !counted->running)
		return counted->value;
	scaled = (double)counted->value * (double)counted->enabled / (double)counted->running;
	return scaled >= (double)UINT64_MAX ? UINT64_MAX : (uint64_t)(scaled + 0.5);
}

bool counters_find(const struct counter_row *rows, size_t n, const char *name, uint64_t *value)
{
	bool found = false;

	*value = 0;
	for (size_t i = 0; i < n; i++) {
		if (strncmp(rows[i].name, name, sizeof(rows[i].name)) != 0)
			continue;
		*value = u64_add(*value, rows[i].value);
		found = true;
	}
	return found;
}
