/* SPDX-License-Identifier: Apache-2.0 */
/* The processes whose stacks are resolved: what each has mapped, and which address space of
 * protocol.h that is. Those that have the same mapped at the same addresses share one, as the
 * children of a server do until they map something else. */
#ifndef STACK_PROCESSES_H
#define STACK_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "jit_map.h"
#include "mapped.h"
#include "opener.h"

/* --- Files about code that is made at run time --- */

/* Of a process: those that were found. */
struct jit_files {
	uint64_t looked; /* when, CLOCK_MONOTONIC ns; 0: never */
	bool is_silent; /* one of them could not be opened in bounded time: no more is looked for */
	struct jit_id found[JIT_FILES];
};

/* Looks for the files of a process that has mapped this, if it makes code at all and this was not
 * done within the last second. fds are set to descriptors of those that are new, which the caller
 * closes, or to -1. Whoever can write to them is the process's user: they are regular files of his,
 * /tmp/perf-PID.map where it is in the process's root directory, by its own number, and what it has
 * mapped as .../jit-PID.dump. */
void jit_files_look(struct jit_files *files, pid_t pid, const struct mapped *mapped,
		    const struct mapped_files *mapped_files, struct opener *opener,
		    int fds[JIT_FILES]);

/* --- Processes --- */

/* Bounds: processes that are known at one time, ended ones among them as long as there is
 * room; and what they may have mapped together. */
#define STACK_PROCESSES 4096
#define STACK_MAPPINGS (1U << 20)

#define STACK_NO_SPACE UINT32_MAX

struct stack_process {
	pid_t pid;             /* first: the key */
	struct mapped *mapped; /* NULL: not known */
	uint32_t space;        /* its number, or STACK_NO_SPACE */
	struct jit_files jit;  /* what the other process has been told of, for that space */
	bool has_names; /* of code that it makes, which are of its space: nobody may share it */
	int error;      /* negative: there are no stacks of it, see stacks_submit() */
	/* The processes' own. */
	size_t size;
	bool ended, queued;
	struct stack_process *next;
};

struct stack_processes;

/* Returns NULL without memory. */
struct stack_processes *stack_processes_new(void);

/* NULL is allowed. */
void stack_processes_free(struct stack_processes *processes);

/* NULL if it is not known. */
struct stack_process *stack_process_find(const struct stack_processes *processes, pid_t pid);

/* Adds a process, in place of another one with this PID: a child of parent, which has mapped what
 * that has, or is refused if that is too much; NULL: nothing is known yet. Returns NULL if there
 * are too many, or no memory. */
struct stack_process *stack_process_add(struct stack_processes *processes, pid_t pid,
					const struct stack_process *parent);

/* It has ended. It stays while there is room. */
void stack_process_end(struct stack_processes *processes, struct stack_process *process);

/* There are no stacks of it any more, for this reason, a negative errno. */
void stack_process_refuse(struct stack_processes *processes, struct stack_process *process,
			  int error);

enum stack_space {
	STACK_SPACE_SHARED,  /* it has the space of others, which is told already */
	STACK_SPACE_BEGINS,  /* it has a new one: what it has mapped is to be told, as ever since */
	STACK_SPACE_CHANGES, /* it is to be told, from now on */
};

/* Finds the space for what it has mapped, which has changed. Returns an enum stack_space, or
 * -ENOSPC: there is no room, and the process has been refused. */
int stack_process_settle(struct stack_processes *processes, struct stack_process *process);

/* A space that is nobody's any more, but which the other process has yet; it is to be told that
 * nothing is mapped there. STACK_NO_SPACE: there is none, or all have been told of. */
uint32_t stack_processes_left(struct stack_processes *processes);

#endif
