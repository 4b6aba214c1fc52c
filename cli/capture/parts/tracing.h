/* SPDX-License-Identifier: Apache-2.0 */
/* Traces. */
#ifndef PART_TRACING_H
#define PART_TRACING_H

#include <stdint.h>

#include "bpf/kernel_delay.h"

struct tracing;

/* Records traces of system calls in progress. Returns 0 or a negative errno. */
int tracing_visit(struct tracing *tracing);

/* Returns how many code mappings did not fit into the ring since the last call. */
uint64_t tracing_maps_lost(struct tracing *tracing);

/* Caches a user stack for the programs by the hash of its shape and values, so that they copy
 * no equal one. stack: stands for it in records. */
void tracing_cache_stack(const struct tracing *tracing, const struct kd_shape *shape, uint64_t hash,
			 uint64_t stack, uint64_t mapped_at);

#endif
