/* SPDX-License-Identifier: Apache-2.0 */
/* Where this program runs, on machines of files that are like /proc and /sys. */
#define _GNU_SOURCE
#include "cli/process/preflight.h"
#include "tap.h"
#include "tree.h"

#define PID 4711
#define UPTIME 10000 /* seconds */

/* Another machine, without threads. */
static void machine(const char *isolated, const char *nohz_full)
{
	tests_end();
	if (mkdir(tree, 0700))
		give_up(tree);
	tree_put("sys/devices/system/cpu/isolated", isolated);
	tree_put("sys/devices/system/cpu/nohz_full", nohz_full);
	tree_put("proc/uptime", "10000.05 1.00\n");
}

/* A thread that began so many seconds ago, and has used so much of each. */
static void thread(int tid, const char *cpus, int age, double use)
{
	long ticks = sysconf(_SC_CLK_TCK), used = (long)(age * use * (double)ticks);
	char name[64], text[256];

	snprintf(name, sizeof(name), "proc/%d/task/%d/status", PID, tid);
	snprintf(text, sizeof(text),
		 "Name:\tCpus_allowed_list:\nCpus_allowed:\tff\nCpus_allowed_list:\t%s\n", cpus);
	tree_put(name, text);
	snprintf(name, sizeof(name), "proc/%d/task/%d/stat", PID, tid);
	snprintf(text, sizeof(text),
		 "%d (a) S 1 2) S 1 4711 4711 0 -1 4194560 1 0 0 0 %ld %ld 7 7 20 0 1 0 %ld 1 2\n",
		 tid, used / 2, used - used / 2, (UPTIME - age) * ticks);
	tree_put(name, text);
}

/* Of the CPUs 0 to n - 1 these are chosen, as digits; "": none. */
static void chosen(int n, const char *want, const char *what)
{
	cpu_set_t all, cpus;
	char text[16] = "";
	size_t length = 0;
	bool found;

	CPU_ZERO(&all);
	for (int cpu = 0; cpu < n; cpu++)
		CPU_SET(cpu, &all);
	found = placement_find(tree, PID, &all, &cpus);
	for (int cpu = 0; cpu < CPU_SETSIZE && length < sizeof(text) - 1; cpu++)
		if (CPU_ISSET(cpu, &cpus))
			text[length++] = (char)('0' + cpu);
	is_str(text, want, "%s", what);
	is_i64(found, *want != '\0', "%s: and it is said", what);
}

TEST(free)
{
	machine("", "");
	chosen(4, "0123", "a target without threads");
	thread(1, "0-3", 1000, 1);
	thread(2, "0-127", 1000, 1);
	chosen(4, "0123", "threads that are not bound");
	thread(3, "1", 1000, 1);
	thread(4, "2-3", 1000, 0);
	chosen(4, "0", "beside bound threads, also such that are idle");
	machine("2", "3");
	thread(1, "0", 1000, 1);
	chosen(4, "1", "neither isolated nor nohz_full");
}

TEST(none_free)
{
	machine("", "");
	thread(1, "0", 1000, 0.001);
	thread(2, "1", 1000, 1);
	thread(3, "2,3", 1000, 0.6);
	chosen(4, "0", "no CPU is free: that whose thread is idle");
	thread(4, "0", 1000, 0.5);
	chosen(4, "", "another one there uses it");
	thread(4, "0", 1000, 0.02);
	thread(1, "0", 1000, 0.01);
	chosen(4, "0", "two that use little");
	thread(5, "0", 1000, 0.09);
	chosen(4, "", "several that use a little are not idle together");
	machine("1-2", "");
	thread(1, "0", 1000, 1);
	thread(2, "3", 1000, 0);
	chosen(4, "3", "isolated ones stay free, though nobody is there");
	machine("0-1", "");
	thread(1, "0", 1000, 1);
	chosen(2, "1", "those are all that we have");
}

TEST(unknown)
{
	char name[64];

	machine("", "");
	thread(1, "0", 0, 0);
	thread(2, "1", 1000, 1);
	chosen(2, "", "one that has just begun is not known to be idle");
	thread(1, "0", 1, 0);
	chosen(2, "0", "after a second it is");
	snprintf(name, sizeof(name), "proc/%d/task/1/stat", PID);
	tree_put(name, "1 (a) S 1\n");
	chosen(2, "", "nor is one of which nothing can be read");
	tree_put("proc/uptime", "soon\n");
	thread(1, "0", 1000, 0);
	chosen(2, "", "or one without a clock");
	snprintf(name, sizeof(name), "proc/%d/task/1/status", PID);
	tree_put(name, "Cpus_allowed_list:\t4294967295-99999999999,-,x\n");
	chosen(2, "0", "a list that is none");
}
