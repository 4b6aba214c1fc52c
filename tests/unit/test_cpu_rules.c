/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for CPU time, in trees of both versions of control groups. */
#define _GNU_SOURCE
#include "cli/process/cpu_rules.h"
#include "need.h"
#include "tree.h"

#define GROUPS "sys/fs/cgroup"

static void thread_put(const char *tid, const char *groups, const char *autogroup)
{
	char name[64];

	snprintf(name, sizeof(name), "proc/%s/cgroup", tid);
	tree_put(name, groups);
	snprintf(name, sizeof(name), "proc/%s/autogroup", tid);
	tree_put(name, autogroup);
	snprintf(name, sizeof(name), "proc/%s/status", tid);
	tree_put(name, "Name:\tx\nCpus_allowed_list:\t2-3\n");
}

/* Its name, policy, and CPU time in ticks, of which there are 100 a second. */
static void stat_put(const char *tid, int ticks, int policy)
{
	char name[64], text[256];

	snprintf(name, sizeof(name), "proc/%s/stat", tid);
	snprintf(text, sizeof(text),
		 "%s (a) 9 b) S 1 2 3 4 5 6 7 8 9 10 %d 0 13 14 15 16 17 18 19 20 21 22 23 24 25 "
		 "26 27 "
		 "28 29 30 31 32 33 34 35 36 37 %d 0\n",
		 tid, ticks, policy);
	tree_put(name, text);
	snprintf(name, sizeof(name), "proc/%s/comm", tid);
	tree_put(name, "a) 9 b\n");
}

TEST(version_2)
{
	struct quota_user users[8];
	struct cpu_rules rules;

	tree_put("proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
	tree_put("proc/sys/kernel/sched_autogroup_enabled", "1\n");
	tree_put("sys/devices/system/cpu/online", "0-3\n");
	tree_put(GROUPS "/pods/cpu.weight", "100\n");
	tree_put(GROUPS "/pods/cpuset.cpus.effective", "2-3\n");
	tree_put(GROUPS "/pods/cpu.max", "30000 100000\n");
	tree_put(GROUPS "/pods/cpu.stat", "usage_usec 900\n");
	tree_put(GROUPS "/pods/app/cpu.stat", "usage_usec 100\n");
	tree_put(GROUPS "/pods/side/cpu.stat", "usage_usec 700\n");
	tree_put(GROUPS "/batch/cpu.weight", "50\n");
	thread_put("10", "0::/pods/app\n", "/autogroup-1 nice 0\n");
	thread_put("11", "0::/batch\n", "/autogroup-1 nice 0\n");
	thread_put("12", "0::/other\n", "/autogroup-7 nice 3\n");
	thread_put("13", "0::/\n", "/autogroup-8 nice 0\n");

	cpu_rules_read(tree, 10, 11, &rules);
	ok(!rules.version_1 && rules.decided_by == CPU_BY_GROUP, "their groups are weighed");
	is_str(rules.weighed, "/pods", "the one where their ways part");
	ok(rules.weight == 100 && rules.rival_weight == 50, "by these weights");
	is_str(rules.cpuset, "/pods", "the cpuset above counts");
	ok(!strcmp(rules.cpus, "2-3") && rules.confined, "and is what keeps it from CPUs");
	cpu_rules_read(tree, 12, 13, &rules);
	ok(rules.decided_by == CPU_BY_AUTOGROUP && rules.weight == 3,
	   "without the controller a group is the root, which has autogroups");
	tree_put("proc/sys/kernel/sched_autogroup_enabled", "0\n");
	cpu_rules_read(tree, 12, 13, &rules);
	ok(rules.decided_by == CPU_BY_NICE, "unless they are off");
	stat_put("10", 3, 5);
	stat_put("77", 4, 0);
	tree_put(GROUPS "/pods/app/cgroup.procs", "77\n10\n");
	need(quota_users_read(tree, 10, users, 8) == 5);
	for (int i = 0; i < 3; i++)
		ok(users[i].ns == (strstr(users[i].group, "side")  ? 700000
				   : strstr(users[i].group, "app") ? 100000
								   : 100000) &&
			   users[i].own == (strstr(users[i].group, "app") != NULL),
		   "%s has its time", users[i].group);
	ok(users[3].pid == 10 && users[3].own && users[3].ns == 30000000,
	   "then the process itself");
	ok(users[4].pid == 77 && users[4].ns == 40000000, "and another one of its group");
	is_str(users[4].name, "a) 9 b", "with its name");
	cpu_rules_read(tree, 10, 0, &rules);
	ok(rules.policy == 5 && !rules.anywhere && !*rules.idle_group, "its policy and affinity");
	tree_put("sys/devices/system/cpu/online", "2-3\n");
	tree_put(GROUPS "/pods/cpu.idle", "1\n");
	cpu_rules_read(tree, 10, 11, &rules);
	ok(rules.anywhere, "all CPUs that are online");
	is_str(rules.idle_group, "/pods", "what gets what others leave");
}

TEST(version_1)
{
	struct cpu_rules rules;

	tree_put("proc/self/mounts", "c /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n");
	tree_put(GROUPS "/cpu/rt/cpu.shares", "1024\n");
	tree_put(GROUPS "/cpu/rt/cpu.rt_runtime_us", "50000\n");
	tree_put(GROUPS "/cpu/rt/cpu.rt_period_us", "100000\n");
	thread_put("20", "1:cpu:/rt\n", "/autogroup-1 nice 0\n");
	thread_put("21", "1:cpu:/rt\n", "/autogroup-2 nice 0\n");
	cpu_rules_read(tree, 20, 21, &rules);
	ok(rules.version_1 && rules.decided_by == CPU_BY_NICE,
	   "no autogroups below the root: nice counts");
	is_str(rules.rt_group, "/rt", "its real-time limit");
	ok(rules.rt_runtime_ns == 50000000 && rules.rt_period_ns == 100000000, "and the figures");
}

/* Where the kernel does not count the CPU time of groups, there are the periods that it stopped. */
TEST(periods)
{
	struct quota_user users[4];

	tree_put("proc/self/mounts", "c /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n");
	tree_put(GROUPS "/cpu/jobs/cpu.cfs_quota_us", "20000\n");
	tree_put(GROUPS "/cpu/jobs/cpu.cfs_period_us", "100000\n");
	tree_put(GROUPS "/cpu/jobs/cpu.stat", "nr_periods 9\nnr_throttled 7\n");
	thread_put("30", "1:cpu:/jobs\n", "/autogroup-1 nice 0\n");
	need(quota_users_read(tree, 30, users, 4) == 3);
	ok(!users[0].at_least && users[1].at_least && users[1].ns == 7 * 20000000LL,
	   "the whole quota of each of them");
	tree_put(GROUPS "/cpu/jobs/cpuacct.usage", "5\n");
	need(quota_users_read(tree, 30, users, 4) == 2);
	ok(users[0].ns == 5, "but where it does");
}
