/* SPDX-License-Identifier: Apache-2.0 */
/* Points in wall-clock time as the reports print them. */
#ifndef TIMESTAMP_H
#define TIMESTAMP_H

#include <stdbool.h>
#include <time.h>

#define TIMESTAMP_LEN 96

/* Writes local time (of TZ) with microseconds and the time in UTC:
 * "2026-11-20T23:54:33.980769 (23:54:33 UTC)". A time that no calendar can
 * hold is written as seconds. */
void timestamp_format(char text[static TIMESTAMP_LEN], const struct timespec *when);

/* Read a date, 2026-11-21, or a time of day, 15:04:05 or 15:04:05.25, at the text's beginning into
 * the members of *tm that are about it, and the fraction into *ns. They move *text behind it, or
 * return false if there is none. Whether a month has that day is not looked at. */
bool timestamp_date(const char **text, struct tm *tm);
bool timestamp_clock(const char **text, struct tm *tm, long *ns);

#endif
