/* SPDX-License-Identifier: Apache-2.0 */
/* --compare: a capture that was saved before, and the present one beside it. */
#ifndef BASELINE_H
#define BASELINE_H

#include "cli/base/exit_status.h"
#include "cli/model/comparison.h"
#include "cli/model/sample.h"

struct baseline;

/* Reads the samples of a file, to be compared with samples of so many ns; 0: that is not known.
 * Returns 0, or after printing what failed an exit status: EX_DATAERR if they cannot be compared.
 * The caller ends it with baseline_free(), also after an error. */
exit_status baseline_read(struct baseline **baseline, const char *path, uint64_t sample_time);

/* Adds a sample of the present capture. Returns as above. */
exit_status baseline_add(struct baseline *baseline, const struct sample *sample);

/* Compares both; *comparison is the baseline's. Returns as baseline_read(). */
exit_status baseline_compare(struct baseline *baseline, const struct comparison **comparison);

/* NULL is allowed. */
void baseline_free(struct baseline *baseline);

#endif
