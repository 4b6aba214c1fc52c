/* SPDX-License-Identifier: Apache-2.0 */
/* What belongs to a CPU: perf events, whether it is online, and how often others interrupt it. */
#ifndef SESSION_CPUS_H
#define SESSION_CPUS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/model/counter.h"

/* --- Perf events of each CPU --- */

/* System interface; tests replace it. */
struct counter_ops {
	/* Like perf_event_open(2) for all threads of one CPU. Returns a descriptor or a negative
	 * errno. */
	int (*open)(void *context, struct perf_event_attr *attr, int cpu);
	/* Hands a descriptor to its reader, by event index and CPU. The reader closes it.
	 * Returns 0 or a negative errno. */
	int (*put)(void *context, size_t event, int cpu, int fd);
	void *context;
};

/* Opens all events on this many CPUs, except offline ones. Events that this machine cannot count
 * move from the set to *missing. Returns 0 or a negative errno. */
int counter_events_open(struct counter_set *set, int cpus, const struct counter_ops *ops,
			struct counter_set *missing);

/* Opens the events of an opened set on a CPU that has come online since. Returns as
 * counter_events_open() does. */
int counter_events_open_cpu(const struct counter_set *set, int cpu, const struct counter_ops *ops);

/* --- CPUs that go offline or come online during a run --- */

/* Perf events belong to a CPU: they end with it, and a new one has none. */

#define ONLINE_CPUS_MAX 8192 /* the kernel's largest NR_CPUS */

struct online_cpus {
	int fd; /* of the kernel's list; -1: none */
	uint64_t now[ONLINE_CPUS_MAX / 64];
};

/* Opens the list and notes the online CPUs. Without a list, nothing ever changes. */
void online_cpus_open(struct online_cpus *cpus, const char *path);

/* Closes the list. */
void online_cpus_close(struct online_cpus *cpus);

/* Called for each CPU that changed since the last look. */
typedef void online_changed_fn(void *context, int cpu, bool online);

/* Reads the list; takes about a microsecond. */
void online_cpus_look(struct online_cpus *cpus, online_changed_fn *changed, void *context);

/* --- Interrupts of other CPUs --- */

/* Counts how often attaching and detaching interrupt other CPUs. To change its own code, the
 * kernel stops each of them briefly by function-call interrupts (see bpf/DETAILS.rst). */

/* Function-call interrupts since boot. */
struct ipi_count {
	uint64_t received; /* by all CPUs in total */
	uint32_t cpus;     /* online */
};

/* Parses a file like /proc/interrupts. Returns false if the count is missing. */
bool ipi_count_parse(FILE *file, struct ipi_count *count);

/* Reads the counts of this machine; cpus is 0 if they are missing. */
void ipi_count_begin(struct ipi_count *count);

/* Prints how many each other CPU has received since. Counts those of any sender, but others send
 * few between two close reads. Prints nothing with one CPU, or if the count is unknown. what:
 * the activity, such as "attaching". */
void ipi_count_end(const struct ipi_count *before, const char *what);

/* --- The timer of arm64 --- */

#define TIMER_LINE_NAME "arch_timer"

/* Number of its interrupt line in a file like /proc/interrupts; 0: there is none. */
uint32_t timer_line_parse(FILE *file);

/* The same of this machine. */
uint32_t timer_line(void);

#endif
