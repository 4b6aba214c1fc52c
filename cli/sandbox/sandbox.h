/* SPDX-License-Identifier: Apache-2.0 */
/* Reduces a process to what it needs to compute with data from a socket. */
#ifndef SANDBOX_H
#define SANDBOX_H

#define SANDBOX_SOCKET 3 /* descriptor of the socket in the sandbox */

/* Restrictions left out where a sanitizer's runtime cannot work with them. The program itself
 * leaves none out. */
enum sandbox_without {
	SANDBOX_WITHOUT_FILTER = 1, /* of system calls */
	SANDBOX_WITHOUT_MEMORY_LIMIT = 2,
	SANDBOX_WITHOUT_SILENCE = 4, /* stdin, stdout and stderr stay open */
	SANDBOX_WITHOUT_CPU_LIMIT = 16,
	/* May open files of any process for reading, as far as the parent may. Keeps the
	 * capabilities for that, if it has them, the root directory, and its user, which FUSE
	 * checks. Cannot write to any file: its file system user is nobody, if permitted;
	 * otherwise it could create and truncate some. */
	SANDBOX_OPENS = 8,
};

/* Restrictions that a sanitizer's runtime cannot work with. */
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

/* Call in a new single-threaded process, just forked by process `parent`. It keeps its memory,
 * the socket as descriptor SANDBOX_SOCKET, and /dev/null as 0, 1 and 2. It has no capabilities,
 * and regains none by execve(); its user becomes nobody if permitted. It ignores terminal
 * signals and ends with its parent's thread; memory, CPU time and descriptors are limited. It
 * may allocate memory, use the socket, and read files that it receives (see also SANDBOX_OPENS).
 * Other system calls kill it with SIGSYS. without: enum sandbox_without bits. Returns 0, or a
 * negative errno with *what naming the failed step: then the process should end. */
int sandbox_enter(int socket, int parent, unsigned int without, const char **what);

#endif
