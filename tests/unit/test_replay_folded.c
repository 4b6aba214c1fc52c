// SPDX-License-Identifier: Apache-2.0
/* The tests of folded stacks once more, with samples that were saved as JSON and read
 * again:
 * the same golden files, and those of the JSON. */
#include "cli/text/folded.h"
#include "replayed.h"

#define report_folded(sample, ...) report_folded(replayed_sample(sample), __VA_ARGS__)
#define golden_compare(out, name) replayed_compare(out, name)

#include "test_folded.c"
