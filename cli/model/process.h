/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a target that is more than one, and what each had of the window. */
#ifndef PROCESS_H
#define PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"

#define PROCESS_TITLE 256
#define PROCESS_LABEL 128 /* names of containers, images and pods; their IDs have 64 */

/* One process, or several of a name that were folded because all have ended. Texts are as they
 * were found, not escaped; "" if unknown. A PID may be used again within a window: which process
 * it is, PID and start say together. */
struct process_row {
	pid_t pid; /* of the first, if folded, */
	uint64_t
		start; /* and since when it is of the target, CLOCK_MONOTONIC ns; 0: all the time */
	char name[KD_COMM_LEN];
	char title[PROCESS_TITLE]; /* argv[0], or what the program wrote there; of several: all have
				      it */
	char container[PROCESS_LABEL]; /* its name, else its ID */
	char image[PROCESS_LABEL];
	char pod[PROCESS_LABEL];
	bool began, ended;    /* inside the window; of several: all of them */
	unsigned int members; /* processes in this row; 0 is as good as 1 */
};

/* What its threads had, in sum. */
struct process_sum {
	const struct process_row *process; /* the sample's */
	uint64_t threads;
	uint64_t life, running, stolen, ready, throttled, blocked, stopped,
		frozen;                 /* ns, as in the ledger */
	uint64_t busy, kept;            /* as in struct verdict_thread */
	const struct thread_row *worst; /* the one that was kept from running for longest */
	uint64_t worst_kept;
};

struct sample;
struct thread_row;
struct verdict;

/* The row of the process that had a PID at a time (CLOCK_MONOTONIC ns), NULL if the sample has
 * none. */
const struct process_row *process_at(const struct sample *sample, pid_t pid, uint64_t at);

/* The row of a thread's process, NULL if the sample has none. */
const struct process_row *process_of(const struct sample *sample, const struct thread_row *thread);

/* The order of two threads' processes, as strcmp(). */
int process_compare(const struct thread_row *a, const struct thread_row *b);

/* How many processes there are in all rows. */
uint64_t processes_count(const struct sample *sample);

/* Sorts the rows by PID, then by start. */
void processes_sort_rows(struct sample *sample);

/* The same, and makes one row of those of a name that have ended, if there are more
 * than SAMPLE_FOLD of them, and another one of those that have begun as well; their threads are of
 * that row then. Returns 0 or -ENOMEM. */
int processes_fold(struct sample *sample);

/* Names are the target's choice: those that the fewest processes have beyond so many rows in an
 * open window become this one, and their threads' names, too. */
#define PROCESS_ROWS 4096
#define PROCESS_OTHERS "(others)"

/* The same in a window that is still open, with processes and threads that have ended only.
 * Returns 0 or -ENOMEM. */
int processes_fold_open(struct sample *sample);

/* Adds one sum to another; whose that is stays. */
void process_sum_add(struct process_sum *into, const struct process_sum *from);

/* Sums for each row of the sample's processes, which the caller frees, those first that were kept
 * from running for longest. The verdict is the sample's. Returns 0 or -ENOMEM. */
int processes_sum(const struct sample *sample, const struct verdict *verdict,
		  struct process_sum **sums);

#endif
