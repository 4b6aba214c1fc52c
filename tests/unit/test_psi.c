/* SPDX-License-Identifier: Apache-2.0 */
/* Pressure between two readings, of a machine and of a control group. */
#define _GNU_SOURCE
#include "cli/process/psi.h"
#include "need.h"
#include "tree.h"

#define GROUP "sys/fs/cgroup/pods/web"

static void totals_put(const char *name, unsigned int some, unsigned int full)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "some avg10=0.12 avg60=1.20 avg300=99.00 total=%u\n"
		 "full avg10=0.00 avg60=0.00 avg300=0.00 total=%u\n",
		 some, full);
	tree_put(name, text);
}

static void is_pressure(const struct pressure_set *set, enum pressure_kind kind, uint64_t some,
			uint64_t full, const char *what)
{
	const struct pressure *pressure = &set->of[kind];

	ok(pressure->known && pressure->some == some && pressure->full == full, "%s: %llu, %llu",
	   what, (unsigned long long)pressure->some, (unsigned long long)pressure->full);
}

TEST(parse)
{
	static const char *const wrong[] = {
		"",
		"some",
		"some avg10=0.00 avg60=0.00 avg300=0.00",
		"some avg10=0.00 avg60=0.00 avg300=0.00 total=",
		"some avg10=0.00 avg60=0.00 avg300=0.00 total=x\n",
		"something avg10=0.00 avg60=0.00 avg300=0.00 total=1\n",
		"full avg10=0.00 avg60=0.00 avg300=0.00 total=1\n",
	};
	struct pressure pressure;

	ok(psi_parse("some avg10=19.74 avg60=16.82 avg300=8.31 total=36683860\n", &pressure) &&
		   pressure.known && pressure.some == 36683860000 && !pressure.full,
	   "without a line for all");
	ok(psi_parse("some avg10=0.00 avg60=0.00 avg300=0.00 total=12\n"
		     "full avg10=0.00 avg60=0.00 avg300=0.00 total=18446744073709551615\n",
		     &pressure) &&
		   pressure.some == 12000 && pressure.full == UINT64_MAX,
	   "with one, and a number that is no time");
	for (size_t i = 0; i < COUNT(wrong); i++)
		ok(!psi_parse(wrong[i], &pressure) && !pressure.known && !pressure.some, "'%s'",
		   wrong[i]);
}

TEST(between)
{
	struct psi_watch watch = { .pid = 0 };
	struct pressures pressures;

	psi_watch_take(&watch, tree, &pressures);
	ok(!pressures.ns && !pressures.machine.known, "no time has begun");
	tree_put("proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
	tree_put("proc/10/cgroup", "1:name=systemd:/\n0::/pods/web\n");
	psi_watch_begin(&watch, tree, 10);
	psi_watch_take(&watch, tree, &pressures);
	ok(!pressures.ns && !pressures.machine.known && !pressures.group.known,
	   "a kernel without it");

	totals_put("proc/pressure/cpu", 1000, 0);
	totals_put("proc/pressure/memory", 7, 6);
	totals_put(GROUP "/cpu.pressure", 500, 50);
	totals_put(GROUP "/io.pressure", 3, 2);
	psi_watch_begin(&watch, tree, 10);
	usleep(2000); /* the least that it may be */
	totals_put("proc/pressure/cpu", 1040, 0);
	totals_put("proc/pressure/memory", 6, 6);
	totals_put("proc/pressure/io", 9, 9);
	totals_put(GROUP "/cpu.pressure", 1500, 51);
	totals_put(GROUP "/io.pressure", 4000000, 2);
	psi_watch_take(&watch, tree, &pressures);
	ok(pressures.ns >= 2000000, "the time between");
	is_pressure(&pressures.machine, PRESSURE_CPU, 40000, 0, "the machine's CPUs");
	is_pressure(&pressures.machine, PRESSURE_MEMORY, 0, 0, "none is less than none");
	ok(!pressures.machine.of[PRESSURE_IO].known, "what was not there before");
	is_pressure(&pressures.group, PRESSURE_CPU, 1000000, 1000, "the group's");
	is_pressure(&pressures.group, PRESSURE_IO, pressures.ns, 0, "no more than that time");
	is_str(pressures.path, "/pods/web", "which group");

	totals_put("proc/pressure/cpu", 1050, 0);
	psi_watch_take(&watch, tree, &pressures);
	is_pressure(&pressures.machine, PRESSURE_CPU, 10000, 0, "the next time");
	is_pressure(&pressures.group, PRESSURE_CPU, 0, 0, "in which the group lacked none");
}

/* That of the root group would be the machine's. */
TEST(root)
{
	struct psi_watch watch = { .pid = 0 };
	struct pressures pressures;

	tree_put("proc/11/cgroup", "0::/\n");
	totals_put("sys/fs/cgroup/cpu.pressure", 1, 1);
	psi_watch_begin(&watch, tree, 11);
	psi_watch_take(&watch, tree, &pressures);
	ok(pressures.machine.known && !pressures.group.known && !*pressures.path,
	   "the root has none of its own");
	psi_watch_begin(&watch, tree, 10);
	psi_watch_take(&watch, tree, &pressures);
	ok(pressures.group.known, "another process is in another group");
}
