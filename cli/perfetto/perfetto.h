/* SPDX-License-Identifier: Apache-2.0 */
/* A sample as a trace of Perfetto: what of it has a time. */
#ifndef PERFETTO_H
#define PERFETTO_H

#include <stdio.h>

#include "cli/model/report_options.h"
#include "cli/model/sample.h"

/* Writes and flushes it. The traces of several samples may follow one another in a file, and are
 * one trace then. Returns 0 or a negative errno. */
int report_perfetto(const struct sample *sample, const struct report_options *options, FILE *out);

#endif
