/* SPDX-License-Identifier: Apache-2.0 */
/* A sample as a Perfetto trace: all data with a time. */
#ifndef PERFETTO_H
#define PERFETTO_H

#include <stdio.h>

#include "cli/model/report_options.h"
#include "cli/model/sample.h"

/* Writes and flushes the trace. Traces of several samples may be concatenated into one file, and
 * form a single trace. Returns 0 or a negative errno. */
int report_perfetto(const struct sample *sample, const struct report_options *options, FILE *out);

#endif
