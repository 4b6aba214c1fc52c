/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTML_RECORDED_H
#define HTML_RECORDED_H

#include <stdio.h>

#include "cli/model/sample.h"

/* Writes and flushes, as JSON, what the timeline shows of a sample's recording. It is the page's
 * own form, no promise: from_ns            where it begins, from the window's start on classes what
 * parts of merged pieces are kinds              what pieces are, as in -o json, with the state or
 * class and, of CPUs, who threads, cpus      lanes: tid, name, own; cpu; merged_ns, below which
 * states were merged; and of pieces, columns as in -o json: kind (-1: merged, or of none of those),
 * after, ns; and in parts [class, ns, ...] for each -1 left_out           how many lanes are
 * Returns 0 or a negative errno. */
int html_recorded(const struct sample *sample, FILE *out);

#endif
