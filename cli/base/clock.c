// SPDX-License-Identifier: Apache-2.0
#include "clock.h"

#include <stdio.h>

/* --- Wall clock times in reports --- */

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

/* Parses exactly n digits, then a character unless it is NUL. */
static bool digits(const char **text, unsigned int n, char then, int *number)
{
	for (*number = 0; n; n--, ++*text) {
		if (**text < '0' || **text > '9')
			return false;
		*number = *number * 10 + **text - '0';
	}
	if (!then)
		return true;
	return *(*text)++ == then;
}

static bool fraction(const char **text, long *ns)
{
	long unit = 100000000;

	if (**text != '.')
		return true;
	for (++*text; **text >= '0' && **text <= '9' && unit; ++*text, unit /= 10)
		*ns += unit * (**text - '0');
	return (*text)[-1] != '.';
}

bool timestamp_date(const char **text, struct tm *tm)
{
	if (!digits(text, 4, '-', &tm->tm_year) || !digits(text, 2, '-', &tm->tm_mon) ||
	    !digits(text, 2, '\0', &tm->tm_mday) || tm->tm_mon < 1 || tm->tm_mon > 12 ||
	    tm->tm_mday < 1 || tm->tm_mday > 31)
		return false;
	tm->tm_year -= 1900;
	tm->tm_mon--;
	return true;
}

bool timestamp_clock(const char **text, struct tm *tm, long *ns)
{
	return digits(text, 2, ':', &tm->tm_hour) && digits(text, 2, ':', &tm->tm_min) &&
	       digits(text, 2, '\0', &tm->tm_sec) && fraction(text, ns) && tm->tm_hour <= 23 &&
	       tm->tm_min <= 59 && tm->tm_sec <= 60;
}
