/* SPDX-License-Identifier: Apache-2.0 */
/* What the program that counts upcalls of openvswitch has counted. */
#ifndef SESSION_UPCALLS_H
#define SESSION_UPCALLS_H

#include "session.h"

struct kernel_delay;

/* See session_upcalls(). */
int upcalls_read(const struct kernel_delay *skel, const struct session_view *view,
		 struct sample *sample);

#endif
