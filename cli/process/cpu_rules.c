// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "cpu_rules.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/base/proc_file.h"
#include "cli/base/texts.h"
#include "group.h"

#define SHORT_PATH 256 /* of directories in /proc and /sys; a test's root is not long either */

/* Reads a file's first line, without its end. Returns false if there is none. */
static bool line_read(char *line, int size, const char *directory, const char *name)
{
	FILE *file = group_file_open("%s/%s", directory, name);
	const bool found = file && fgets(line, size, file);

	if (file)
		fclose(file);
	line[found ? strcspn(line, "\n") : 0] = '\0';
	return found && *line;
}

static bool number_read(long long *number, const char *directory, const char *name)
{
	char line[64];

	return line_read(line, sizeof(line), directory, name) && sscanf(line, "%lld", number) == 1;
}

/* --- Who wins against whom --- */

/* In which group of the scheduler a thread is. */
struct place {
	char *directory;  /* on the heap */
	const char *path; /* its end: below the root of the hierarchy; "": the root */
	bool version_1;
	unsigned int autogroup; /* 0: none */
	long long nice;         /* of the autogroup */
};

/* Autogroups are for threads in the root of the hierarchy only: task_wants_autogroup(),
 * kernel/sched/autogroup.c. */
static void autogroup_read(const char *root, pid_t tid, struct place *place)
{
	char directory[SHORT_PATH], line[64];
	long long enabled = 0;

	snprintf(directory, sizeof(directory), "%s/proc/sys/kernel", root);
	if (*place->path || !number_read(&enabled, directory, "sched_autogroup_enabled") ||
	    !enabled)
		return;
	snprintf(directory, sizeof(directory), "%s/proc/%d", root, (int)tid);
	if (!line_read(line, sizeof(line), directory, "autogroup") ||
	    sscanf(line, "/autogroup-%u nice %lld", &place->autogroup, &place->nice) != 2)
		place->autogroup = 0;
}

static const char *weight_file(bool version_1)
{
	return version_1 ? "cpu.shares" : "cpu.weight";
}

/* With version 2, a group without the controller shares that of the nearest one above with it. */
static bool place_find(const char *root, pid_t tid, struct place *place)
{
	struct group_levels levels;
	long long weight;
	bool more;

	memset(place, 0, sizeof(*place));
	if (!group_levels_begin(&levels, root, tid, "cpu"))
		return false;
	do
		more = group_levels_next(&levels);
	while (more && !number_read(&weight, levels.directory, weight_file(levels.version_1)));
	if (!more)
		*levels.path = '\0';
	place->version_1 = levels.version_1;
	place->directory = strdup(levels.directory);
	if (!place->directory)
		return false;
	place->path = place->directory + (levels.path - levels.directory);
	autogroup_read(root, tid, place);
	return true;
}

/* Length of what two paths have in common, in whole names. */
static size_t common_length(const char *a, const char *b)
{
	size_t common = 0;

	for (size_t i = 0;; i++) {
		if ((!a[i] || a[i] == '/') && (!b[i] || b[i] == '/'))
			common = i;
		if (!a[i] || a[i] != b[i])
			return common;
	}
}

/* Cuts a path after the name that begins at an offset, and reads that group's weight. */
static void weight_read(struct place *place, size_t common, int64_t *weight)
{
	const size_t start = (size_t)(place->path - place->directory) + common;
	long long number = 0;

	if (!place->path[common])
		return;
	place->directory[start + 1 + strcspn(place->directory + start + 1, "/")] = '\0';
	number_read(&number, place->directory, weight_file(place->version_1));
	*weight = number;
}

/* The scheduler weighs, at the level where the ways to both part, what is on each way: a group, an
 * autogroup, or the thread itself by its nice value. */
