/* SPDX-License-Identifier: Apache-2.0 */
/* What of a sample shares a row: processes and threads that are alike, once there are many. */
#ifndef FOLD_H
#define FOLD_H

#include "sample.h"

/* Sorts the calls and interrupts of each thread by total and the threads by
 * process, name and TID; folds processes that ended by name where there are more than
 * SAMPLE_FOLD of them, and of each process threads that ended by name, and silent threads by
 * name and state where there are more than SAMPLE_FOLD of them; sorts the traces. Returns 0 or
 * -ENOMEM. */
int sample_finish(struct sample *sample);
#define SAMPLE_FOLD 4

/* Names are the target's choice: those that the fewest processes have beyond so many rows in an
 * open window become this one, and their threads' names, too. */
#define PROCESS_ROWS 4096
#define PROCESS_OTHERS "(others)"

/* The same in a window that is still open, with processes and threads that have ended only.
 * Returns 0 or -ENOMEM. */
int processes_fold_open(struct sample *sample);

#endif
