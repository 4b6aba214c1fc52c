/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of a target of several, by PID and start. */
#ifndef SESSION_MEMBERS_H
#define SESSION_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/base/exit_status.h"
#include "cli/model/sample.h"
#include "cli/process/container.h"
#include "cli/process/group.h"
#include "session_types.h"

struct member {
	pid_t pid;                   /* the key, with: */
	uint64_t began, ended;       /* since the epoch, as struct kd_process has them */
	bool joined;                 /* as in struct kd_process, */
	uint32_t execs;              /* and this, when its title was last forgotten */
	bool is_described;           /* or nothing can be read of it any more */
	bool is_used;                /* a thread of the sample belongs to it */
	bool is_kept;                /* a thread of it has yet to be read */
	char id[CONTAINER_ID + 1];   /* of its container, as in the row */
	struct member *next, **from; /* while alive: in several->living, newest first */
	struct process_row row;
};

struct members {
	uint64_t epoch;        /* CLOCK_MONOTONIC ns */
	void *by_identity;     /* tsearch(3) tree of struct member */
	struct member *living; /* a list of these; ended ones wait for the end of their window */
	size_t alive, ended;   /* counts of both, */
	size_t plain;          /* and of live ones not described yet */
};

/* Returns NULL if there is none. */
struct member *member_find(const struct members *members, pid_t pid, uint64_t began);

/* Converts the start of a sample's thread to `began`. */
uint64_t member_began(const struct members *members, uint64_t start);

/* Finds or adds it; NULL: no memory. */
struct member *member_get(struct members *members, pid_t pid, uint64_t began);

/* Marks it as described, or as unreadable. */
void member_described(struct members *members, struct member *known);

/* Notes that it runs another program, so its title is to be read again. */
void member_renew(struct members *members, struct member *known);

/* Notes its end, at a time since the epoch. Only the first call counts. */
void member_end(struct members *members, struct member *known, uint64_t ended);

/* Forgets and frees an ended one. */
void member_forget(struct members *members, struct member *known);

void members_clear(struct members *members);

/* --- A target of several processes: those of a cgroup --- */

struct kernel_delay;

/* Tells the programs, before they are loaded, which cgroup it is. Returns 0, or an exit status
 * after printing why not. */
exit_status group_select(struct kernel_delay *skel, const struct control_group *group);

#endif
