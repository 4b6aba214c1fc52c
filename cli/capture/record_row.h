/* SPDX-License-Identifier: Apache-2.0 */
/* What a record says but for its stacks. */
#ifndef RECORD_ROW_H
#define RECORD_ROW_H

#include <stdint.h>

#include "bpf/kernel_delay.h"
#include "cli/model/traces.h"

/* Fills a row; times of the record count from the epoch, ns of CLOCK_MONOTONIC. */
void record_row_fill(struct trace_row *row, const struct kd_trace *trace, uint64_t epoch);

/* Sets the path of a row's call, as struct kd_trace has it; row->path is the caller's to free().
 * Returns 0 or -ENOMEM. */
int record_row_path(struct trace_row *row, const char *path, int64_t size);

/* Adds to a row what another one of its call says of that: its lock, and its path, which stays the
 * other's. */
void record_row_join(struct trace_row *row, const struct trace_row *call);

#endif
