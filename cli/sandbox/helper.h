/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes that do for this one what may take for ever, or what it had better not do
 * itself: they open and read files that others have made. */
#ifndef HELPER_H
#define HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct helper {
	pid_t pid;  /* 0: there is none */
	int socket; /* to it, of packet.h */
};

/* What the child does; it is to enter a sandbox (sandbox.h), and to end. */
typedef void helper_main(void *context, int socket, pid_t parent);

/* Starts one, which has what this process has by the fork. Returns 0 or a negative errno: then
 * there is none. */
int helper_start(struct helper *helper, helper_main *run, void *context);

/* Ends it, and waits for that, but not for ever: a file system that does not answer keeps it alive,
 * even though killed. *status is that of waitpid(). Returns whether it has ended. Safe to repeat.
 */
bool helper_end(struct helper *helper, int *status);

/* The same, but first gives it the time to end by itself. */
bool helper_await(struct helper *helper, int *status);

/* In the child: to be called for a file before it is closed, or handed to the parent, which closes
 * it some time. FUSE then asks its server (flush), and waits: here, where helper_file() tells which
 * file it is. A server that answers now and falls silent before the parent closes the file, too,
 * still keeps the parent. */
void helper_try_close(int fd);

/* What it waits for: the path of the file that it opens or reads now, escaped. Returns false if
 * there is none. */
bool helper_file(const struct helper *helper, char *path, size_t size);

#endif
