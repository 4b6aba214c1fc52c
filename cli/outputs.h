/* SPDX-License-Identifier: Apache-2.0 */
/* The files that samples are written to besides the report. */
#ifndef OUTPUTS_H
#define OUTPUTS_H

#include "options.h"
#include "sample.h"

struct outputs;

/* Creates the files of --output, or empties them. Returns 0, or after printing what
 * failed an exit status. The caller ends it with outputs_close(). */
int outputs_open(struct outputs **outputs, const struct options *options);

/* Writes a sample to each. Returns as above. */
int outputs_write(struct outputs *outputs, const struct sample *sample);

/* NULL is allowed. */
void outputs_close(struct outputs *outputs);

#endif
