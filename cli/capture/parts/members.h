/* SPDX-License-Identifier: Apache-2.0 */
/* Processes and threads that belong to the target. */
#ifndef PART_MEMBERS_H
#define PART_MEMBERS_H

#include <stdint.h>
#include <sys/types.h>

#include "cli/base/exit_status.h"
#include "cli/model/sample.h"
#include "cli/process/container.h"
#include "cli/process/group.h"

struct kernel_delay;

/* --- Processes of the target, by PID and start --- */

struct member {
	pid_t pid;                   /* the key, with: */
	uint64_t began, ended;       /* since the epoch, as in struct kd_process */
	bool joined;                 /* as in struct kd_process */
	uint32_t execs;              /* the same, when its title was last forgotten */
	bool is_described;           /* or cannot be read any more */
	bool is_used;                /* a thread of the sample belongs to it */
	bool has_unread;             /* a thread of it has yet to be read */
	char id[CONTAINER_ID + 1];   /* of its container, as in the row */
	struct member *next, **from; /* while alive: in members->living, newest first */
	struct process_row row;
};

struct members {
	uint64_t epoch;        /* CLOCK_MONOTONIC ns */
	void *by_identity;     /* tsearch(3) tree of struct member */
	struct member *living; /* list of live ones; the others wait for their window's end */
	size_t alive, ended;   /* how many */
	size_t plain;          /* live ones not described yet */
};

/* Returns NULL if there is none. */
struct member *member_find(const struct members *members, pid_t pid, uint64_t began);

/* Converts the start of a sample's thread to `began`. */
uint64_t member_began(const struct members *members, uint64_t start);

/* Finds or adds a process. Returns NULL without memory. */
struct member *member_get(struct members *members, pid_t pid, uint64_t began);

/* Marks a process as described, or as unreadable. */
void member_described(struct members *members, struct member *member);

/* Notes that a process runs another program: its title is to be read again. */
void member_renew(struct members *members, struct member *member);

/* Notes the end of a process, at a time since the epoch. Only the first call counts. */
void member_end(struct members *members, struct member *member, uint64_t ended);

/* Forgets and frees an ended process. */
void member_forget(struct members *members, struct member *member);

void members_clear(struct members *members);

/* Sets the cgroup in the programs, before they are loaded. Returns 0, or an exit status after
 * printing what failed. */
exit_status group_select(struct kernel_delay *skel, const struct control_group *group);

#endif
