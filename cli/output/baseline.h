/* SPDX-License-Identifier: Apache-2.0 */
/* Baseline (--compare): a saved capture to compare the current one with. */
#ifndef BASELINE_H
#define BASELINE_H

#include "cli/base/exit_status.h"
#include "cli/model/comparison.h"
#include "cli/model/sample.h"

struct baseline;

/* Opens the file, which is anybody's and is read when privileges are gone. path: as long as the
 * baseline. Returns 0, or an exit status after printing what failed. The caller calls
 * baseline_free() in either case. */
exit_status baseline_open(struct baseline **baseline, const char *path);

/* Reads its samples, once, to compare with samples of sample_time ns; 0: unknown. Returns as
 * above: EX_DATAERR if they are not comparable. */
exit_status baseline_read(struct baseline *baseline, uint64_t sample_time);

/* Adds a sample of the current capture. Returns as above. */
exit_status baseline_add(struct baseline *baseline, const struct sample *sample);

/* Compares both captures; the baseline owns *comparison. Returns as baseline_read(). */
exit_status baseline_compare(struct baseline *baseline, const struct comparison **comparison);

/* NULL is allowed. */
void baseline_free(struct baseline *baseline);

#endif
