/* SPDX-License-Identifier: Apache-2.0 */
/* What the flight recorder held of a window and of the time before it. */
#ifndef RECORDING_TAKE_H
#define RECORDING_TAKE_H

#include "cli/model/recording.h"
#include "session.h"

/* Reads the recording of a closed window, before that is released, with so many ns before it.
 * *recording becomes the caller's to clear and free(); NULL where nothing is recorded. Returns 0 or
 * a negative errno. */
int recording_take(struct session *session, const struct session_view *view, uint64_t before,
		   struct recording **recording);

#endif
