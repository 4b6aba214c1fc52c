// SPDX-License-Identifier: Apache-2.0
/* Perf events: their names; opening them, on machines that are made up, as this one may have no
 * counters; and what was counted. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "cli/capture/counter_events.h"
#include "cli/model/counter.h"
#include "tap.h"

/* Values of include/uapi/linux/perf_event.h, as perf stat -v shows them. */
TEST(names)
{
	static const struct {
		const char *name;
		uint32_t type;
		uint64_t config;
	} known[] = {
		{ "cycles", 0, 0 },
		{ "instructions", 0, 1 },
		{ "cache-references", 0, 2 },
		{ "cache-misses", 0, 3 },
		{ "branches", 0, 4 },
		{ "branch-misses", 0, 5 },
		{ "task-clock", 1, 1 },
		{ "page-faults", 1, 2 },
		{ "context-switches", 1, 3 },
		{ "cpu-migrations", 1, 4 },
		{ "minor-faults", 1, 5 },
		{ "major-faults", 1, 6 },
		{ "L1-dcache-loads", 3, 0 },
		{ "L1-dcache-load-misses", 3, 0x10000 },
		{ "L1-dcache-stores", 3, 0x100 },
		{ "L1-icache-load-misses", 3, 0x10001 },
		{ "LLC-loads", 3, 2 },
		{ "LLC-store-misses", 3, 0x10102 },
		{ "dTLB-load-misses", 3, 0x10003 },
		{ "iTLB-loads", 3, 4 },
		{ "branch-load-misses", 3, 0x10005 },
		{ "node-prefetches", 3, 0x206 },
		{ "r3c", 4, 0x3c },
		{ "rffffffffffffffff", 4, UINT64_MAX },
	};
	static const char *const unknown[] = {
		"",          "cycle",
		"Cycles",    "r",
		"r3g",       "r11112222333344445",
		"L1-dcache", "L1-dcache-load",
		"cycles ",   "a-name-that-is-longer-than-any-event"
	};
	struct counter_set set = { 0 };
	const struct counter_event *event = set.all;
	char wrong[COUNTER_NAME];

	for (size_t i = 0; i < COUNT(known); i++)
		ok(!counter_set_read(known[i].name, &set, wrong) && set.n == 1 &&
			   event->type == known[i].type && event->config == known[i].config &&
			   !strcmp(event->name, known[i].name),
		   "%s", known[i].name);
	for (size_t i = 0; i < COUNT(unknown); i++)
		is_i64(counter_set_read(unknown[i], &set, wrong), -EINVAL, "'%s' is none",
		       unknown[i]);
	for (size_t i = 0; counter_event_name(i); i++)
		ok(!counter_set_read(counter_event_name(i), &set, wrong) && set.n == 1, "%s is one",
		   counter_event_name(i));
}

TEST(lists)
{
	struct counter_set set = { .per_cpu = true };
	char wrong[COUNTER_NAME];

	is_i64(counter_set_read(COUNTERS_DEFAULT, &set, wrong), 0, "the default list");
	is_u64(set.n, 7, "has seven events");
	ok(set.per_cpu, "and leaves the rest as it is");
	is_i64(counter_set_read("cycles,foo,cs", &set, wrong), -EINVAL, "one is unknown");
	is_str(wrong, "foo", "which");
	is_i64(counter_set_read("cs,cycles,context-switches", &set, wrong), -EEXIST, "one twice");
	is_str(wrong, "context-switches", "by another name");
	is_i64(counter_set_read("r1,r2,r3,r4,r5,r6,r7,r8,r9,ra,rb,rc,rd,re,rf,r10,r11", &set,
				wrong),
	       -E2BIG, "too many");
	is_i64(counter_set_read("cycles,", &set, wrong), -EINVAL, "an empty one");
}

/* A machine: what it says of types of events, and which CPU is offline. */
struct machine {
	int error[PERF_TYPE_BREAKPOINT];
	int offline, without; /* CPUs; without: of another kind, which counts no cycles */
	int opened, closed;
	bool full; /* of descriptors */
	char put[256];
};

