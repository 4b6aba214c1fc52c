/* SPDX-License-Identifier: Apache-2.0 */
/* Interruptions of threads. */
#ifndef INTERRUPTIONS_H
#define INTERRUPTIONS_H

#include <stdint.h>

#include "cli/capture/session/types.h"
#include "cli/model/sample.h"

struct interruptions;

/* threshold: shorter ones, in ns, are counted but not listed. Returns NULL without memory. The
 * session must outlive it. */
struct interruptions *interruptions_new(struct session *session, uint64_t threshold);

/* NULL is allowed. */
void interruptions_free(struct interruptions *interruptions);

/* Reads the ring; call it every few tens of milliseconds. NULL: nothing to do. Returns 0 or a
 * negative errno. */
int interruptions_drain(struct interruptions *interruptions);

/* Adds interruptions to a sample whose threads have been read: those that ended in its window,
 * and those going on at its end. NULL: none wanted. Returns 0 or a negative errno. */
int interruptions_collect(struct interruptions *interruptions, const struct session_view *view,
			  struct sample *sample);

#endif
