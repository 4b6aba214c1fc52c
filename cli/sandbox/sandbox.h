/* SPDX-License-Identifier: Apache-2.0 */
/* Takes from a process all that it does not need in order to compute with what it
 * is handed over a socket. */
#ifndef SANDBOX_H
#define SANDBOX_H

#define SANDBOX_SOCKET 3 /* the descriptor the socket has in the sandbox */

/* Restrictions that are left out where the run time of a sanitizer cannot live with
 * them. The program itself leaves none out. */
enum sandbox_without {
	SANDBOX_WITHOUT_FILTER = 1, /* of system calls */
	SANDBOX_WITHOUT_MEMORY_LIMIT = 2,
	SANDBOX_WITHOUT_SILENCE = 4, /* stdin, stdout and stderr stay what they are */
	SANDBOX_WITHOUT_CPU_LIMIT = 16,
	/* It may open files to read them: of any process, as far as the parent may. It keeps the
	 * capabilities for that, if it has them, and the root directory, and its user, as whom FUSE
	 * lets it in; but it can write to no file: its user for file systems is nobody, if it may
	 * change that, else it could create and cut some. */
	SANDBOX_OPENS = 8,
};

/* What the run time of a sanitizer cannot live with, in a program that is built with one. */
#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define SANDBOX_SANITIZED                                                                          \
	((unsigned int)SANDBOX_WITHOUT_FILTER | SANDBOX_WITHOUT_MEMORY_LIMIT |                     \
	 SANDBOX_WITHOUT_SILENCE)
#else
#define SANDBOX_SANITIZED 0U
#endif

/* To be called in a new process with one thread, which the process `parent` has
 * just forked. What remains afterwards: the memory it had, the socket as descriptor
 * SANDBOX_SOCKET, and /dev/null as 0, 1 and 2. It has no capabilities and gets none
 * by execve(); its user is nobody if it may change that; it ignores signals of the
 * terminal and ends with its parent's thread; memory, CPU time and descriptors are
 * limited. It may allocate memory, receive from and send to the socket, and read
 * files that it is given (see also SANDBOX_OPENS). Any other system call ends it with SIGSYS.
 * Without: a combination of enum sandbox_without. Returns 0, or a negative errno and in *what a
 * name for what could not be done: then the process should end. */
int sandbox_enter(int socket, int parent, unsigned int without, const char **what);

#endif
