// SPDX-License-Identifier: Apache-2.0
#include "counter.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"

/* Names of perf-list(1), except cache events. */
static const struct {
	const char *name;
	uint32_t type;
	uint64_t config;
} events[] = {
#define HARDWARE(name, event)                                                                      \
	{                                                                                          \
		name, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##event                                    \
	}
#define SOFTWARE(name, event)                                                                      \
	{                                                                                          \
		name, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##event                                    \
	}
	HARDWARE("cycles", CPU_CYCLES),
	HARDWARE("cpu-cycles", CPU_CYCLES),
	HARDWARE("instructions", INSTRUCTIONS),
	HARDWARE("cache-references", CACHE_REFERENCES),
	HARDWARE("cache-misses", CACHE_MISSES),
	HARDWARE("branches", BRANCH_INSTRUCTIONS),
	HARDWARE("branch-instructions", BRANCH_INSTRUCTIONS),
	HARDWARE("branch-misses", BRANCH_MISSES),
	HARDWARE("bus-cycles", BUS_CYCLES),
	HARDWARE("ref-cycles", REF_CPU_CYCLES),
	HARDWARE("stalled-cycles-frontend", STALLED_CYCLES_FRONTEND),
	HARDWARE("stalled-cycles-backend", STALLED_CYCLES_BACKEND),
	SOFTWARE("cpu-clock", CPU_CLOCK),
	SOFTWARE("task-clock", TASK_CLOCK),
	SOFTWARE("context-switches", CONTEXT_SWITCHES),
	SOFTWARE("cs", CONTEXT_SWITCHES),
	SOFTWARE("cpu-migrations", CPU_MIGRATIONS),
	SOFTWARE("migrations", CPU_MIGRATIONS),
	SOFTWARE("page-faults", PAGE_FAULTS),
	SOFTWARE("faults", PAGE_FAULTS),
	SOFTWARE("minor-faults", PAGE_FAULTS_MIN),
	SOFTWARE("major-faults", PAGE_FAULTS_MAJ),
	SOFTWARE("alignment-faults", ALIGNMENT_FAULTS),
	SOFTWARE("emulation-faults", EMULATION_FAULTS),
#undef HARDWARE
#undef SOFTWARE
};
#define EVENTS (sizeof(events) / sizeof(*events))

static const char *const caches[] = {
	[PERF_COUNT_HW_CACHE_L1D] = "L1-dcache", [PERF_COUNT_HW_CACHE_L1I] = "L1-icache",
	[PERF_COUNT_HW_CACHE_LL] = "LLC",        [PERF_COUNT_HW_CACHE_DTLB] = "dTLB",
	[PERF_COUNT_HW_CACHE_ITLB] = "iTLB",     [PERF_COUNT_HW_CACHE_BPU] = "branch",
	[PERF_COUNT_HW_CACHE_NODE] = "node",
};

static const struct {
	const char *suffix;
	uint64_t operation, result;
} accesses[] = {
#define ACCESS(suffix, of, is)                                                                     \
	{                                                                                          \
		suffix, PERF_COUNT_HW_CACHE_OP_##of, PERF_COUNT_HW_CACHE_RESULT_##is               \
	}
	ACCESS("-loads", READ, ACCESS),          ACCESS("-load-misses", READ, MISS),
	ACCESS("-stores", WRITE, ACCESS),        ACCESS("-store-misses", WRITE, MISS),
	ACCESS("-prefetches", PREFETCH, ACCESS), ACCESS("-prefetch-misses", PREFETCH, MISS),
#undef ACCESS
};

const struct counter_ratio counter_ratios[] = {
#define RATIO(title, part, base, scale) { title, part, base, scale },
	COUNTER_RATIOS(RATIO)
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
		event->type = events[i].type;
		event->config = events[i].config;
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
