/* SPDX-License-Identifier: Apache-2.0 */
/* What limits and freezers of control groups took from threads that slept. */
#ifndef VERDICT_LIMITS_H
#define VERDICT_LIMITS_H

#include "thread_row.h"
#include "verdict_row.h"

/* The culprit that is a control group; a long path keeps its end, and need not end in a NUL. "":
 * unknown. */
struct verdict_who limit_who(const char group[CULPRIT_GROUP_LEN]);

/* True if waits for a disk, ns in all, are the doing of a limit of the threads' group. */
bool limit_holds_disk(const struct sample *sample, const struct descriptor_row *row, uint64_t ns);

/* Time in which a thread slept because its group was frozen, which it did not notice: it was to
 * wake up earlier, or slept all the time. */
uint64_t limit_frozen_asleep(const struct sample *sample, const struct thread_row *thread);

#endif
