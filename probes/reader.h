/* SPDX-License-Identifier: Apache-2.0 */
/* Does in a process of its own what reads the files of a target: whoever made the target chose what
 * is in them, and a file system that does not answer would keep this process for ever. */
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
	/* In that process, which may open and read files, and do nothing else (SANDBOX_OPENS). What
	 * it prints by log.h is printed here when it ends. Returns an exit status. */
	exit_status (*run)(void *context, int socket);
	/* In that process, before the sandbox. NULL: nothing is to be done. */
	void (*prepare)(void *context);
	/* In this process, for each packet of reader_send(), which is not to be trusted. Its file
	 * is taken over. Returns 0, or an exit status to end. */
	exit_status (*take)(void *context, struct packet *packet);
	void *context;
	struct signals *signals; /* see signals_wait() */
	uint64_t limit;          /* ns, of all of it; 0: the usual one */
	bool quiet;              /* what fails is not printed */
};

/* Does it. *left, unless NULL, is the process if it could not be ended: a file system keeps it;
 * else 0. Returns what run() or take() returned; or, after printing what failed and which file it
 * waited for, EX_OSERR. */
exit_status reader_do(const struct probe_reader *reader, pid_t *left);

/* In that process: hands over some bytes, PACKET_PAYLOAD at most, as result number, with fd
 * unless it is -1. Returns 0 or a negative errno. */
int reader_send(int socket, uint32_t number, const void *data, size_t size, int fd);

#endif
