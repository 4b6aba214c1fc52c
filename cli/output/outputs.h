/* SPDX-License-Identifier: Apache-2.0 */
/* Where the reports of a run go, and in what forms. */
#ifndef OUTPUTS_H
#define OUTPUTS_H

#include <stdbool.h>
#include <time.h>

#include "../options.h"
#include "../sample.h"
#include "../trigger_stats.h"

struct outputs;

/* Opens what --output asks for, without it the text on standard output (unless
 * --quiet or --listen). Files that are there stay until something takes their place.
 * Returns 0, or after printing what failed an exit status. The caller ends it with
 * outputs_close(), also after an error. */
int outputs_open(struct outputs **outputs, const struct options *options);

/* All of the following write to every output that has them. They return 0, or after
 * printing what failed an exit status. */

int outputs_write(struct outputs *outputs, const struct sample *sample);

/* A line such as "# Start sampling" (text), see report_text_mark(). In files it is
 * kept until the sample follows. */
int outputs_mark(struct outputs *outputs, const char *what, uint64_t trigger,
		 const struct timespec *when);

/* A window that was too short (text), see report_text_skipped(). */
int outputs_skipped(struct outputs *outputs, uint64_t delta, const struct timespec *when);

/* At the end of a run what its triggers did (not in folded stacks), behind the last
 * sample or, in metrics, with it. */
int outputs_triggers(struct outputs *outputs, const struct trigger_stats *stats);

/* After the last one. Metrics are written to streams only now: they take one text. */
int outputs_finish(struct outputs *outputs);

/* Whether the operator gets the text. */
bool outputs_have_text(const struct outputs *outputs);

/* NULL is allowed. */
void outputs_close(struct outputs *outputs);

#endif
