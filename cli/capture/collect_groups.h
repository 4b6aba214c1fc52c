/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups that decide about CPU time. */
#ifndef COLLECT_GROUPS_H
#define COLLECT_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/process/cpu_rules.h"

struct sample;

/* Who used how much of the quotas of a process's control groups, at two times. */
struct quota_watch {
	struct quota_user *users[2]; /* before and now, QUOTA_USERS each; NULL: not looked yet */
	size_t n[2];
	uint64_t due;           /* next read, CLOCK_MONOTONIC ns */
	struct cpu_rules rules; /* last read, */
	uint64_t rules_due;     /* valid until then */
};

/* Looks before a window opens, and once a second while none is open. */
void quota_watch_look(struct quota_watch *watch, pid_t pid, bool open);

/* Gives the sample, which has its threads, the rules for the one that waited longest for a CPU,
 * and who used up a quota that kept its threads from running. */
void cpu_rules_take(struct quota_watch *watch, struct sample *sample);

void quota_watch_clear(struct quota_watch *watch);

#endif