static void rival_find(const char *root, struct place *own, pid_t tid, struct cpu_rules *rules)
{
	struct place other;
	size_t common;

	if (!place_find(root, tid, &other))
		return;
	rules->rival = tid;
	rules->decided_by = CPU_BY_NICE;
	common = common_length(own->path, other.path);
	if (own->path[common]) {
		rules->decided_by = CPU_BY_GROUP;
		weight_read(own, common, &rules->weight);
		weight_read(&other, common, &rules->rival_weight);
		group_path_cut(rules->weighed, sizeof(rules->weighed), own->path);
	} else if (own->autogroup && own->autogroup != other.autogroup) {
		rules->decided_by = CPU_BY_AUTOGROUP;
		rules->weight = own->nice;
		rules->rival_weight = other.nice;
		snprintf(rules->weighed, sizeof(rules->weighed), "/autogroup-%u", own->autogroup);
	}
	free(other.directory);
}

static void idle_group_find(const char *root, pid_t tid, struct cpu_rules *rules)
{
	struct group_levels levels;
	long long idle;

	if (!group_levels_begin(&levels, root, tid, "cpu"))
		return;
	while (group_levels_next(&levels)) {
		if (number_read(&idle, levels.directory, "cpu.idle") && idle)
			group_path_cut(rules->idle_group, sizeof(rules->idle_group), levels.path);
		if (*rules->idle_group && !strcmp(rules->idle_group, rules->weighed))
			return;
	}
}

/* The text behind a thread's name in its stat file, which may have any character; NULL: unknown. */
static const char *stat_read(char *line, int size, const char *root, pid_t tid)
{
	char directory[SHORT_PATH];
	const char *end;

	snprintf(directory, sizeof(directory), "%s/proc/%d", root, (int)tid);
	line_read(line, size, directory, "stat");
	end = strrchr(line, ')');
	return end ? end + 1 : NULL;
}

#define POLICY_WORD 38 /* behind the name, from 0 */

static uint32_t policy_read(const char *root, pid_t tid)
{
	char line[1024];
	const char *word = stat_read(line, sizeof(line), root, tid);
	unsigned long policy;

	for (int i = 0; word && i < POLICY_WORD; i++) {
		word += strspn(word, " ");
		word += strcspn(word, " ");
	}
	policy = word ? strtoul(word, NULL, 10) : 0;
	return policy < CULPRIT_POLICIES ? (uint32_t)policy : 0;
}

/* --- Where it may run, and how long with a real-time priority --- */

#define CPU_WORDS (8192 / 64)

static bool cpus_are_all(const char *online, const char *allowed)
{
	uint64_t words[2][CPU_WORDS] = { { 0 } };

	if (!cpu_list_parse(online, words[0], 8192) || !cpu_list_parse(allowed, words[1], 8192))
		return false;
	for (size_t i = 0; i < CPU_WORDS; i++)
		if (words[0][i] & ~words[1][i])
			return false;
	return true;
}

static void affinity_compare(const char *root, pid_t tid, const char *online,
			     struct cpu_rules *rules)
{
	static const char label[] = "Cpus_allowed_list:\t";
	FILE *file = group_file_open("%s/proc/%d/status", root, (int)tid);
	char line[512];

	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, label, strlen(label)) != 0)
			continue;
		rules->confined = *rules->cpus && !strcmp(line + strlen(label), rules->cpus);
		rules->anywhere = cpus_are_all(online, line + strlen(label));
	}
	if (file)
		fclose(file);
}

/* Finds the highest group that allows no more CPUs than the thread's. */
static void cpuset_find(const char *root, pid_t tid, struct cpu_rules *rules)
{
	char directory[SHORT_PATH], online[CPU_RULES_LIST] = "", cpus[CPU_RULES_LIST];
	struct group_levels levels;
	bool more;

	snprintf(directory, sizeof(directory), "%s/sys/devices/system/cpu", root);
	if (!line_read(online, sizeof(online), directory, "online"))
		return;
	more = group_levels_begin(&levels, root, tid, "cpuset");
	while (more && group_levels_next(&levels)) {
		if (!line_read(cpus, sizeof(cpus), levels.directory,
			       levels.version_1 ? "cpuset.effective_cpus"
						: "cpuset.cpus.effective"))
			continue;
		if (!strcmp(cpus, online) || (*rules->cpus && strcmp(cpus, rules->cpus) != 0))
			break;
		memcpy(rules->cpus, cpus, sizeof(cpus));
		group_path_cut(rules->cpuset, sizeof(rules->cpuset), levels.path);
	}
	affinity_compare(root, tid, online, rules);
}

