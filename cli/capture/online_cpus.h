/* SPDX-License-Identifier: Apache-2.0 */
/* Tracks CPUs that go offline or come online during a run. Perf events belong to a CPU: they end
 * with it, and a new one has none. */
#ifndef ONLINE_CPUS_H
#define ONLINE_CPUS_H

#include <stdbool.h>
#include <stdint.h>

#define ONLINE_CPUS_MAX 8192 /* the kernel's largest NR_CPUS */

struct online_cpus {
	int fd; /* of the kernel's list; -1: none */
	uint64_t now[ONLINE_CPUS_MAX / 64];
};

/* Opens the list and notes the online CPUs. Without a list, nothing ever changes. */
void online_cpus_open(struct online_cpus *cpus, const char *path);

/* Closes it. */
void online_cpus_close(struct online_cpus *cpus);

/* Called for each CPU that changed since the last look. */
typedef void online_changed_fn(void *context, int cpu, bool online);

/* Reads the list; takes about a microsecond. */
void online_cpus_look(struct online_cpus *cpus, online_changed_fn *changed, void *context);

#endif
