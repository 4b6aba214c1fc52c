/* SPDX-License-Identifier: Apache-2.0 */
/* Files and sockets behind the descriptors that threads waited at. */
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

/* Texts are raw, not escaped; "": none, or unknown. */
struct descriptor {
	int32_t fd;     /* -1: all others */
	uint64_t inode; /* in its file system; 0: all others */
	/* Path of the file or unix socket. A deleted one has only its last component, behind
	 * "...". A leading '@' marks an abstract unix socket. */
	char path[DESCRIPTOR_PATH_LEN];
	char device[KD_COMM_LEN + 16]; /* its disk, or the disk it is: "vda1", */
	char device_number[16];        /* and the device numbers: "254:1" */
	char protocol[12];             /* socket: "tcp", "udp", "unix", ... */
	char local[DESCRIPTOR_ADDRESS_LEN], peer[DESCRIPTOR_ADDRESS_LEN];
	uint32_t other_net; /* inode of its network namespace, if not this program's */
};

/* Describes it: "/tmp/fifo", "/home/file on vda1", "tcp 10.0.0.1:80 to 10.0.0.2:4711"; "" if
 * unknown. Not escaped. */
#define DESCRIPTOR_TEXT_LEN (DESCRIPTOR_PATH_LEN + 2 * DESCRIPTOR_ADDRESS_LEN + 64)
const char *descriptor_text(const struct descriptor *is, char text[static DESCRIPTOR_TEXT_LEN]);

/* Writes the description, escaped; "-" if unknown. */
void descriptor_write(struct columns *columns, const struct descriptor *is);

#endif
