/* SPDX-License-Identifier: Apache-2.0 */
/* How much the processes of the machine read from disks and wrote to them, and how much disks did.
 */
#ifndef DISK_USERS_H
#define DISK_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"

struct disk_user {
	pid_t pid;
	uint64_t bytes; /* so far */
};

struct disk_total {
	char name[KD_DISK_NAME]; /* as in /sys/class/block */
	uint64_t bytes;          /* so far */
};

struct disk_users {
	struct disk_user *users; /* by PID */
	size_t n_users, users_capacity;
	struct disk_total *disks;
	size_t n_disks, disks_capacity;
};

/* Reads all of them, into zeroed ones or anew. False if that would take too long, or fails: it has
 * nothing then. */
bool disk_users_read(struct disk_users *users);

/* Bytes so far; false if it is not there. */
bool disk_user_bytes(const struct disk_users *users, pid_t pid, uint64_t *bytes);
bool disk_total_bytes(const struct disk_users *users, const char *disk, uint64_t *bytes);

/* "vda1"; "254:1" if that is unknown. */
void disk_name(char name[static KD_DISK_NAME], unsigned int major, unsigned int minor);

/* The disk that a partition is of, or itself. */
void disk_whole(char disk[static KD_DISK_NAME], const char *device);

void disk_users_clear(struct disk_users *users);

#endif
