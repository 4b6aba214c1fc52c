/* SPDX-License-Identifier: Apache-2.0 */
/* The entry point of a program that is about to begin. */
#ifndef ENTRY_POINT_H
#define ENTRY_POINT_H

#include <sys/types.h>

/* Lets a process that this thread traces, stopped after its execve(), go on until its libraries
 * are mapped and initialized: to where its loader jumps to. It is stopped there as it was before,
 * with nothing left in its memory (a child that its libraries have forked meanwhile has the
 * breakpoint still). Returns 0; a negative errno, -ENOTSUP on machines of another
 * kind; or -ECHILD if it has ended: then *status is that of waitpid(). */
int entry_point_reach(pid_t pid, int *status);

#endif
