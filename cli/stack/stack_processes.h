/* SPDX-License-Identifier: Apache-2.0 */
/* Processes whose stacks are resolved: their mappings, and their address space in protocol.h.
 * Processes with the same mappings share one, such as children of a server until they map
 * something else. */
#ifndef STACK_PROCESSES_H
#define STACK_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"
#include "probes/elf/objects.h"
#include "jit_map.h"
#include "opener.h"
#include "resolver.h"

struct mapped;
struct mapped_files;

/* --- Files about JIT code --- */

/* JIT files found for a process. */
struct jit_files {
	uint64_t looked; /* time of the last search, CLOCK_MONOTONIC ns; 0: never */
	bool is_silent;  /* opening one timed out: the search is over */
	struct inode_key found[JIT_FILES]; /* inode 0: none */
};

/* Searches for JIT files of a process with these mappings, if it has JIT code and the last
 * search was over a second ago. Sets fds to descriptors of new files, which the caller closes,
 * or to -1. Only the process's user can write to them: they are that user's regular files. They
 * are /tmp/perf-PID.map in the process's root, with the PID of its namespace, and mapped files
 * .../jit-PID.dump. */
void jit_files_look(struct jit_files *files, pid_t pid, const struct mapped *mapped,
		    const struct mapped_files *mapped_files, struct opener *opener,
		    int fds[JIT_FILES]);

/* --- Processes --- */

/* Limits: processes at a time, including ended ones while they fit; and all their mappings. */
#define STACK_PROCESSES 4096
#define STACK_MAPPINGS (1U << 20)

#define STACK_NO_SPACE UINT32_MAX

struct stack_process {
	pid_t pid;             /* must be first: the key */
	struct mapped *mapped; /* NULL: unknown */
	uint32_t space;        /* its number, or STACK_NO_SPACE */
	struct jit_files jit;  /* files already sent to the other process, for that space */
	bool has_names;        /* it has names of JIT code, which belong to its space: it cannot be
				* shared */
	int error;             /* negative: no stacks for it, see stacks_submit() */
	/* Private. */
	size_t size;
	bool ended, queued;
	struct stack_process *next;
};

struct stack_processes;

/* Returns NULL without memory. */
struct stack_processes *stack_processes_new(void);

/* NULL is allowed. */
void stack_processes_free(struct stack_processes *processes);

/* NULL if unknown. */
struct stack_process *stack_process_find(const struct stack_processes *processes, pid_t pid);

/* Adds a process, replacing another with this PID: a child with the mappings of parent, refused
 * if they do not fit; NULL: nothing is known yet. Returns NULL if there are too many, or no
 * memory. */
struct stack_process *stack_process_add(struct stack_processes *processes, pid_t pid,
					const struct stack_process *parent);

/* Marks it as ended. It stays while it fits. */
void stack_process_end(struct stack_processes *processes, struct stack_process *process);

/* Drops its stacks from now on for this reason, a negative errno. */
void stack_process_refuse(struct stack_processes *processes, struct stack_process *process,
			  int error);

enum stack_space {
	STACK_SPACE_SHARED,  /* shares a space that is known already */
	STACK_SPACE_BEGINS,  /* has a new space: send its mappings as initial ones */
	STACK_SPACE_CHANGES, /* send its mappings as a change */
};

/* Finds the space for its changed mappings. Returns an enum stack_space, or -ENOSPC: they do not
 * fit, and the process was refused. */
int stack_process_settle(struct stack_processes *processes, struct stack_process *process);

/* A space without users that the other process still has; send that nothing is mapped there.
 * STACK_NO_SPACE: none left. */
uint32_t stack_processes_left(struct stack_processes *processes);

#endif
