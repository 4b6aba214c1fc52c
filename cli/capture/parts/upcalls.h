/* SPDX-License-Identifier: Apache-2.0 */
/* Upcalls of openvswitch. */
#ifndef PART_UPCALLS_H
#define PART_UPCALLS_H

#include "cli/capture/session/types.h"
#include "cli/model/sample.h"

struct session;

/* Adds the upcalls of openvswitch in a window to the sample. Returns 0 or -ENOMEM. */
int session_upcalls(const struct session *session, const struct session_view *view,
		    struct sample *sample);

#endif
