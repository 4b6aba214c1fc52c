/* SPDX-License-Identifier: Apache-2.0 */
/* The ring of traces. */
#ifndef SESSION_TRACING_H
#define SESSION_TRACING_H

#include <stdint.h>

#include "session_types.h"

struct tracing;

/* Of a record; size says where it ends, see struct kd_trace. Returns 0, or a negative
 * errno, which ends the walk. */
typedef int trace_fn(void *context, const struct kd_trace *trace, size_t size);

/* Becomes readable when traces should be read at once. -1 if there are none. */
int tracing_fd(const struct tracing *tracing);

/* Calls found() for each record since the last call; times count from the epoch. Returns
 * 0 or a negative errno, which may be found()'s. */
int tracing_read(struct tracing *tracing, trace_fn *found, void *context);

/* Leaves traces of the system calls that are in progress. Returns 0 or a negative
 * errno. */
int tracing_visit(struct tracing *tracing);

/* Mappings of code for which there was no room in the ring, since the last call. */
uint64_t tracing_maps_lost(struct tracing *tracing);

/* Makes a user stack known, by the hash of its shape and values: copies that would be the
 * same are not made. stack: what records will call it. */
void tracing_known(const struct tracing *tracing, const struct kd_shape *shape, uint64_t hash,
		   uint64_t stack, uint64_t mapped_at);

#endif
