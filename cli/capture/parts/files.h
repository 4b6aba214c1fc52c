/* SPDX-License-Identifier: Apache-2.0 */
/* Waits at descriptors. */
#ifndef PART_FILES_H
#define PART_FILES_H

#include <stdbool.h>

#include "cli/capture/session/types.h"

struct session;

/* True if a thread slept at the window's end: KD_VISIT_WAITING counts that, too. */
bool session_files_pending(const struct session *session, const struct session_view *view);

/* Names the function of a wait channel that says most about what the sleep was for; "": unknown. */
void session_wchan_name(struct session *session, const struct kd_wchan *wchan,
			char name[static KD_FUNCTION_LEN]);

#endif
