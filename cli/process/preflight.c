// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "preflight.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/base/proc_file.h"
#include "cli/base/texts.h"
#include "cli/sandbox/confine.h"
#include "group.h"

/* --- CPUs of this process --- */

#define ALLOWED "Cpus_allowed_list:"
/* Permille of a CPU: a thread below this is idle. */
#define IDLE 100

/* CPU use of the target's bound threads. */
struct bound {
	cpu_set_t cpus;
	unsigned int used[CPU_SETSIZE]; /* permille since they began */
};

static void cpus_remove(cpu_set_t *cpus, const cpu_set_t *others)
{
	cpu_set_t common;

	CPU_AND(&common, cpus, others);
	CPU_XOR(cpus, cpus, &common);
}

static void cpus_remove_listed(cpu_set_t *cpus, const char *root, const char *name)
{
	FILE *file = group_file_open("%s/sys/devices/system/cpu/%s", root, name);
	char line[4096];
	cpu_set_t listed;

	CPU_ZERO(&listed);
	if (!file)
		return;
	if (fgets(line, sizeof(line), file))
		cpu_list_parse(line, (uint64_t *)&listed, CPU_SETSIZE);
	fclose(file);
	cpus_remove(cpus, &listed);
}

/* CPUs a thread may run on; none if it has ended. */
static void thread_cpus(const char *root, pid_t pid, pid_t tid, cpu_set_t *cpus)
{
	FILE *file = group_file_open("%s/proc/%d/task/%d/status", root, (int)pid, (int)tid);
	char line[1024];

	CPU_ZERO(cpus);
	while (file && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, "State:\tZ", strlen("State:\tZ")))
			break;
		if (strncmp(line, ALLOWED, strlen(ALLOWED)) != 0)
			continue;
		cpu_list_parse(line + strlen(ALLOWED), (uint64_t *)cpus, CPU_SETSIZE);
		break;
	}
	if (file)
		fclose(file);
}

static uint64_t uptime(const char *root)
{
	FILE *file = group_file_open("%s/proc/uptime", root);
	double seconds = 0;

	if (file && fscanf(file, "%lf", &seconds) != 1)
		seconds = 0;
	if (file)
		fclose(file);
	return (uint64_t)(seconds * (double)sysconf(_SC_CLK_TCK));
}

/* CPU use of a thread since its start, permille, rounded up: a new thread cannot be called idle.
 * Unreadable threads count as busy. */
static unsigned int thread_use(const char *root, pid_t pid, pid_t tid, uint64_t now)
{
	FILE *file = group_file_open("%s/proc/%d/task/%d/stat", root, (int)pid, (int)tid);
	unsigned long long user = 0, kernel = 0, began = 0;
	uint64_t used, age;
	char text[1024];
	size_t length;
	const char *fields; /* after the name, which may contain anything */
	int found = 0;

	if (!file)
		return 1000;
	length = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[length] = '\0';
	fields = strrchr(text, ')');
	if (fields)
		found = sscanf(fields,
			       ") %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu"
			       " %*s %*s %*s %*s %*s %*s %llu",
			       &user, &kernel, &began);
	if (found != 3 || began > now)
		return 1000;
	age = now - began + 1;
	used = user + kernel + 1;
	return used < age ? (unsigned int)(1000 * used / age) : 1000;
}

/* A thread that may run on all our CPUs is not bound. */
static void bound_add(struct bound *bound, const char *root, pid_t pid, pid_t tid,
		      const cpu_set_t *all, uint64_t now)
{
	cpu_set_t cpus, common;
	unsigned int use;

	thread_cpus(root, pid, tid, &cpus);
	CPU_AND(&common, &cpus, all);
	if (CPU_EQUAL(&common, all))
		return;
	use = thread_use(root, pid, tid, now);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &common))
			bound->used[cpu] += use;
	CPU_OR(&bound->cpus, &bound->cpus, &common);
}

static void bound_read(struct bound *bound, const char *root, pid_t pid, const cpu_set_t *all)
{
	uint64_t now = uptime(root);
	struct proc_list threads;

	memset(bound, 0, sizeof(*bound));
	proc_list_begin(&threads, "%s/proc/%d/task", root, (int)pid);
	while (proc_list_next(&threads))
		bound_add(bound, root, pid, threads.number, all, now);
}

bool placement_find(const char *root, pid_t pid, const cpu_set_t *all, cpu_set_t *cpus)
{
	cpu_set_t candidates = *all;
	struct bound bound;

	cpus_remove_listed(&candidates, root, "isolated");
	cpus_remove_listed(&candidates, root, "nohz_full");
	if (!CPU_COUNT(&candidates)) /* this program was put there on purpose */
		candidates = *all;
	bound_read(&bound, root, pid, all);
	*cpus = candidates;
	cpus_remove(cpus, &bound.cpus);
	if (CPU_COUNT(cpus))
		return true;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &candidates) && bound.used[cpu] < IDLE)
			CPU_SET(cpu, cpus);
	return CPU_COUNT(cpus);
}

void placement_choose(pid_t pid)
{
	cpu_set_t all, cpus;

	if (sched_getaffinity(0, sizeof(all), &all)) /* more CPUs than in a cpu_set_t */
		return;
	if (placement_find("", pid, &all, &cpus) &&
	    (CPU_EQUAL(&cpus, &all) || !sched_setaffinity(0, sizeof(cpus), &cpus)))
		return;
	log_warn("the target has threads bound to every CPU: this program will take a "
		 "little of their time");
}

/* --- Checks before loading --- */

/* PROC_PID_INIT_INO, include/linux/proc_ns.h */
#define INITIAL_PID_NAMESPACE "pid:[4026531836]"

static exit_status privileges_check(void)
{
	bool bpf = capability_has(CAP_BPF), perfmon = capability_has(CAP_PERFMON);
	const char *missing = bpf ? "CAP_PERFMON" : perfmon ? "CAP_BPF" : "CAP_BPF and CAP_PERFMON";

	if (capability_has(CAP_SYS_ADMIN) || (bpf && perfmon))
		return 0;
	if (geteuid() && !bpf && !perfmon) {
		log_error("not permitted to load BPF programs");
		log_hint("run it as root: sudo kernel_delay ...");
		return EX_NOPERM;
	}
	log_error("not permitted to load BPF programs: %s %s missing", missing,
		  bpf || perfmon ? "is" : "are");
	log_hint("grant what is missing, or CAP_SYS_ADMIN; a container needs --privileged or "
		 "--cap-add");
	return EX_NOPERM;
}

/* The tracepoints report PIDs of the initial namespace. */
static exit_status namespace_check(void)
{
	char name[64];

	if (!symlink_read("/proc/self/ns/pid", name, sizeof(name)) ||
	    !strcmp(name, INITIAL_PID_NAMESPACE))
		return 0;
	log_error("this PID namespace is not the host's: its PIDs mean nothing to the tracepoints");
	log_hint("run it on the host, or in a container with the host's PID namespace "
		 "(--pid=host)");
	return EX_NOPERM;
}

exit_status preflight_check(void)
{
	int status = privileges_check();

	return status ? status : namespace_check();
}
