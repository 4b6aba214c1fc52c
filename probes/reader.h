/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a target's files in a child process. Whoever made the target chose what is in them, and
 * a file system that does not answer would block this process forever. */
#ifndef READER_H
#define READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/base/exit_status.h"
#include "cli/base/signals.h"
#include "cli/sandbox/helper.h"

struct probe_reader {
	/* Runs in the child, which may only open and read files (SANDBOX_OPENS). Its log.h
	 * messages are printed here when it ends. Returns an exit status. */
	exit_status (*run)(void *context, int socket);
	/* Runs in the child, before the sandbox. NULL: nothing to do. */
	void (*prepare)(void *context);
	/* Runs here for each packet of reader_send(), which is not to be trusted. Takes over the
	 * packet's file. Returns 0, or an exit status to end. */
	exit_status (*take)(void *context, struct packet *packet);
	void *context;
	struct signals *signals; /* see signals_wait() */
	uint64_t limit;          /* ns in total; 0: the default */
	bool quiet;              /* failures are not printed */
};

/* Runs the reader. *left, unless NULL, is the child if it could not be ended because a file
 * system blocks it; else 0. Returns the result of run() or take(). On failure prints what failed
 * and which file the child waited for, and returns EX_OSERR. */
exit_status reader_do(const struct probe_reader *reader, pid_t *left);

/* Called in the child: sends up to PACKET_PAYLOAD bytes as result number, with fd unless it is
 * -1. Returns 0 or a negative errno. */
int reader_send(int socket, uint32_t number, const void *data, size_t size, int fd);

#endif
