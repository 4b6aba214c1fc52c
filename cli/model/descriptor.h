/* SPDX-License-Identifier: Apache-2.0 */
/* What the descriptors stood for at which threads waited. */
#ifndef DESCRIPTOR_H
#define DESCRIPTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"

struct columns;

#define DESCRIPTOR_PATH_LEN 256
#define DESCRIPTOR_ADDRESS_LEN 56 /* "[addr]:port" */

/* Texts are as the kernel has them, not escaped; "" is not known, or has none. */
struct descriptor {
	int32_t fd;     /* -1: all others together */
	uint64_t inode; /* in its file system; 0: of all others */
	/* Where its file or unix socket is; of one that has gone only the last component, behind
	 * "...". '@' begins an abstract unix socket. */
	char path[DESCRIPTOR_PATH_LEN];
	char device[KD_COMM_LEN + 16]; /* the disk that has it, or that it is: "vda1", */
	char device_number[16];        /* and its numbers: "254:1" */
	char protocol[12];             /* of a socket: "tcp", "udp", "unix", ... */
	char local[DESCRIPTOR_ADDRESS_LEN], peer[DESCRIPTOR_ADDRESS_LEN];
	uint32_t other_net; /* inode of its network namespace if that is not this program's */
};

/* What it stood for in words: "/tmp/fifo", "/home/file on vda1", "tcp 10.0.0.1:80 to
 * 10.0.0.2:4711"; "" if nothing is known. Not escaped. */
#define DESCRIPTOR_TEXT_LEN (DESCRIPTOR_PATH_LEN + 2 * DESCRIPTOR_ADDRESS_LEN + 64)
const char *descriptor_text(const struct descriptor *is, char text[static DESCRIPTOR_TEXT_LEN]);

/* Writes that, escaped; "-" if nothing is known. */
void descriptor_write(struct columns *columns, const struct descriptor *is);

#endif
