/* SPDX-License-Identifier: Apache-2.0 */
/* Resources of threads and processes: CPU time, memory, bytes by kind of descriptor, disk
 * requests, and TCP retransmissions. */
#ifndef RESOURCE_H
#define RESOURCE_H

#include "field.h"
#include "sample.h"

/* Resident memory of a process, bytes; 0: unknown. */
struct memory {
	uint64_t start, end; /* of the window */
	uint64_t peak;       /* since the process began, up to the end */
};

/* Usage of one process, or of all that were folded. */
struct usage_row {
	pid_t pid;
	uint64_t process_start; /* as in struct process_row */
	uint64_t cpu_ns;        /* of all threads, in the window */
	struct memory memory;
	struct io_row io[KD_IO_KINDS];
	uint64_t disk_requests, disk_bytes;
	uint64_t forks, execs; /* children it started, programs it executed */
	uint64_t rings;        /* calls of io_uring_enter; their bytes are not in io */
	uint64_t resent;       /* TCP segments retransmitted */
};

/* For their sums, which need no memory, and their JSON. */
extern const struct field usage_fields[];

/* A target socket that retransmitted. */
struct resent_row {
	pid_t pid;
	uint64_t count;
	struct descriptor is;
};

/* Makes a row for each process with threads in a finished sample, by PID and start; without
 * memory. Returns 0 or -ENOMEM. */
int usage_sum(struct sample *sample);

/* Last process with a PID, NULL: none. */
struct usage_row *usage_find(const struct sample *sample, pid_t pid);

/* Adds up rows, or all rows of a sample. */
struct usage_row usages_sum(const struct usage_row *rows, size_t n);
struct usage_row usage_total(const struct sample *sample);

#endif
