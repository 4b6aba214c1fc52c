/* SPDX-License-Identifier: Apache-2.0 */
/* What threads and processes used: CPU time, memory, bytes by kind of descriptor, requests to
 * disks, and segments that TCP sent again. */
#ifndef RESOURCE_H
#define RESOURCE_H

#include "sample.h"

/* Resident memory of a process, bytes; 0: not known. */
struct memory {
	uint64_t start, end; /* of the window */
	uint64_t peak;       /* of its life until the end */
};

/* What one process used, or all that were folded. */
struct usage_row {
	pid_t pid;
	uint64_t process_start; /* as struct process_row: which process of this PID */
	uint64_t cpu_ns;        /* of its threads in the window */
	struct memory memory;
	struct io_row io[KD_IO_KINDS];
	uint64_t disk_requests, disk_bytes;
	uint64_t forks, execs; /* processes that it began, programs that it became */
	uint64_t rings;        /* calls of io_uring_enter, whose bytes are in none of this */
	uint64_t resent;       /* segments that TCP sent again */
};

/* A socket of the target that sent segments again. */
struct resent_row {
	pid_t pid;
	uint64_t count;
	struct descriptor is;
};

/* Makes a row for each process that a finished sample has threads of, by PID and start, without
 * memory.
 * Returns 0 or -ENOMEM. */
int usage_sum(struct sample *sample);

/* The row of the last process that had a PID, NULL if there is none. */
struct usage_row *usage_find(const struct sample *sample, pid_t pid);

/* Adds up rows, and those of all processes. */
struct usage_row usages_sum(const struct usage_row *rows, size_t n);
struct usage_row usage_total(const struct sample *sample);

#endif
