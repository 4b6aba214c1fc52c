/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what the flight recorder held of a window and of the time before it. */
#ifndef RECORDING_TAKE_H
#define RECORDING_TAKE_H

#include "cli/model/recording.h"
#include "session.h"

/* Reads the recording of a closed window before its release, with this many ns before it. The
 * caller clears and frees *recording; NULL without a recording. Returns 0 or a negative errno. */
int recording_take(struct session *session, const struct session_view *view, uint64_t before,
		   struct recording **recording);

#endif
