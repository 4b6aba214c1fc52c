/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of control groups in words. */
#ifndef TEXT_LIMITS_H
#define TEXT_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/model/sample.h"
#include "cli/model/verdict_row.h"

/* "8.0 MiB". Returns text. */
#define TEXT_BYTES_LEN 32
const char *text_bytes(char text[static TEXT_BYTES_LEN], uint64_t bytes);

/* "vda: reads 2.1 MB/s", "vda: 120 writes/s". The kind is a known one. Returns text. */
#define TEXT_LIMIT_LEN 64
const char *text_disk_limit(char text[static TEXT_LIMIT_LEN], const struct disk_limit *limit);

/* True if a row of the verdict is the doing of a group's memory limit. */
bool text_limit_is_memory(const struct verdict_row *row);

/* True if a row of the verdict is the doing of a quota that others than the target used up. */
bool text_quota_of_others(const struct sample *sample, const struct verdict_row *row);

/* The limit of a row, and what it allows: "/pods/web (20 ms per 100 ms)", "/pods/web (vda: 20
 * reads/s)", " of 5 ms per 20 ms", "the memory limit of the group /pods/web (8.0 MiB)"; "":
 * unknown. Returns false if the row is of no limit. */
bool text_limit(char *who, size_t size, const struct sample *sample, const struct verdict_row *row);

#endif
