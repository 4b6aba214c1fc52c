/* SPDX-License-Identifier: Apache-2.0 */
/* A function of this program, to try probes on. */
#ifndef SELF_PROBE_H
#define SELF_PROBE_H

#include "resolve.h"

/* The function. */
void self_probe_call(void);

/* Where it is. Returns 0 and the place, whose file the caller closes, or a negative
 * errno. */
int self_probe_find(struct place *place);

#endif
