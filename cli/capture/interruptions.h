/* SPDX-License-Identifier: Apache-2.0 */
/* From the parts that the session's ring has to the interruptions of a sample. */
#ifndef INTERRUPTIONS_H
#define INTERRUPTIONS_H

#include <stdint.h>

#include "cli/model/sample.h"
#include "session.h"

struct interruptions;

/* threshold: those that last less, in ns, are counted and not listed. Returns NULL without
 * memory. The session must outlive it. */
struct interruptions *interruptions_new(struct session *session, uint64_t threshold);

/* NULL is allowed. */
void interruptions_free(struct interruptions *interruptions);

/* Reads the ring; to be called every few ten milliseconds. NULL: nothing to do. Returns 0 or a
 * negative errno. */
int interruptions_drain(struct interruptions *interruptions);

/* Gives a sample, whose threads have been read, the interruptions that ended in its window, and
 * those that were going on at its end. NULL: none were wanted. Returns 0 or a negative errno. */
int interruptions_collect(struct interruptions *interruptions, const struct session_view *view,
			  struct sample *sample);

#endif
