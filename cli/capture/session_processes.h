/* SPDX-License-Identifier: Apache-2.0 */
/* A target of several processes: its members, and when they come and end. */
#ifndef SESSION_PROCESSES_H
#define SESSION_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/base/exit_status.h"
#include "cli/model/sample.h"
#include "cli/process/container.h"
#include "cli/process/group.h"
#include "session_types.h"

struct process_set;

/* Reads which processes began and ended. Returns 0 or a negative errno. */
int process_set_look(struct process_set *set);

/* True if processes moved into the cgroup since the last call: the iterator should visit their
 * threads (KD_VISIT_JOIN). True again when those too young for that are old enough. */
bool process_set_joined(struct process_set *set);

/* Takes up to room PIDs of new processes of the target that are no children of its processes;
 * execve is not reported. Returns how many. Only in runs with triggers in files. */
size_t process_set_newcomers(struct process_set *set, pid_t *pids, size_t capacity);

/* False if the target is one process: then none of these does anything. */
bool process_set_is_used(const struct process_set *set);

/* False if the target has ended. */
bool process_set_go_on(const struct process_set *set);

/* Processes may come and go by the thousand in a window. True if so many have ended that they
 * should be folded, which then takes some steps: those of which a thread has not been read yet are
 * kept, and those that a thread of the window is of are used. Then those that have ended are taken
 * out, and the used ones of them are moved into the sample, which has none, with what was folded
 * before. Without a window (its generation is 0) none may be used. The caller adds their
 * threads, calls processes_fold_open() and takes the threads back; the processes are then kept as
 * they are. process_set_fold_begin() returns 0 or -ENOMEM; in any case the caller clears the
 * sample. */
bool process_set_fold_due(const struct process_set *set);
void process_set_keep(struct process_set *set, const struct kd_thread *thread);
void process_set_use(struct process_set *set, const struct thread_row *thread);
int process_set_fold_begin(struct process_set *set, const struct session_view *view,
			   struct sample *sample);
void process_set_fold_end(struct process_set *set, struct sample *sample);

/* Forgets what was folded, as its window is not read. */
void process_set_fold_forget(struct process_set *set);

/* Adds the processes of a sample's threads to it, and forgets those that ended before a time, as
 * no window has them any more. Returns 0 or -ENOMEM. */
int process_set_collect(struct process_set *set, const struct session_view *view, uint64_t since,
			struct sample *sample);

/* --- Members of a control group --- */

/* Processes of a target of several, by PID and start. */

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
