/* SPDX-License-Identifier: Apache-2.0 */
/* Which process of a sample has a socket open, by /proc/PID/fd. */
#ifndef SOCKET_OWNERS_H
#define SOCKET_OWNERS_H

#include <stdint.h>
#include <sys/types.h>

#include "cli/model/sample.h"

struct socket_owner {
	uint64_t inode; /* of the socket */
	pid_t pid;
	int32_t fd;
};

struct socket_owners;

/* Of the processes in sample->usages, as they are now; of several that have one the first. The
 * caller frees it. Returns NULL without memory. */
struct socket_owners *socket_owners_new(const struct sample *sample);

/* NULL if none of them has it. */
const struct socket_owner *socket_owners_find(const struct socket_owners *owners, uint64_t inode);

/* NULL is allowed. */
void socket_owners_free(struct socket_owners *owners);

#endif
