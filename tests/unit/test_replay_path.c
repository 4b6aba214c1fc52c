// SPDX-License-Identifier: Apache-2.0
/* The table of the critical path once more, with samples that were saved as JSON and read again. */
#include "cli/text/text.h"
#include "replayed.h"

#define report_text(sample, ...) report_text(replayed_sample(sample), __VA_ARGS__)
#define golden_compare(out, name) replayed_compare(out, name)

#include "test_text_path.c"
