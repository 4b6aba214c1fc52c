// SPDX-License-Identifier: Apache-2.0
/* Times as RFC 3339 has them, in UTC. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/base/clock.h"
#include "json_fields.h"

/* 0000-01-01 and 9999-12-31T23:59:59: what RFC 3339 has room for. */
#define FIRST_SECOND -62167219200
#define LAST_SECOND 253402300799

static void time_write(struct json_writer *writer, const struct json_scope *scope,
		       const struct field *field, const void *structure)
{
	const struct timespec *when =
		(const struct timespec *)((const char *)structure + field->at);
	time_t seconds = when->tv_sec;
	long ns = when->tv_nsec;
	char text[64];
	struct tm tm;

	(void)scope;
	seconds = seconds < FIRST_SECOND ? FIRST_SECOND : seconds;
	seconds = seconds > LAST_SECOND ? LAST_SECOND : seconds;
	ns = ns < 0 ? 0 : ns >= (long)NSEC_PER_SEC ? (long)NSEC_PER_SEC - 1 : ns;
	if (!gmtime_r(&seconds, &tm))
		return;
	snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%09ldZ", tm.tm_year + 1900,
		 tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, ns);
	writer_word(writer, field->key, text);
}

static bool time_parse(const char *text, struct timespec *when)
{
	struct tm tm = { 0 };
	long ns = 0;

	if (!timestamp_date(&text, &tm) || *text++ != 'T' || !timestamp_clock(&text, &tm, &ns) ||
	    strcmp(text, "Z") != 0)
		return false;
	when->tv_sec = timegm(&tm);
	when->tv_nsec = ns;
	return true;
}

static void time_read(struct reader *reader, const json_t *object, const struct field *field,
		      void *structure)
{
	const char *text = reader_text(reader, object, field->key);

	if (text && !time_parse(text, (struct timespec *)((char *)structure + field->at)))
		reader_fail(reader, field->key,
			    "a time such as \"2026-11-21T15:04:05Z\" is expected");
}

const struct json_form json_form_time = { time_write, time_read };
