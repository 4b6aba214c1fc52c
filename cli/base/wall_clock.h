/* SPDX-License-Identifier: Apache-2.0 */
/* Wall clock times: in reports, and when to begin. */
#ifndef WALL_CLOCK_H
#define WALL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* --- In reports --- */

#define TIMESTAMP_LEN 96

/* Writes local time (TZ) with microseconds, and UTC: "2026-11-20T23:54:33.980769 (23:54:33
 * UTC)". A time beyond any calendar is written as seconds. */
void timestamp_format(char text[static TIMESTAMP_LEN], const struct timespec *when);

/* Parse a leading date, 2026-11-21, or time of day, 15:04:05 or 15:04:05.25, into members of
 * *tm, and the fraction into *ns. Advance *text, or return false without one. The day is not
 * checked against the month. */
bool timestamp_date(const char **text, struct tm *tm);
bool timestamp_clock(const char **text, struct tm *tm, long *ns);

/* --- When to begin --- */

/* At a wall clock time, or at multiples of a period, which are the same on all machines with
 * synchronized clocks. Zeroed: at once. */
struct schedule {
	uint64_t ns;   /* since 1970; or the period */
	bool periodic; /* at each multiple since 1970 */
};

/* Parses one of
 *   14:30, 14:30:05[.FRACTION]       local time: the next such moment, today or tomorrow
 *   2026-11-21T14:30[:05[.FRACTION]] local time, or with Z or +HH:MM appended
 *   +5s                              this long after now
 *   /10s                             a period, a duration of at least 1 ms
 * now is in ns since 1970. Returns 0; -EINVAL if it is none of these; -ETIME if it is in the past;
 * -EDOM if a duration has no unit; -ERANGE if it, or a period, is too short or too long (10 years).
 * Sets *schedule only on success. */
int schedule_parse(const char *text, uint64_t now, struct schedule *schedule);

/* First such moment not before from, ns since 1970; 0: none. */
uint64_t schedule_next(const struct schedule *schedule, uint64_t from);

#endif
