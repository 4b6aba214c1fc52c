/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a target of several that are known, by PID and start. */
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
	bool joined;                 /* as struct kd_process has it, */
	uint32_t execs;              /* and this, when its title was forgotten last */
	bool is_described;           /* or there is nothing to be read of it any more */
	bool is_used;                /* a thread of the sample is of it */
	bool is_kept;                /* a thread of it is still to be read */
	char id[CONTAINER_ID + 1];   /* of its container, as in the row */
	struct member *next, **from; /* while it lives: in several->living, new ones first */
	struct process_row row;
};

struct members {
	uint64_t epoch;        /* CLOCK_MONOTONIC ns */
	void *by_identity;     /* tsearch(3) tree of struct member */
	struct member *living; /* of those, a list: ended ones wait for the end of their window */
	size_t alive, ended;   /* how many of both there are, */
	size_t plain;          /* and of those alive the ones that are not described yet */
};

/* NULL if there is none. */
struct member *member_find(const struct members *members, pid_t pid, uint64_t began);

/* The same of a thread of a sample. */
uint64_t member_began(const struct members *members, uint64_t start);

/* Finds or makes it; NULL: no memory. */
struct member *member_get(struct members *members, pid_t pid, uint64_t began);

/* It is described, or there is nothing to be read of it. */
void member_described(struct members *members, struct member *known);

/* It has begun another program: its title is to be read again. */
void member_renew(struct members *members, struct member *known);

/* It has ended, at a time since the epoch. The first call counts. */
void member_end(struct members *members, struct member *known, uint64_t ended);

/* Forgets one that has ended; it is freed. */
void member_forget(struct members *members, struct member *known);

void members_clear(struct members *members);

/* --- A target of several processes: those of a control group --- */

struct kernel_delay;

/* Before the programs are loaded: tells them which group it is. Returns 0 or, after printing why
 * not, an exit status. */
exit_status group_select(struct kernel_delay *skel, const struct control_group *group);

#endif
