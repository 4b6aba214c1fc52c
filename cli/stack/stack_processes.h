/* SPDX-License-Identifier: Apache-2.0 */
/* The processes whose stacks are resolved: what each has mapped, and which address space of
 * protocol.h that is. Those that have the same mapped at the same addresses share one, as the
 * children of a server do until they map something else. */
#ifndef STACK_PROCESSES_H
#define STACK_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "jit_files.h"
#include "mapped.h"

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
