/* SPDX-License-Identifier: Apache-2.0 */
/* The process that resolves stacks, from its start to its end: it is executed anew, without an
 * environment, so it has nothing of its parent's memory, and other addresses. */
#ifndef STACKS_CHILD_H
#define STACKS_CHILD_H

#include <sys/types.h>

/* The first word on the command line of such a process. */
#define STACKS_CHILD "--resolve-stacks"

/* What it is given. */
struct stacks_child {
	int shared;           /* the memory that both have, of shared_new() */
	unsigned int without; /* enum sandbox_without */
};

/* Makes the memory that the parent writes and the child reads, PROTOCOL_SHARED bytes: nobody can
 * have it mapped to be written but who calls this, at *mapped. Returns a descriptor or a negative
 * errno. */
int shared_new(void **mapped);

/* The child, as helper_start() has it; its context is a struct stacks_child. Where the program
 * cannot be executed it goes on as it is. */
void stacks_child_run(void *context, int socket, pid_t parent);

/* The program that is executed, with the words from STACKS_CHILD on. Returns EX_USAGE if they are
 * not what stacks_child_run() gives; else it does not return. */
int stacks_child_main(int argc, char **argv);

#endif
