/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks for flamegraph.pl, inferno and speedscope. */
#ifndef FOLDED_H
#define FOLDED_H

#include <stdio.h>

#include "cli/model/report_options.h"
#include "cli/model/sample.h"

/* Writes one line per distinct stack of a sample, then flushes: frames separated by ';', a
 * space, nanoseconds. The first frame is the thread's name, with its TID if waits_per_thread is
 * set. The second is the kind, if more than one was asked for. User and kernel frames follow,
 * outermost first; kernel frames end in "_[k]". Frames contain no ';' and no white space. A file
 * may hold several samples: readers add up equal lines. Returns 0 or a negative errno. */
int report_folded(const struct sample *sample, const struct report_options *options, FILE *out);

#endif
