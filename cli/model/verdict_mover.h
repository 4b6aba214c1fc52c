/* SPDX-License-Identifier: Apache-2.0 */
/* Who moves the target's threads from CPU to CPU against the scheduler's choice. It keeps nobody
 * from running for a time that could be told, so it is no cause of the verdict. */
#ifndef VERDICT_MOVER_H
#define VERDICT_MOVER_H

#include "verdict.h"

/* Nobody is named who did so less often, in all and in a second. */
#define VERDICT_MOVES 3
#define VERDICT_MOVES_PER_SECOND 10

/* Who, not being of the target, moved its threads most often by sched_setaffinity, if that was
 * often, and how often: all of a name together, with a TID only if it was one thread. Returns 0 if
 * nobody did. */
uint64_t verdict_mover(const struct sample *sample, struct verdict_who *who);

#endif
