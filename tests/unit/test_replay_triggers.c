// SPDX-License-Identifier: Apache-2.0
/* The tests of what triggers did once more, with statistics that were saved as JSON and
 * read again:
 * the same golden files, and those of the JSON. */
#include "cli/text/text.h"
#include "cli/text/text_triggers.h"
#include "replayed.h"

#define report_text(sample, ...) report_text(replayed_sample(sample), __VA_ARGS__)
#define report_text_triggers(stats, ...) report_text_triggers(replayed_triggers(stats), __VA_ARGS__)
#define golden_compare(out, name) replayed_compare(out, name)

#include "test_text_triggers.c"
