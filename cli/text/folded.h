/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks in the form that flamegraph.pl, inferno and speedscope read. */
#ifndef FOLDED_H
#define FOLDED_H

#include <stdio.h>

#include "cli/model/report_options.h"
#include "cli/model/sample.h"

/* Writes and flushes a line for each different stack of a sample: frames separated
 * by ';', a space, nanoseconds. The first frame is the thread's name, with its TID if
 * options say so (waits_per_thread); the second, if
 * more than one kind was asked for, the kind; then user and kernel frames, the
 * outermost first, those of the kernel with "_[k]". No frame has a ';' or white
 * space. The lines of several samples may follow one another in a file: readers add
 * up those that are alike. Returns 0 or a negative errno. */
int report_folded(const struct sample *sample, const struct report_options *options, FILE *out);

#endif
