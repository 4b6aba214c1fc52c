/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "options_read.h"

#include <ctype.h>
#include <errno.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/base/names.h"
#include "cli/base/parse.h"
#include "cli/base/texts.h"

#define MILLIONTHS 1000000

bool option_list_has(const char *list, const char *name, size_t length)
{
	for (size_t n; list && *list; list += n + (list[n] == ' ')) {
		n = strcspn(list, " ");
		if (n == length && !strncmp(list, name, n))
			return true;
	}
	return false;
}

const char *option_called(const struct option_row *row, char text[static 64])
{
	snprintf(text, 64, row->of ? "attribute %s" : "option --%s", attribute_name(row));
	return text;
}

exit_status options_see_help(void)
{
	log_hint(OPTIONS_SEE_HELP);
	return EX_USAGE;
}

exit_status options_refuse_value(const struct option_row *row, const char *text, const char *what,
				 const char *hint, ...)
{
	char line[512], called[64];
	va_list args;

	va_start(args, hint);
	vsnprintf(line, sizeof(line), hint, args);
	va_end(args);
	log_error("%s: '%s' %s", option_called(row, called), text, what);
	log_hint("%s", line);
	return EX_USAGE;
}

int option_store(const struct option_row *row, uint64_t number, struct options *options)
{
	if (row->size == sizeof(uint64_t))
		*(uint64_t *)option_field(row, options) = number;
	else
		*(uint32_t *)option_field(row, options) = (uint32_t)number;
	return 0;
}

/* --- Kinds of values --- */

int read_flag(const struct option_row *row, const char *text, struct options *options)
{
	(void)text;
	*(bool *)option_field(row, options) = true;
	return 0;
}

int read_number(const struct option_row *row, const char *text, struct options *options)
{
	uint64_t number;
	int error = parse_u64(text, row->min, row->max, &number);

	if (!error)
		return option_store(row, number, options);
	return options_refuse_value(row, text,
				    error == -ERANGE ? "is out of range" : "is not a whole number",
				    "give a number from %llu to %llu", (unsigned long long)row->min,
				    (unsigned long long)row->max);
}

int read_percent(const struct option_row *row, const char *text, struct options *options)
{
	uint64_t share;
	int error = text[strspn(text, "0123456789.")]
			    ? -EINVAL
			    : parse_duration(text, MILLIONTHS / 100, MILLIONTHS, &share);

	if (!error)
		return option_store(row, share, options);
	return options_refuse_value(
		row, text, error == -ERANGE ? "is more than 100 percent" : "is not a percentage",
		"give a number from 0 to 100, such as 1 or 0.5");
}

exit_status options_refuse_bare(const struct option_row *row, const char *text)
{
	char process[64] = "";
	uint64_t pid;

	if (row->takes == TAKES_FOLLOWING && !parse_u64(text, 1, INT32_MAX, &pid))
		snprintf(process, sizeof(process), "; or the process with --pid %s", text);
	return options_refuse_value(row, text, "has no unit",
				    "give one: %sns, %sus, %sms, %ss or %smin%s", text, text, text,
				    text, text, process);
}

int read_duration(const struct option_row *row, const char *text, struct options *options)
{
	uint64_t ns = 0;
	int error = parse_duration(text, row->unit, OPTIONS_DURATION_MAX, &ns);

	if (!error && ns >= row->min)
		return option_store(row, ns, options);
	if (!error)
		return options_refuse_value(row, text, "is too short", "give at least 1ns");
	if (error == -ERANGE)
		return options_refuse_value(row, text, "is too long",
					    "give at most 365 days: 525600min");
	if (error == -EDOM)
		return options_refuse_bare(row, text);
	return options_refuse_value(row, text, "is not a duration",
				    "give a number %s ns, us, ms, s or min: 0.5s, 250ms",
				    !row->unit       ? "with"
				    : row->unit == 1 ? "of nanoseconds, or one with"
						     : "of seconds, or one with");
}

struct unit {
	const char *suffix;
	unsigned int shift;
};

/* Parses a number directly followed by one of these units. Returns 0, -EINVAL or -ERANGE. */
static int parse_amount(const char *text, const struct unit *units, uint64_t min, uint64_t max,
			uint64_t *amount)
{
	size_t length = strspn(text, "0123456789");
	char digits[24] = "";
	int error;

	while (units->suffix && strcmp(text + length, units->suffix))
		units++;
	if (!units->suffix)
		return -EINVAL;
	if (length >= sizeof(digits))
		return -ERANGE;
	memcpy(digits, text, length);
	error = parse_u64(digits, min, max >> units->shift, amount);
	if (!error)
		*amount <<= units->shift;
	return error;
}

int read_bytes(const struct option_row *row, const char *text, struct options *options)
{
	static const struct unit units[] = { { "", 0 },    { "K", 10 },   { "k", 10 },
					     { "KB", 10 }, { "KiB", 10 }, { NULL, 0 } };
	uint64_t bytes;
	int error = parse_amount(text, units, row->min, row->max, &bytes);

	if (!error)
		return option_store(row, bytes, options);
	return options_refuse_value(
		row, text, error == -ERANGE ? "is out of range" : "is not a number of bytes",
		"give a number from 0 to %llu, or one with K: 16K", (unsigned long long)row->max);
}

exit_status read_size(const struct option_row *row, const char *text, struct options *options)
{
	static const struct unit units[] = {
		{ "", 0 }, { "K", 10 }, { "M", 20 }, { "G", 30 }, { NULL, 0 }
	};
	uint64_t bytes;

	if (!parse_amount(text, units, 1, UINT64_MAX, &bytes))
		return option_store(row, bytes, options);
	return options_refuse_value(
		row, text, "is not a size",
		"give a number of bytes, at least 1, or one with K, M or G: 100M");
}

static exit_status text_store(const struct option_row *row, const char *text, const char *what,
			      struct options *options)
{
	char called[64];

	*(const char **)option_field(row, options) = text;
	if (*text)
		return 0;
	log_error("%s: the %s is empty", option_called(row, called), what);
	return options_see_help();
}

exit_status read_file(const struct option_row *row, const char *text, struct options *options)
{
	return text_store(row, text, "file name", options);
}

exit_status read_glob(const struct option_row *row, const char *text, struct options *options)
{
	if (!*text)
		return options_refuse_value(row, text, "is no pattern",
					    "give a name, or a pattern of names: 'pmd*'");
	*(const char **)option_field(row, options) = text;
	return 0;
}

exit_status read_choice(const struct option_row *row, const char *text, struct options *options)
{
	char list[128] = "";
	uint32_t i;

	for (i = 0; row->choices[i] && strcmp(row->choices[i], text); i++)
		text_append(list, sizeof(list), "%s%s", i ? ", " : "", row->choices[i]);
	if (row->choices[i])
		return option_store(row, i, options);
	return options_refuse_value(row, text, "is none of the choices", "give one of %s", list);
}

int read_text(const struct option_row *row, const char *text, struct options *options)
{
	return text_store(row, text, "value", options);
}
