/* SPDX-License-Identifier: Apache-2.0 */
/* Folding: similar processes and threads share a row once there are many. */
#ifndef FOLD_H
#define FOLD_H

#include "sample.h"

/* Sorts a sample and folds it. Calls and interrupts of a thread go by total, threads by process,
 * name and TID. Ended processes are folded by name where there are more than SAMPLE_FOLD. Within
 * a process, ended threads are folded by name; silent ones by name and state where there are
 * more than SAMPLE_FOLD. Sorts the traces. Returns 0 or -ENOMEM. */
int sample_finish(struct sample *sample);
#define SAMPLE_FOLD 4

/* Limit on rows of an open window, since the target chooses its names. Beyond it, the names with
 * the fewest processes, and their threads' names, become PROCESS_OTHERS. */
#define PROCESS_ROWS 4096
#define PROCESS_OTHERS "(others)"

/* Folds an open window: only processes and threads that have ended. Returns 0 or -ENOMEM. */
int processes_fold_open(struct sample *sample);

#endif
