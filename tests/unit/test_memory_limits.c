/* SPDX-License-Identifier: Apache-2.0 */
/* Limits on memory, in trees of both versions of control groups. */
#define _GNU_SOURCE
#include "cli/process/memory_limits.h"
#include "need.h"
#include "tree.h"

#define GROUPS "sys/fs/cgroup"
#define MEMORY GROUPS "/memory"

TEST(version_2)
{
	struct memory_limit limits[4];

	tree_put("proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
	tree_put("proc/10/cgroup", "0::/pods/app\n");
	tree_put(GROUPS "/pods/memory.max", "8388608\n");
	tree_put(GROUPS "/pods/memory.current", "8380000\n");
	tree_put(GROUPS "/pods/memory.events.local", "low 0\nhigh 0\nmax 17\noom 1\n");
	tree_put(GROUPS "/pods/app/memory.max", "max\n");
	tree_put(GROUPS "/pods/app/memory.high", "4194304\n");
	tree_put(GROUPS "/pods/app/memory.current", "4194000\n");
	tree_put(GROUPS "/pods/app/memory.events.local", "low 0\nhigh 3\nmax 0\noom 0\n");

	need(memory_limits_read(tree, 10, limits, 4) == 2);
	is_str(limits[0].group, "/pods/app", "its own group");
	is_str(limits[0].file, "memory.high", "the one that was reached");
	ok(limits[0].hits == 3 && limits[0].bytes == 4194304 && limits[0].used == 4194000,
	   "so often, so much");
	ok(!strcmp(limits[1].group, "/pods") && limits[1].hits == 17 && !limits[1].version_1,
	   "the group above");
	is_u64(memory_limits_read(tree, 10, limits, 1), 1, "no more than there is space for");
	is_u64(memory_limits_read(tree, 11, limits, 4), 0, "a process that is gone");
	tree_put(GROUPS "/pods/memory.events.local", "max\nmax x\nhigh -1");
	tree_put(GROUPS "/pods/app/memory.events.local", "");
	is_u64(memory_limits_read(tree, 10, limits, 4), 0, "files without numbers");
}

TEST(version_1)
{
	struct memory_limit limits[4];

	tree_put("proc/self/mounts", "cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n");
	tree_put("proc/10/cgroup", "4:memory:/batch\n0::/\n");
	tree_put(MEMORY "/batch/memory.limit_in_bytes", "1048576\n");
	tree_put(MEMORY "/batch/memory.usage_in_bytes", "1048000\n");
	tree_put(MEMORY "/batch/memory.failcnt", "5\n");

	need(memory_limits_read(tree, 10, limits, 4) == 1);
	is_str(limits[0].group, "/batch", "the group");
	ok(limits[0].version_1 && limits[0].hits == 5 && limits[0].bytes == 1048576,
	   "so often, so much");
	tree_put(MEMORY "/batch/memory.failcnt", "0\n");
	is_u64(memory_limits_read(tree, 10, limits, 4), 0, "one that was never reached");
}
