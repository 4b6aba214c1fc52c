/* SPDX-License-Identifier: Apache-2.0 */
/* When to begin: at a wall clock time, or at multiples of a period, which are the same on all
 * machines with synchronized clocks. */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: at once. */
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
