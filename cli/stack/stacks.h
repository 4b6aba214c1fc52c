/* SPDX-License-Identifier: Apache-2.0 */
/* User stacks of one or more processes, resolved in an unprivileged child process (sandbox.h),
 * each stored once. */
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
struct digest;

/* Reason for a missing stack, by the result of stacks_submit(). */
const char *stacks_excuse(int error);

/* How to open them. */
struct stacks_setup {
	unsigned int without;    /* enum sandbox_without */
	uint64_t patience;       /* ns; 0: enough for a debug file of 1 GB */
	uint64_t pause;          /* ns from a child's start to that of its successor, if it took
				  * too long; 0: a minute */
	struct signals *signals; /* see signals_wait() */
	bool quiet;              /* does not print failures: they do not matter */
};

/* Starts the child and reads the mappings of the process; pid 0: several, added by stacks_add(),
 * some of which may have ended. Call early, when this process is small, since its memory counts
 * as the child's; and single-threaded, with a thread that lives as long as the child. Call after
 * this process was placed on its CPUs. Waits for the child as signals_wait() does. room:
 * distinct stacks stored. Returns 0, or an exit status after printing what failed. The caller
 * ends it with stacks_close(). */
exit_status stacks_open(struct stacks **stacks, pid_t pid, size_t capacity,
			const struct stacks_setup *setup);

/* Adds an existing process and reads its mappings, unless it is known. Later processes are read
 * when first seen. stacks_submit() reports failures. */
void stacks_add(struct stacks *stacks, pid_t pid);

/* Ends the child and frees all stacks; NULL is allowed. */
void stacks_close(struct stacks *stacks);

/* The only process mapped code, or executed a program, at t (CLOCK_MONOTONIC ns): reads its
 * mappings again; does nothing for several processes. Returns 0 or a negative errno (-ESRCH: it
 * has ended; its last mappings stay). */
int stacks_refresh(struct stacks *stacks, uint64_t t);

/* A process mapped something at t (CLOCK_MONOTONIC ns), began or ended; call in that order. Only
 * reads its mappings if an unknown file is involved. A file that is no longer mapped is looked
 * up by its path; otherwise it has no name. Returns as stacks_refresh(). */
int stacks_mapped(struct stacks *stacks, pid_t pid, uint64_t t, const struct kd_mapped *change);

/* Submits a stack copied at t for resolution. *stack is set now or by the next stacks_flush(),
 * to NULL if there is none. The copy may be freed at once. Returns 0; -ESRCH: the process ended
 * before its mappings were read; -EACCES: they are not readable; -ENOSPC: too many processes or
 * mappings; another -errno. */
int stacks_submit(struct stacks *stacks, uint64_t t, const struct stack_copy *copy,
		  const struct stack **stack);

/* Registers a function that receives what stacks were unwound from, for copies with mapped_at:
 * by the next stacks_flush(). */
void stacks_tell_digests(struct stacks *stacks, stacks_digested *tell, void *context);

/* Waits for all submitted copies. */
void stacks_flush(struct stacks *stacks);

struct stack_counts stacks_counts(const struct stacks *stacks);

/* Why there are no user stacks now; NULL: the child works. One that took too long, or all of its
 * CPU time, has a successor, which a warning tells. */
const char *stacks_failure(const struct stacks *stacks);

/* The child, and the one that opens files; 0: ended. */
void stacks_children(const struct stacks *stacks, pid_t children[2]);

/* --- Resolver process --- */

/* First command line argument of such a process. */
#define STACKS_CHILD "--resolve-stacks"

/* Main function of the executed program; words start at STACKS_CHILD. Returns EX_USAGE unless
 * they are from stacks_child_run(); otherwise does not return. */
int stacks_child_main(int argc, char **argv);

#endif
