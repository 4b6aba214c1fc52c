/* SPDX-License-Identifier: Apache-2.0 */
/* Which control groups, autogroups and cpusets decide how much CPU time a thread gets. Reads files
 * below a root, which tests create; "" for this machine. */
#ifndef CPU_RULES_H
#define CPU_RULES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/model/culprit.h"

/* Finds the rules for a thread, and what decides between it and another one (0: none). */
void cpu_rules_read(const char *root, pid_t tid, pid_t rival, struct cpu_rules *rules);

/* CPU time so far of a group below one with a quota, or of that one's own processes; or of a single
 * process in the group of the one that is asked about. */
struct quota_user {
	char group[CULPRIT_GROUP_LEN], of[CULPRIT_GROUP_LEN]; /* as in struct culprit */
	uint64_t ns;
	bool own;      /* the process is in it */
	bool at_least; /* what all in it used at least, where the kernel counts periods only */
	pid_t pid;     /* 0: a group; else its time is in that of its group, too */
	char name[KD_COMM_LEN];
};

/* Finds those of all quotas of the process, most at most. Returns their number. */
size_t quota_users_read(const char *root, pid_t pid, struct quota_user *users, size_t most);

#endif
