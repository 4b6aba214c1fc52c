/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of the target: which there are, and when they come and end. */
#ifndef SESSION_PROCESSES_H
#define SESSION_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/base/exit_status.h"
#include "cli/model/sample.h"
#include "cli/process/container.h"
#include "cli/process/group.h"
#include "session.h"

struct process_set;

/* Reads which processes began and ended. Returns 0 or a negative errno. */
int process_set_look(struct process_set *set);

/* True if processes moved into the cgroup since the last call: the iterator should visit their
 * threads (KD_VISIT_JOIN). True once more when threads that were too young then are old enough. */
bool process_set_joined(struct process_set *set);

/* Takes up to that many PIDs of new processes of the target that are no children of its processes.
 * Does not report execve. Returns how many. Only in runs with triggers in files. */
size_t process_set_newcomers(struct process_set *set, pid_t *pids, size_t capacity);

/* False if the target is one process: the other functions then do nothing. */
bool process_set_is_used(const struct process_set *set);

/* False if the target has ended. */
bool process_set_go_on(const struct process_set *set);

/* Folding: processes may come and go by the thousand in a window. Once process_set_fold_due() is
 * true, the caller passes each thread that is not read yet to process_set_keep(), which keeps its
 * process. It passes each row of the window to process_set_use(); without a window (generation 0)
 * there are none.
 *
 * process_set_fold_begin() then removes the other ended processes. It moves the used ones of these,
 * and what was folded before, into the empty sample, which the caller clears in any case. Returns 0
 * or -ENOMEM. The caller adds the threads, calls processes_fold_open(), and takes the threads back.
 * process_set_fold_end() keeps the processes of the sample. */
bool process_set_fold_due(const struct process_set *set);
void process_set_keep(struct process_set *set, const struct kd_thread *thread);
void process_set_use(struct process_set *set, const struct thread_row *thread);
int process_set_fold_begin(struct process_set *set, const struct session_view *view,
			   struct sample *sample);
void process_set_fold_end(struct process_set *set, struct sample *sample);

/* Forgets what was folded, if its window is not read. */
void process_set_fold_forget(struct process_set *set);

/* Adds the processes of a sample's threads to it. Forgets processes that ended before that time: no
 * window has them any more. Returns 0 or -ENOMEM. */
int process_set_collect(struct process_set *set, const struct session_view *view, uint64_t since,
			struct sample *sample);

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

/* --- A cgroup as the target --- */

struct kernel_delay;

/* Sets the cgroup in the programs, before they are loaded. Returns 0, or an exit status after
 * printing what failed. */
exit_status group_select(struct kernel_delay *skel, const struct control_group *group);

#endif
