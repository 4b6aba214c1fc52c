/* SPDX-License-Identifier: Apache-2.0 */
/* Who moved a thread to other CPUs. */
#ifndef MOVER_H
#define MOVER_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"

/* A row of a thread: how often it had to leave a CPU as this one had called sched_setaffinity. The
 * rest of its affinity_migrations has no caller that is known. */
struct mover_row {
	int32_t tid, pid;       /* 0: all others together */
	char name[KD_COMM_LEN]; /* as the kernel has it, not escaped */
	uint64_t count;
};

/* Adds to the row of the same one, or a new row; to that of the others if there are MOVERS_MOST.
 * Returns 0 or -ENOMEM. */
int movers_add(struct mover_row **rows, size_t *n, const struct mover_row *mover);
#define MOVERS_MOST 16

/* Adds all of these. Returns as above. */
int movers_merge(struct mover_row **rows, size_t *n, const struct mover_row *from, size_t n_from);

/* Sorts by descending count. */
void movers_sort(struct mover_row *rows, size_t n);

#endif
