/* SPDX-License-Identifier: Apache-2.0 */
/* Which variables of the program the locks are that its threads waited for. */
#ifndef LOCK_PLACES_H
#define LOCK_PLACES_H

#include <stdbool.h>

#include "cli/base/signals.h"
#include "cli/model/sample.h"

struct lock_places;

/* Signals: see signals_wait(); they are not owned. Returns NULL without memory. */
struct lock_places *lock_places_new(struct signals *signals);

/* NULL is allowed. */
void lock_places_free(struct lock_places *places);

/* Completes the rows of locks of a finished sample. What a process has mapped is read by a child
 * of this one, which is given up if that takes too long: then nothing is known of it for a while.
 * Returns 0 or -ENOMEM. */
int lock_places_find(struct lock_places *places, struct sample *sample);

/* Whether that was given up: who reads the same has to wait, too. */
bool lock_places_gave_up(const struct lock_places *places);

#endif
