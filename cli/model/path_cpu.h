/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording says of a CPU in some time, in pieces from its end to its beginning, without
 * holes. */
#ifndef PATH_CPU_H
#define PATH_CPU_H

#include <stdint.h>

#include "recording.h"

/* A piece that begins there, and ends where the one before it began. */
typedef void path_piece(void *context, uint64_t start, const void *what);

/* Which interrupt was handled, the innermost one of those that interrupt one another; what: a
 * struct recorded_irq, or NULL. */
void path_cpu_irqs(const struct recording *recording, uint32_t cpu, uint64_t start, uint64_t end,
		   path_piece *piece, void *context);

/* Who had it, as far as that was recorded; what: a struct recorded_run, or NULL. */
void path_cpu_runs(const struct recording *recording, uint32_t cpu, uint64_t start, uint64_t end,
		   path_piece *piece, void *context);

#endif
