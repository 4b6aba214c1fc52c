/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of this program to try probes on. */
#ifndef SELF_PROBE_H
#define SELF_PROBE_H

#include "sites.h"

#define SELF_PROBE_COPIES 3

typedef void self_probe_fn(void);

/* Returns a function that begins with such an instruction and does nothing; each has several
 * copies. */
self_probe_fn *self_probe(enum instruction_class instruction, unsigned int copy);

/* Opens the file with these functions. Returns a descriptor, which the caller closes, or a
 * negative errno. */
int self_probe_open(void);

/* Finds a function's site in that file. Returns 0 or a negative errno. */
int self_probe_find(self_probe_fn *function, int file, struct site *site);

#endif
