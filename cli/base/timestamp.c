/* SPDX-License-Identifier: Apache-2.0 */
#include "timestamp.h"

#include <stdio.h>

void timestamp_format(char text[static TIMESTAMP_LEN], const struct timespec *when)
{
	char local[40], utc[20];
	struct tm tm;

	if (!localtime_r(&when->tv_sec, &tm) ||
	    !strftime(local, sizeof(local), "%Y-%m-%dT%H:%M:%S", &tm) ||
	    !gmtime_r(&when->tv_sec, &tm) || !strftime(utc, sizeof(utc), "%H:%M:%S", &tm)) {
		snprintf(text, TIMESTAMP_LEN, "%lld s", (long long)when->tv_sec);
		return;
	}
	snprintf(text, TIMESTAMP_LEN, "%s.%06ld (%s UTC)", local, when->tv_nsec / 1000, utc);
}
