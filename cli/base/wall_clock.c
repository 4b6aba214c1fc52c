// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "wall_clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "parse.h"

/* --- In reports --- */

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

/* --- When to begin --- */

#define SECONDS_OF_DAY (24 * 3600)
#define LONGEST (10ULL * 365 * SECONDS_OF_DAY * NSEC_PER_SEC)
#define MINUTE_LENGTH 5 /* 14:30 */

/* Time of day, with or without seconds. */
static bool clock_parse(const char **text, struct tm *tm, long *ns)
{
	char full[MINUTE_LENGTH + 4] = "";
	const char *at = full;

	if (strnlen(*text, MINUTE_LENGTH) < MINUTE_LENGTH)
		return false;
	if ((*text)[MINUTE_LENGTH] == ':')
		return timestamp_clock(text, tm, ns);
	memcpy(full, *text, MINUTE_LENGTH);
	strcat(full, ":00");
	*text += MINUTE_LENGTH;
	return timestamp_clock(&at, tm, ns);
}

/* Seconds east of Greenwich: Z, +01:00 or -08:00. */
static bool zone_parse(const char *text, long *east)
{
	char offset[MINUTE_LENGTH + 1] = "";
	const char *at = offset;
	struct tm tm = { 0 };
	long ns = 0;

	*east = 0;
	if (!strcmp(text, "Z"))
		return true;
	if ((*text != '+' && *text != '-') || strlen(text) != MINUTE_LENGTH + 1)
		return false;
	memcpy(offset, text + 1, MINUTE_LENGTH);
	if (!clock_parse(&at, &tm, &ns))
		return false;
	*east = (tm.tm_hour * 3600L + tm.tm_min * 60L) * (*text == '-' ? -1 : 1);
	return true;
}

/* Converts a calendar time. False: it does not exist, such as 31 April, or an hour skipped by
 * summer time. */
static bool moment_of(const struct tm *wanted, bool local, time_t *seconds)
{
	struct tm tm = *wanted;

	tm.tm_isdst = local ? -1 : 0;
	*seconds = local ? mktime(&tm) : timegm(&tm);
	return tm.tm_mday == wanted->tm_mday && tm.tm_hour == wanted->tm_hour &&
	       tm.tm_min == wanted->tm_min;
}

/* Sets a moment, unless it is in the past. */
static int moment_set(struct schedule *schedule, time_t seconds, long ns, uint64_t now)
{
	const struct timespec when = { seconds, ns };

	if (clock_ns(&when) < now)
		return -ETIME;
	*schedule = (struct schedule){ .ns = clock_ns(&when) };
	return 0;
}

static int date_parse(const char *text, uint64_t now, struct schedule *schedule)
{
	struct tm tm = { 0 };
	time_t seconds;
	long ns = 0, east = 0;
	bool local;

	if (!timestamp_date(&text, &tm) || (*text != 'T' && *text != ' '))
		return -EINVAL;
	text++;
	if (!clock_parse(&text, &tm, &ns))
		return -EINVAL;
	local = !*text;
	if ((!local && !zone_parse(text, &east)) || !moment_of(&tm, local, &seconds))
		return -EINVAL;
	return moment_set(schedule, seconds - east, ns, now);
}

/* Today, or else tomorrow. */
static int day_parse(const char *text, uint64_t now, struct schedule *schedule)
{
	const time_t today = (time_t)(now / NSEC_PER_SEC);
	struct tm tm, when = { 0 };
	time_t seconds;
	long ns = 0;

	if (!clock_parse(&text, &when, &ns) || *text || !localtime_r(&today, &tm))
		return -EINVAL;
	tm.tm_hour = when.tm_hour;
	tm.tm_min = when.tm_min;
	tm.tm_sec = when.tm_sec;
	tm.tm_isdst = -1;
	seconds = mktime(&tm);
	if (!moment_set(schedule, seconds, ns, now))
		return 0;
	tm.tm_mday++; /* mktime() knows the length of months */
	tm.tm_isdst = -1;
	return moment_set(schedule, mktime(&tm), ns, now);
}

int schedule_parse(const char *text, uint64_t now, struct schedule *schedule)
{
	uint64_t ns;
	int error;

	if (*text != '/' && *text != '+')
		return strchr(text, '-') ? date_parse(text, now, schedule)
					 : day_parse(text, now, schedule);
	error = parse_duration(text + 1, 0, LONGEST, &ns);
	if (!error && *text == '/' && ns < NSEC_PER_MSEC)
		error = -ERANGE;
	if (!error)
		*schedule = *text == '/' ? (struct schedule){ .ns = ns, .periodic = true }
					 : (struct schedule){ .ns = now + ns };
	return error;
}

uint64_t schedule_next(const struct schedule *schedule, uint64_t from)
{
	uint64_t over;

	if (!schedule->periodic)
		return schedule->ns < from ? 0 : schedule->ns;
	over = from % schedule->ns;
	return over ? from + (schedule->ns - over) : from;
}