static int machine_open(void *context, struct perf_event_attr *attr, int cpu)
{
	struct machine *machine = context;

	if (cpu == machine->offline)
		return -ENODEV;
	if (machine->full && machine->opened == 3)
		return -EMFILE;
	if (machine->error[attr->type])
		return machine->error[attr->type];
	if (attr->type == PERF_TYPE_HARDWARE && cpu == machine->without)
		return -ENOENT;
	ok(attr->read_format == (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING) &&
		   !attr->inherit && !attr->disabled,
	   "it counts from now on");
	return 100 + machine->opened++;
}

static int machine_put(void *context, size_t event, int cpu, int fd)
{
	struct machine *machine = context;
	size_t used = strlen(machine->put);

	snprintf(machine->put + used, sizeof(machine->put) - used, "%zu@%d ", event, cpu);
	machine->closed += fd >= 100;
	return 0;
}

static int machine_try(struct machine *machine, const char *list, struct counter_set *set,
		       struct counter_set *missing)
{
	const struct counter_ops ops = { machine_open, machine_put, machine };
	char wrong[COUNTER_NAME];
	int error;

	if (counter_set_read(list, set, wrong))
		abort();
	error = counter_events_open(set, 3, &ops, missing);
	is_i64(machine->closed, machine->opened, "each descriptor is handed over");
	return error;
}

TEST(open)
{
	struct machine whole = { .offline = 1, .without = -1 };
	struct machine none = { .error = { [PERF_TYPE_HARDWARE] = -ENOENT,
					   [PERF_TYPE_RAW] = -EOPNOTSUPP,
					   [PERF_TYPE_HW_CACHE] = -EINVAL },
				.offline = -1,
				.without = -1 };
	struct machine hybrid = { .offline = -1, .without = 2 };
	struct machine refusing = { .error = { [PERF_TYPE_SOFTWARE] = -EACCES }, .without = -1 };
	struct machine full = { .offline = -1, .without = -1, .full = true };
	const struct counter_ops ops = { machine_open, machine_put, &whole };
	struct counter_set set, missing;

	is_i64(machine_try(&whole, "cycles,cs", &set, &missing), 0, "a machine with counters");
	is_str(whole.put, "0@0 0@2 1@0 1@2 ", "each event on each CPU that is online");
	is_u64(missing.n, 0, "none is missing");
	whole.offline = -1;
	is_i64(counter_events_open_cpu(&set, 1, &ops), 0, "a CPU comes online");
	is_str(whole.put, "0@0 0@2 1@0 1@2 0@1 1@1 ", "each event on that, too");
	whole.offline = 1;
	is_i64(counter_events_open_cpu(&set, 1, &ops), 0, "one that has gone again");
	is_i64(whole.closed, 6, "counts nothing");
	whole.error[PERF_TYPE_SOFTWARE] = -EACCES;
	is_i64(counter_events_open_cpu(&set, 2, &ops), -EACCES, "one that refuses");
	is_i64(machine_try(&none, "cycles,cs,r3c,LLC-loads,minor-faults", &set, &missing), 0,
	       "one without");
	is_str(none.put, "0@0 0@1 0@2 1@0 1@1 1@2 ", "counts the others, without gaps");
	is_u64(set.n, 2, "two are left");
	is_str(set.all[1].name, "minor-faults", "in their order");
	is_u64(missing.n, 3, "three are missing");
	is_str(missing.all[2].name, "LLC-loads", "by name");
	is_i64(machine_try(&hybrid, "cycles", &set, &missing), 0, "CPUs of two kinds");
	is_str(hybrid.put, "0@0 0@1 ", "those that have it");
	is_i64(machine_try(&refusing, "cs", &set, &missing), -EACCES, "one that refuses");
	is_i64(machine_try(&full, "cs,cycles", &set, &missing), -EMFILE, "no more descriptors");
}

TEST(scale)
{
	is_u64(counter_scale(&(struct kd_counted){ 100, 50, 50 }), 100, "counted all the time");
	is_u64(counter_scale(&(struct kd_counted){ 100, 50, 25 }), 200, "half of it");
	is_u64(counter_scale(&(struct kd_counted){ 10, 3, 1 }), 30, "a third");
	is_u64(counter_scale(&(struct kd_counted){ 7, 100, 0 }), 7, "never");
	is_u64(counter_scale(&(struct kd_counted){ UINT64_MAX, 2, 1 }), UINT64_MAX, "at most");
}
