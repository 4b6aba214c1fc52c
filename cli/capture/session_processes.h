/* SPDX-License-Identifier: Apache-2.0 */
/* A target of several processes: which they are, when they come and end. */
#ifndef SESSION_PROCESSES_H
#define SESSION_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/base/exit_status.h"
#include "cli/process/processes.h"
#include "session_types.h"
#include "session_members.h"

struct kernel_delay;

/* Those of a session; begins as zeros. */
struct several {
	struct kernel_delay *skel; /* NULL: the target is one process */
	const struct processes *rules;
	struct process_describer describer;
	struct members members;
	size_t fold_at;             /* so many ended ones are folded */
	struct process_row *folded; /* those of the window that is open */
	size_t n_folded;
	uint64_t folded_gen;     /* the window's */
	uint32_t changes, joins; /* of the kernel side, that have been read */
	uint64_t checked_at;     /* CLOCK_MONOTONIC ns: that those are alive that should be */
	uint64_t revisit_at; /* the same: those that joined are visited again; 0: they are not */
	bool lists_newcomers;
	pid_t *newcomers; /* that have not been taken */
	size_t n_newcomers, room_newcomers;
};

/* Before the programs are loaded. Returns 0 or, after printing why not, an exit status. */
exit_status several_select(struct several *several, struct kernel_delay *skel,
			   const struct session_config *config);

/* Tells the kernel side which processes there are. To be called when the programs are attached
 * and before threads get their slots, so that no process is left out that is born meanwhile.
 * Returns 0 or, after printing why not, an exit status. */
exit_status several_seed(struct several *several);

/* Reads which have begun and ended. Returns 0 or a negative errno. */
int several_look(struct several *several);

/* True if processes were moved into the control group since the last call: the iterator is to
 * visit their threads (KD_VISIT_JOIN). And once more when those are old enough for it that were
 * not then. */
bool several_joined(struct several *several);

/* Takes up to room PIDs of processes that are of the target and were not when it was looked at, nor
 * are children of its processes; execve is not told of. Returns how many. In runs with triggers in
 * files only. */
size_t several_newcomers(struct several *several, pid_t *pids, size_t room);

/* False if the target has ended. */
bool several_go_on(const struct several *several);

/* Processes may come and go by the thousand in a window. True if so many have ended that they
 * should be folded, which then takes some steps: those of which a thread has not been read yet are
 * kept, and those that a thread of the window is of are used. Then those that have ended are taken
 * out, and the used ones of them are moved into the sample, which has none, with what was folded
 * before. Without a window (its generation is 0) none may be used. The caller adds their
 * threads, calls processes_fold_open() and takes the threads back; the processes are then kept as
 * they are. several_fold_begin() returns 0 or -ENOMEM; in any case the caller clears the sample. */
bool several_fold_due(const struct several *several);
void several_keep(struct several *several, const struct kd_thread *thread);
void several_use(struct several *several, const struct thread_row *thread);
int several_fold_begin(struct several *several, const struct session_view *view,
		       struct sample *sample);
void several_fold_end(struct several *several, struct sample *sample);

/* Forgets what was folded: its window is not read. */
void several_fold_forget(struct several *several);

/* Adds the processes of a sample's threads to it, and forgets those that ended before a time, as
 * there is no window of it left. Returns 0 or -ENOMEM. */
int several_collect(struct several *several, const struct session_view *view, uint64_t since,
		    struct sample *sample);

void several_close(struct several *several);

#endif