/* Only version 1 has it, with CONFIG_RT_GROUP_SCHED. */
static void rt_limit_find(const char *root, pid_t tid, struct cpu_rules *rules)
{
	struct group_levels levels;
	long long runtime, period;

	if (!group_levels_begin(&levels, root, tid, "cpu") || !group_levels_next(&levels) ||
	    !number_read(&runtime, levels.directory, "cpu.rt_runtime_us") ||
	    !number_read(&period, levels.directory, "cpu.rt_period_us") || runtime < 0 ||
	    period <= 0)
		return;
	rules->rt_runtime_ns = (uint64_t)runtime * NSEC_PER_USEC;
	rules->rt_period_ns = (uint64_t)period * NSEC_PER_USEC;
	group_path_cut(rules->rt_group, sizeof(rules->rt_group), levels.path);
}

void cpu_rules_read(const char *root, pid_t tid, pid_t rival, struct cpu_rules *rules)
{
	struct place own;

	memset(rules, 0, sizeof(*rules));
	if (!place_find(root, tid, &own))
		return;
	rules->tid = tid;
	rules->policy = policy_read(root, tid);
	rules->version_1 = own.version_1;
	rules->autogroup = own.autogroup;
	rules->autogroup_nice = (int32_t)own.nice;
	if (rival)
		rival_find(root, &own, rival, rules);
	free(own.directory);
	idle_group_find(root, tid, rules);
	cpuset_find(root, tid, rules);
	rt_limit_find(root, tid, rules);
}

/* --- Who uses up a quota --- */

#define PROCESSES_MOST 256 /* of a group without an account of its own */

