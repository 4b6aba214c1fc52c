// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "own_cost.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "cli/base/clock.h"

static uint64_t clock_read(clockid_t clock)
{
	struct timespec now;

	return clock_gettime(clock, &now) ? 0 : clock_ns(&now);
}

/* Of all threads, those that have ended, too. */
static struct own_cost self_read(void)
{
	struct own_cost cost = {
		.cpu_ns = clock_read(CLOCK_PROCESS_CPUTIME_ID),
		.period_ns = clock_monotonic(),
	};
	struct rusage usage;

	if (!getrusage(RUSAGE_SELF, &usage))
		cost.wakeups = (uint64_t)usage.ru_nvcsw;
	return cost;
}

/* getrusage() knows children only when they have ended. */
static struct own_cost child_read(pid_t child)
{
	struct own_cost cost = { 0 };
	char path[64], line[128];
	clockid_t clock;
	FILE *file;

	if (!child || clock_getcpuclockid(child, &clock))
		return cost;
	cost.cpu_ns = clock_read(clock);
	snprintf(path, sizeof(path), "/proc/%d/status", (int)child);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "voluntary_ctxt_switches: %" SCNu64, &cost.wakeups) == 1)
			break;
	if (file)
		fclose(file);
	return cost;
}

void own_cost_begin(struct own_cost_meter *meter, const pid_t children[OWN_CHILDREN])
{
	meter->self = self_read();
	for (int i = 0; i < OWN_CHILDREN; i++) {
		meter->children[i] = child_read(children[i]);
		meter->of[i] = children[i];
	}
}

/* Counts only grow; one that does not was not to be had. */
static uint64_t grown(uint64_t before, uint64_t now)
{
	return now > before ? now - before : 0;
}

struct own_cost own_cost_take(struct own_cost_meter *meter, const pid_t children[OWN_CHILDREN])
{
	static const struct own_cost nothing = { 0 };
	struct own_cost_meter before = *meter;
	struct own_cost cost;

	own_cost_begin(meter, children);
	cost = (struct own_cost){
		.cpu_ns = grown(before.self.cpu_ns, meter->self.cpu_ns),
		.wakeups = grown(before.self.wakeups, meter->self.wakeups),
		.period_ns = grown(before.self.period_ns, meter->self.period_ns),
	};
	for (int i = 0; i < OWN_CHILDREN; i++) {
		const struct own_cost *now = &meter->children[i], *last = &before.children[i];

		if (before.of[i] != children[i])
			last = &nothing;
		cost.cpu_ns += grown(last->cpu_ns, now->cpu_ns);
		cost.wakeups += grown(last->wakeups, now->wakeups);
	}
	return cost;
}
