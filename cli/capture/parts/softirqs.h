/* SPDX-License-Identifier: Apache-2.0 */
/* How late softirqs run. */
#ifndef PART_SOFTIRQS_H
#define PART_SOFTIRQS_H

#include "cli/capture/session/types.h"
#include "cli/model/sample.h"

struct session;

/* Adds how late softirqs ran in a window to the sample, if that is measured. Returns 0 or
 * -ENOMEM. */
int session_softirq_delays(const struct session *session, const struct session_view *view,
			   struct sample *sample);

#endif