/* CPU time of a process, which the kernel scales to what the scheduler counted. */
static uint64_t process_ns(const char *root, pid_t pid)
{
	char line[1024];
	unsigned long long user = 0, kernel = 0;
	const char *stat = stat_read(line, sizeof(line), root, pid);

	if (!stat || sscanf(stat, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user,
			    &kernel) != 2)
		return 0;
	return u64_times(user + kernel, NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
}

static uint64_t processes_ns(const char *root, const char *directory)
{
	struct control_group group = { .version_1 = true };
	uint64_t ns = 0;
	pid_t *pids;
	size_t n;

	if (snprintf(group.directory, sizeof(group.directory), "%s", directory) >= PATH_MAX ||
	    group_processes(&group, &pids, &n))
		return 0;
	for (size_t i = 0; i < n && i < PROCESSES_MOST; i++)
		ns = u64_add(ns, process_ns(root, pids[i]));
	free(pids);
	return ns;
}

/* CPU time of a group and those below: cpu.stat of version 2, cpuacct where it is mounted with
 * cpu, else the sum over its processes, which lacks those that have ended. */
static uint64_t usage_ns(const char *root, const char *directory, bool version_1)
{
	char line[64];
	long long usage;

	if (version_1)
		return number_read(&usage, directory, "cpuacct.usage") && usage > 0
			       ? (uint64_t)usage
			       : processes_ns(root, directory);
	/* Its first line. */
	if (!line_read(line, sizeof(line), directory, "cpu.stat") ||
	    sscanf(line, "usage_usec %lld", &usage) != 1 || usage < 0)
		return 0;
	return u64_times((uint64_t)usage, NSEC_PER_USEC);
}

struct user_search {
	const char *root;
	struct quota_user *users;
	size_t n, most;
	char *own; /* directory of the process's group */
};

static bool is_inside(const char *path, const char *directory)
{
	const size_t length = strlen(directory);

	return !strncmp(path, directory, length) && (!path[length] || path[length] == '/');
}

/* Returns NULL if there are enough. */
static struct quota_user *user_add(struct user_search *search, const struct group_levels *level,
				   const char *directory, uint64_t ns)
{
	struct quota_user *user = &search->users[search->n];
	const char *path = directory + (level->path - level->directory);

	if (search->n == search->most)
		return NULL;
	memset(user, 0, sizeof(*user));
	group_path_cut(user->group, sizeof(user->group), path);
	group_path_cut(user->of, sizeof(user->of), level->path);
	user->ns = ns;
	user->own = strlen(directory) == strlen(level->directory)
			    ? !strcmp(search->own, directory)
			    : is_inside(search->own, directory);
	search->n++;
	return user;
}

/* What a group has beyond the sum of those below is its own processes'. */
static void level_see(struct user_search *search, const struct group_levels *level)
{
	char directory[GROUP_DIRECTORY + 256];
	uint64_t below = 0, ns;
	struct dirent *entry;
	DIR *folder = opendir(level->directory);

	while (folder && search->n + 1 < search->most && (entry = readdir(folder))) {
		if (entry->d_type != DT_DIR || *entry->d_name == '.')
			continue;
		snprintf(directory, sizeof(directory), "%s/%s", level->directory, entry->d_name);
		ns = usage_ns(search->root, directory, level->version_1);
		below = u64_add(below, ns);
		user_add(search, level, directory, ns);
	}
	if (folder)
		closedir(folder);
	ns = usage_ns(search->root, level->directory, level->version_1);
	user_add(search, level, level->directory, u64_sub(ns, below));
}

/* Where only the sum over processes is known, what all used at least: the whole quota of each
 * period in which they were stopped. */
static void periods_see(struct user_search *search, const struct group_levels *level,
			const struct cpu_quota *quota)
{
	FILE *file = group_file_open("%s/cpu.stat", level->directory);
	unsigned long long stopped = 0;
	struct quota_user *user;
	long long usage;
	char line[64];

	while (file && fgets(line, sizeof(line), file) &&
	       sscanf(line, "nr_throttled %llu", &stopped) != 1)
		;
	if (file)
		fclose(file);
	if (!level->version_1 || number_read(&usage, level->directory, "cpuacct.usage"))
		return;
	user = user_add(search, level, level->directory, u64_times(stopped, quota->quota_ns));
	if (user)
		user->at_least = true;
}

static void process_see(struct user_search *search, const struct group_levels *level, pid_t pid)
{
	struct quota_user *user = user_add(search, level, level->directory,
					   process_ns(search->root, pid));
	char directory[SHORT_PATH];

	if (!user)
		return;
	user->pid = pid;
	snprintf(directory, sizeof(directory), "%s/proc/%d", search->root, (int)pid);
	line_read(user->name, sizeof(user->name), directory, "comm");
}

/* Processes of a group itself, the one that is asked about first. */
static void processes_see(struct user_search *search, const struct group_levels *level, pid_t own)
{
	FILE *file = group_file_open("%s/cgroup.procs", level->directory);
	int pid;

	process_see(search, level, own);
	while (file && search->n < search->most && fscanf(file, "%d", &pid) == 1)
		if (pid > 0 && pid != own)
			process_see(search, level, pid);
	if (file)
		fclose(file);
}

size_t quota_users_read(const char *root, pid_t pid, struct quota_user *users, size_t most)
{
	struct user_search search = { .root = root, .users = users, .most = most };
	struct group_levels levels;
	struct cpu_quota quota;

	if (!group_levels_begin(&levels, root, pid, "cpu"))
		return 0;
	search.own = strdup(levels.directory);
	while (search.own && group_levels_next(&levels)) {
		if (!group_has_quota(&levels, &quota))
			continue;
		level_see(&search, &levels);
		periods_see(&search, &levels, &quota);
	}
	if (search.n && group_levels_begin(&levels, root, pid, "cpu") && group_levels_next(&levels))
		processes_see(&search, &levels, pid);
	free(search.own);
	return search.n;
}
