/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the kernel's pressure stall information: /proc/pressure, and the files *.pressure of a
 * control group of version 2. */
#ifndef PSI_H
#define PSI_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/model/pressure.h"
#include "group.h"

/* Totals since boot, or since the group was made. */
struct psi_reading {
	uint64_t at; /* CLOCK_MONOTONIC ns; 0: none */
	struct pressure_set machine, group;
};

/* Of a process's group, as it was when that was last looked for. */
struct psi_watch {
	pid_t pid; /* 0: not looked yet */
	bool has_group;
	struct group_levels group;
	struct psi_reading last;
};

/* Parses such a file: "some avg10=... total=US", and the same of
 * "full", which may be missing. Returns false without the former. */
bool psi_parse(const char *text, struct pressure *pressure);

/* Begins a time; finds the group first, if that is of another process. root: see cpu_rules.h. */
void psi_watch_begin(struct psi_watch *watch, const char *root, pid_t pid);

/* Ends that time, and begins the next one. What the kernel does not tell is left out; without a
 * time that has begun, all. */
void psi_watch_take(struct psi_watch *watch, const char *root, struct pressures *pressures);

#endif
