/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording has of CPUs: who ran there, and interrupts. Of threads of the target that is
 * all, of others what ran while those waited. */
#ifndef CPUS_H
#define CPUS_H

#include "pftrace.h"

/* Writes a track for each CPU of which something was recorded. Returns 0 or -ENOMEM. */
int cpus_write(struct pftrace *trace);

#endif
