/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path of a window as a track: a slice for each row. */
#ifndef PATH_SLICES_H
#define PATH_SLICES_H

#include "pftrace.h"

/* Nothing, if there is no path. */
void path_slices_write(struct pftrace *trace);

#endif
