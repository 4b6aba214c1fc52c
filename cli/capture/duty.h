/* SPDX-License-Identifier: Apache-2.0 */
/* Keeping what the triggers' probes cost below a limit: they are on for a part of the
 * time. */
#ifndef DUTY_H
#define DUTY_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/base/exit_status.h"
#include "cli/model/trigger_stats.h"
#include "overhead.h"
#include "session.h"

struct duty;

/* For probes that are on now. The session and the overhead must outlive it. Returns
 * NULL without memory. */
struct duty *duty_new(struct session *session, struct overhead *overhead);
void duty_free(struct duty *duty);

/* To be called often. looked: the overhead has been looked at since the last call. drop: windows
 * that are open when the probes are taken out are to be dropped, as their stop may come meanwhile.
 * Returns 0, or after printing what failed an exit status. */
exit_status duty_tick(struct duty *duty, bool looked, bool drop);

/* True if hits count now. */
bool duty_is_on(const struct duty *duty);

/* Fills in how long the probes have been off. */
void duty_tell(const struct duty *duty, struct trigger_stats *stats);

#endif
