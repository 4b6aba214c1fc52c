// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "placement.h"

#include <ctype.h>
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/base/log.h"

/* Takes the CPUs of a list such as "2-5,8" out of the set. */
static void cpus_remove_list(cpu_set_t *cpus, const char *file)
{
	unsigned int first, last;
	FILE *list = fopen(file, "re");
	int next = ',';

	while (list && next == ',' && fscanf(list, "%u", &first) == 1) {
		last = first;
		next = fgetc(list);
		if (next == '-') {
			if (fscanf(list, "%u", &last) != 1)
				break;
			next = fgetc(list);
		}
		for (; first <= last && first < CPU_SETSIZE; first++)
			CPU_CLR(first, cpus);
	}
	if (list)
		fclose(list);
}

/* Takes the CPUs out that a thread of the target is bound to. One that may run
 * on all of ours is not bound. */
static void cpus_remove_target(cpu_set_t *cpus, const cpu_set_t *all, pid_t pid)
{
	char path[64];
	struct dirent *entry;
	cpu_set_t bound, free_to_run;
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	threads = opendir(path);
	while (threads && (entry = readdir(threads))) {
		if (!isdigit((unsigned char)*entry->d_name) ||
		    sched_getaffinity((pid_t)strtol(entry->d_name, NULL, 10), sizeof(bound),
				      &bound))
			continue;
		CPU_AND(&free_to_run, &bound, all);
		if (CPU_EQUAL(&free_to_run, all))
			continue;
		CPU_XOR(&free_to_run, cpus, &bound);
		CPU_AND(cpus, cpus, &free_to_run);
	}
	if (threads)
		closedir(threads);
}

void placement_choose(pid_t pid)
{
	cpu_set_t all, cpus;

	if (sched_getaffinity(0, sizeof(all), &all)) /* more CPUs than a cpu_set_t has */
		return;
	cpus = all;
	cpus_remove_list(&cpus, "/sys/devices/system/cpu/isolated");
	cpus_remove_list(&cpus, "/sys/devices/system/cpu/nohz_full");
	cpus_remove_target(&cpus, &all, pid);
	if (CPU_EQUAL(&cpus, &all))
		return;
	if (!CPU_COUNT(&cpus) || sched_setaffinity(0, sizeof(cpus), &cpus))
		log_warn("the target has threads bound to every CPU: this program will take a "
			 "little of their time");
}
