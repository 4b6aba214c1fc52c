/* SPDX-License-Identifier: Apache-2.0 */
/* The stacks of a sample as Perfetto has them: each is written once, where it is first needed, and
 * so are its frames and files. */
#ifndef CALLSTACKS_H
#define CALLSTACKS_H

#include <stdint.h>

#include "pftrace.h"

struct callstacks;

/* Finds those of a sample's traces. Returns 0 or -ENOMEM; the caller releases them in any case. */
int callstacks_find(struct callstacks **callstacks, const struct trace_list *traces);
void callstacks_free(struct callstacks *callstacks);

/* The number of the stack of a row of these traces, which is written if it has not been; not
 * between event_begin() and event_end(). 0: it has none, and none was asked for. */
uint64_t callstacks_number(struct callstacks *callstacks, struct pftrace *trace,
			   const struct trace_row *row);

#endif
