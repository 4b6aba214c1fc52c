/* SPDX-License-Identifier: Apache-2.0 */
/* Watching what the triggers' probes take from the threads that hit them. */
#ifndef OVERHEAD_H
#define OVERHEAD_H

#include <stdint.h>
#include <sys/types.h>

#include "session.h"

struct overhead;

/* Watches for more than a share of a thread's time, in percent; 0: for nothing.
 * Returns NULL without memory. The session must outlive it. */
struct overhead *overhead_new(struct session *session, uint64_t percent);
void overhead_free(struct overhead *overhead);

/* To be called often; looks every 100 ms. Returns the share that the worst thread
 * lost since the last look, in percent, if that was too much, and sets *tid, or
 * to 0 if it was those of other processes; else 0. */
uint64_t overhead_check(struct overhead *overhead, pid_t *tid);

#endif
