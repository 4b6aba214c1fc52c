// SPDX-License-Identifier: Apache-2.0
/* The text report's tests once more, with samples that were saved as JSON and read again:
 * the same golden files, and those of the JSON. */
#include "cli/text/text.h"
#include "replayed.h"

#define report_text(sample, ...) report_text(replayed_sample(sample), __VA_ARGS__)
#define golden_compare(out, name) replayed_compare(out, name)

#include "test_text.c"
