/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks, mostly CLOCK_MONOTONIC, and units of time. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define NSEC_PER_USEC 1000ULL
#define NSEC_PER_MSEC 1000000ULL
#define NSEC_PER_SEC 1000000000ULL

/* Time in ns; 0 if negative or too large. */
static inline uint64_t clock_ns(const struct timespec *time)
{
	if (time->tv_sec < 0 || (uint64_t)time->tv_sec >= UINT64_MAX / NSEC_PER_SEC)
		return 0;
	return (uint64_t)time->tv_sec * NSEC_PER_SEC + (uint64_t)time->tv_nsec;
}

static inline struct timespec clock_timespec(uint64_t ns)
{
	return (struct timespec){
		.tv_sec = (time_t)(ns / NSEC_PER_SEC),
		.tv_nsec = (long)(ns % NSEC_PER_SEC),
	};
}

/* Time of a clock, such as CLOCK_THREAD_CPUTIME_ID, in ns; 0 if there is none. */
static inline uint64_t clock_read(clockid_t clock)
{
	struct timespec now;

	return clock_gettime(clock, &now) ? 0 : clock_ns(&now);
}

/* CLOCK_MONOTONIC in ns: the clock of bpf_ktime_get_ns(). */
static inline uint64_t clock_monotonic(void)
{
	return clock_read(CLOCK_MONOTONIC);
}

/* Wall clock time at a recent moment of CLOCK_MONOTONIC. Reads both clocks close together,
 * repeatedly if this process was delayed in between. */
static inline struct timespec clock_wall_at(uint64_t when)
{
	uint64_t before, apart, least = UINT64_MAX;
	int64_t ns = 0;

	for (int i = 0; i < 8 && least > NSEC_PER_USEC; i++) {
		struct timespec wall;

		before = clock_monotonic();
		clock_gettime(CLOCK_REALTIME, &wall);
		apart = clock_monotonic() - before;
		if (apart >= least)
			continue;
		least = apart;
		ns = (int64_t)wall.tv_sec * (int64_t)NSEC_PER_SEC + wall.tv_nsec -
		     (int64_t)(before + apart / 2 - when);
	}
	return (struct timespec){
		.tv_sec = (time_t)(ns / (int64_t)NSEC_PER_SEC),
		.tv_nsec = (long)(ns % (int64_t)NSEC_PER_SEC),
	};
}

/* Sleeps until a time on CLOCK_MONOTONIC, despite signals. */
static inline void clock_wait_until(uint64_t when)
{
	const struct timespec until = clock_timespec(when);

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
		;
}

#endif
