/* SPDX-License-Identifier: Apache-2.0 */
/* The user stacks of a process, resolved in a child process without privileges
 * (sandbox.h), each kept once. */
#ifndef STACKS_H
#define STACKS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../bpf/kernel_delay.h"
#include "stack.h"
#include "stack_copy.h"

struct stacks;

/* What became of the copies that were submitted, over the run: they were resolved,
 * went beyond the room, or failed. */
struct stacks_counts {
	uint64_t resolved;   /* have got a stack */
	uint64_t incomplete; /* of those, stacks with a reason to stop */
	uint64_t beyond;     /* not kept: more different ones than room for */
	uint64_t failed;     /* not resolved: the child had died or was ended for taking too long */
};

/* For tests: other than what the program itself runs with. */
struct stacks_setup {
	unsigned int without; /* enum sandbox_without */
	uint64_t patience;    /* ns */
};

/* Starts the child and reads what the process has mapped. To be called early: while
 * this process has one thread, which has to live as long as the child, and little
 * memory, which counts as the child's; but after this process has been placed on its
 * CPUs. Room: how many different stacks are kept. Returns 0, or after printing what
 * failed an exit status. The caller ends it with stacks_close(). */
int stacks_open(struct stacks **stacks, pid_t pid, size_t room);

/* The same with another setup. */
int stacks_open_setup(struct stacks **stacks, pid_t pid, size_t room,
		      const struct stacks_setup *setup);

/* Ends the child and frees all stacks; NULL is allowed. */
void stacks_close(struct stacks *stacks);

/* The process has mapped code, or replaced its program, at t (CLOCK_MONOTONIC ns):
 * reads its mappings again. Returns 0 or a negative errno (-ESRCH: it has gone; what
 * is known stays). */
int stacks_refresh(struct stacks *stacks, uint64_t t);

/* The process has mapped something at t (CLOCK_MONOTONIC ns): to be called in the order
 * in which it did. Reads its mappings only if that tells of a file that is not known. A
 * file that has gone again is looked for by its path; what is not found has no name.
 * Returns as stacks_refresh(). */
int stacks_mapped(struct stacks *stacks, uint64_t t, const struct kd_mapped *change);

/* Has a stack resolved that was copied at t. *stack is set, now or by the next
 * stacks_flush(); to NULL if there is none. The copy may be freed at once. Returns
 * 0 or -ENOMEM. */
int stacks_submit(struct stacks *stacks, uint64_t t, const struct stack_copy *copy,
		  const struct stack **stack);

/* Waits for all that were submitted. */
void stacks_flush(struct stacks *stacks);

struct stacks_counts stacks_counts(const struct stacks *stacks);

/* Why there are no user stacks any more; NULL: the child is well. */
const char *stacks_failure(const struct stacks *stacks);

/* The child; 0: it has ended. */
pid_t stacks_child(const struct stacks *stacks);

#endif
