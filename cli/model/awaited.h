/* SPDX-License-Identifier: Apache-2.0 */
/* What threads waited for: descriptors, with the files and sockets behind them, and locks, with the
 * functions that waited for one, and what its holder did meanwhile. */
#ifndef AWAITED_H
#define AWAITED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"
#include "cli/stack/stack_copy.h"

/* --- Descriptors --- */

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
	char device[KD_DISK_NAME]; /* its disk, or the disk it is: "vda1", */
	char device_number[16];    /* and the device numbers: "254:1" */
	char protocol[12];         /* socket: "tcp", "udp", "unix", ... */
	char local[DESCRIPTOR_ADDRESS_LEN], peer[DESCRIPTOR_ADDRESS_LEN];
	uint32_t other_net; /* inode of its network namespace, if not this program's */
};

/* Describes it: "/tmp/fifo", "/home/file on vda1", "tcp 10.0.0.1:80 to 10.0.0.2:4711"; "" if
 * unknown. Not escaped. */
#define DESCRIPTOR_TEXT_LEN (DESCRIPTOR_PATH_LEN + 2 * DESCRIPTOR_ADDRESS_LEN + 64)
const char *descriptor_text(const struct descriptor *is, char text[static DESCRIPTOR_TEXT_LEN]);

/* Writes the description, escaped; "-" if unknown. */
void descriptor_write(struct columns *columns, const struct descriptor *is);

/* Writes an address, "10.0.0.1:80" or "[::1]:80", from what AF_INET or AF_INET6 has in network
 * order, and a port. */
void address_text(char text[static DESCRIPTOR_ADDRESS_LEN], int family, const void *address,
		  uint16_t port);

/* --- Locks --- */

#define LOCK_CALLER_LEN 256

/* True for a function of the C library and the like, by its object or its name. */
bool frame_is_of_library(const struct frame *frame);

/* Innermost functions of a stack, without those of the C library and the like that only pass the
 * wait on: "mutex_take+0x1b < serve+0x58 [server]". Not escaped; "" without such functions or
 * without a stack (NULL). */
void lock_caller_text(const struct stack *stack, char text[static LOCK_CALLER_LEN]);

/* Cuts the times down to a wait of ns. The holder went on after the wait; since it is unknown
 * what that time was, the largest states lose it. */
void activity_limit(struct kd_activity *activity, uint64_t ns);

#endif
