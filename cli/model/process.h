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

/* No process has such a PID: the kernel's PID_MAX_LIMIT. */
#define PROCESS_KEYS (4 << 20)

/* One process, or several of a name that were folded because all have ended. Texts are as they
 * were found, not escaped; "" if unknown. */
struct process_row {
	pid_t pid;   /* of the first, if folded; from PROCESS_KEYS on a mere key of the row */
	pid_t first; /* the PID of a row that has a key while its window is open; else 0 */
	char name[KD_COMM_LEN];
	char title[PROCESS_TITLE]; /* the command line as ps shows it; of several: all have it */
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
struct verdict;

/* The row of a process, NULL if the sample has none. */
const struct process_row *process_find(const struct sample *sample, pid_t pid);

/* How many processes there are in all rows. */
uint64_t processes_count(const struct sample *sample);

/* Sorts the rows by PID. */
void processes_sort_rows(struct sample *sample);

/* The same, and makes one row of those of a name that have ended, if there are more
 * than SAMPLE_FOLD of them, and another one of those that have begun as well; their threads are of
 * that row then. Returns 0 or -ENOMEM. */
int processes_fold(struct sample *sample);

/* Names are the target's choice: those that the fewest processes have beyond so many rows in an
 * open window become this one, and their threads' names, too. */
#define PROCESS_ROWS 4096
#define PROCESS_OTHERS "(others)"

/* The same in a window that is still open, with processes and threads that have ended only. There a
 * PID may be used again, so each row gets a key in its place. Returns 0 or -ENOMEM. */
int processes_fold_open(struct sample *sample);

/* Gives rows their PIDs back when the window is closed, but for those whose PID another row has.
 * Returns 0 or -ENOMEM. */
int processes_restore(struct sample *sample);

/* Adds one sum to another; whose that is stays. */
void process_sum_add(struct process_sum *into, const struct process_sum *from);

/* Sums for each row of the sample's processes, which the caller frees, those first that were kept
 * from running for longest. The verdict is the sample's. Returns 0 or -ENOMEM. */
int processes_sum(const struct sample *sample, const struct verdict *verdict,
		  struct process_sum **sums);

#endif
