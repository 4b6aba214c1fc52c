/* SPDX-License-Identifier: Apache-2.0 */
/* System calls that found no entry in their thread's table. Part of the session. */
#ifndef SESSION_OVERFLOW_H
#define SESSION_OVERFLOW_H

#include "session.h"

struct kernel_delay;

/* As session_overflow(). */
int overflow_read(const struct kernel_delay *skel, session_overflow_fn *found, void *context);

#endif
