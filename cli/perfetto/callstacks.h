/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of a sample for Perfetto. Each stack is written once, when first needed, and so are its
 * frames and files. */
#ifndef CALLSTACKS_H
#define CALLSTACKS_H

#include <stdint.h>

#include "pftrace.h"

struct callstacks;

/* Collects the stacks of a sample's traces. Returns 0 or -ENOMEM; the caller frees them in
 * either case. */
int callstacks_find(struct callstacks **callstacks, const struct trace_list *traces);
void callstacks_free(struct callstacks *callstacks);

/* Number of the stack of one of these rows, which is written if it is new; not between
 * event_begin() and event_end(). 0: it has none, and none was asked for. */
uint64_t callstacks_number(struct callstacks *callstacks, struct pftrace *trace,
			   const struct trace_row *row);

#endif
