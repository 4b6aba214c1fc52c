/* SPDX-License-Identifier: Apache-2.0 */
/* Tells when there may be a process of some name that was not there before: from the
 * kernel's process connector, else by looking through /proc now and then. */
#ifndef APPEAR_H
#define APPEAR_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"

#define APPEAR_SHARE 200 /* looking through /proc takes at most one of so many parts of a CPU */

/* The fields are its own business. */
struct appear {
	char name[KD_COMM_LEN];
	int fd;        /* of the connector; -1: there is none */
	uint64_t next; /* look through /proc then, ns of CLOCK_MONOTONIC */
};

/* From now on processes of this name are noticed. */
void appear_open(struct appear *appear, const char *name);

/* True if there may be a new one since the last call, or there is one at the first. Does not
 * wait. */
bool appear_look(struct appear *appear);

/* Becomes readable when appear_look() should be called at once; -1: nothing does. */
int appear_fd(const struct appear *appear);

/* Waits until that may be worth calling, at most for so long (ns). */
void appear_wait(const struct appear *appear, uint64_t ns);

void appear_close(struct appear *appear);

#endif
