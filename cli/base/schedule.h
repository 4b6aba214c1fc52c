/* SPDX-License-Identifier: Apache-2.0 */
/* When something is to begin: at a time of the wall clock, or at multiples of a period, which are
 * the same on all machines whose clocks agree. */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: at once. */
struct schedule {
	uint64_t ns;   /* since 1970; or the period */
	bool periodic; /* at each multiple of it since 1970 */
};

/* Reads one of
 *   14:30, 14:30:05[.FRACTION]       local time: the next such moment, today or tomorrow
 *   2026-11-21T14:30[:05[.FRACTION]] local time, or with Z or +HH:MM behind it
 *   +5s                              so long after now, ns since 1970
 *   /10s                             a period, a duration of at least 1 ms
 * Returns 0; -EINVAL if it is none of them; -ETIME if it is a moment that is over; -EDOM if a
 * duration has no unit; -ERANGE if it, or a period, is too short or too long (10 years). *schedule
 * is set on success only. */
int schedule_parse(const char *text, uint64_t now, struct schedule *schedule);

/* The first moment of it that is not before another one, ns since 1970; 0: there is none. */
uint64_t schedule_next(const struct schedule *schedule, uint64_t from);

#endif
