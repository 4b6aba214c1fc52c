/* SPDX-License-Identifier: Apache-2.0 */
/* The user stacks of one process or of several, resolved in a child process without privileges
 * (sandbox.h), each kept once. */
#ifndef STACKS_H
#define STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"
#include "cli/base/exit_status.h"
#include "cli/base/signals.h"
#include "stack_copy.h"

struct stacks;
struct known;

/* What became of the copies that were submitted, over the run: they were resolved,
 * went beyond the room, or failed. */
struct stacks_counts {
	uint64_t resolved;   /* have got a stack */
	uint64_t incomplete; /* of those, stacks with a reason to stop */
	uint64_t beyond;     /* not kept: more different ones than room for */
	uint64_t failed; /* not resolved: the child had died or was ended for taking too long, or
			  * what stacks_submit() returned */
};

/* Why there is no stack, by what stacks_submit() returned. */
const char *stacks_excuse(int error);

/* What differs from stacks_open(). */
struct stacks_setup {
	unsigned int without;    /* enum sandbox_without */
	uint64_t patience;       /* ns */
	struct signals *signals; /* see signals_wait() */
	bool quiet;              /* does not print what failed: it can do without */
};

/* Starts the child and reads what the process has mapped; 0: there are several, of which
 * stacks_add() tells, and of which one may have ended. To be called early: while
 * this process has one thread, which has to live as long as the child, and little
 * memory, which counts as the child's; but after this process has been placed on its
 * CPUs. The child is waited for as signals_wait() does. Room: how many different stacks are kept.
 * Returns 0, or after printing what failed an exit status. The caller ends it with stacks_close().
 */
exit_status stacks_open(struct stacks **stacks, pid_t pid, size_t room, struct signals *signals);

/* The same with another setup. */
exit_status stacks_open_setup(struct stacks **stacks, pid_t pid, size_t room,
			      const struct stacks_setup *setup);

/* There is another process, of which what it has mapped is read, unless it is known. To be called
 * for those that are there; others are read when they are heard of. What cannot be read
 * stacks_submit() tells. */
void stacks_add(struct stacks *stacks, pid_t pid);

/* Ends the child and frees all stacks; NULL is allowed. */
void stacks_close(struct stacks *stacks);

/* The only process has mapped code, or replaced its program, at t (CLOCK_MONOTONIC ns):
 * reads its mappings again; nothing if there are several. Returns 0 or a negative errno (-ESRCH: it
 * has gone; what is known stays). */
int stacks_refresh(struct stacks *stacks, uint64_t t);

/* A process has mapped something at t (CLOCK_MONOTONIC ns), has begun or has ended: to be called
 * in the order in which it did. Reads its mappings only if that tells of a file that is not known.
 * A file that has gone again is looked for by its path; what is not found has no name. Returns as
 * stacks_refresh(). */
int stacks_mapped(struct stacks *stacks, pid_t pid, uint64_t t, const struct kd_mapped *change);

/* Has a stack resolved that was copied at t. *stack is set, now or by the next
 * stacks_flush(); to NULL if there is none. The copy may be freed at once. Returns 0;
 * -ESRCH: the process ended before what it has mapped was read; -EACCES: that may not be read;
 * -ENOSPC: there is no room for so many processes, or for so much that they have mapped;
 * another -errno. */
int stacks_submit(struct stacks *stacks, uint64_t t, const struct stack_copy *copy,
		  const struct stack **stack);

/* Has somebody told what stacks were unwound from whose copies have mapped_at: by the next
 * stacks_flush(). */
typedef void stacks_known(void *context, const struct known *known, const struct stack *stack,
			  uint64_t mapped_at);
void stacks_tell_known(struct stacks *stacks, stacks_known *tell, void *context);

/* Waits for all that were submitted. */
void stacks_flush(struct stacks *stacks);

struct stacks_counts stacks_counts(const struct stacks *stacks);

/* Why there are no user stacks any more; NULL: the child is well. */
const char *stacks_failure(const struct stacks *stacks);

/* The child, and the one that opens files; 0: it has ended. */
void stacks_children(const struct stacks *stacks, pid_t children[2]);

/* --- The process that resolves them --- */

/* The first word on the command line of such a process. */
#define STACKS_CHILD "--resolve-stacks"

/* What it is given. */
struct stacks_child {
	int shared;           /* the memory that both have, of shared_new() */
	unsigned int without; /* enum sandbox_without */
};

/* The program that is executed, with the words from STACKS_CHILD on. Returns EX_USAGE if they are
 * not what stacks_child_run() gives; else it does not return. */
int stacks_child_main(int argc, char **argv);

#endif
