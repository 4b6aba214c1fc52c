/* SPDX-License-Identifier: Apache-2.0 */
/* Points in wall-clock time as the reports print them. */
#ifndef TIMESTAMP_H
#define TIMESTAMP_H

#include <time.h>

#define TIMESTAMP_LEN 96

/* Writes local time (of TZ) with microseconds and the time in UTC:
 * "2026-11-20T23:54:33.980769 (23:54:33 UTC)". A time that no calendar can
 * hold is written as seconds. */
void timestamp_format(char text[static TIMESTAMP_LEN], const struct timespec *when);

#endif
