/* SPDX-License-Identifier: Apache-2.0 */
/* A recording from the rings of the flight recorder. */
#ifndef RECORDING_TAKE_H
#define RECORDING_TAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/capture/session/types.h"

struct recording;

/* True if waiting does not make the recording longer, as its memory is full. */
bool recording_is_full(struct session *session);

/* Reads the recording of a closed window, and this many ns before it, before the window's release.
 * The caller clears and frees *recording, which is NULL without one. Returns 0 or a negative
 * errno. */
int recording_take(struct session *session, const struct session_view *view, uint64_t before,
		   struct recording **recording);

#endif
