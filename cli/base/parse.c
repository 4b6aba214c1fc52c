// SPDX-License-Identifier: Apache-2.0
#include "parse.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"

/* --- Decimal numbers as text, in any locale --- */

/* Digits come last first, three at a time: fill the buffer from its end. */
static size_t format(char text[static NUMBER_LEN], uint64_t number, bool grouped)
{
	char digits[NUMBER_LEN];
	char *at = digits + sizeof(digits);
	uint64_t group;
	size_t length;

	*--at = '\0';
	for (; number >= 1000; number /= 1000) {
		group = number % 1000;
		*--at = (char)('0' + group % 10);
		*--at = (char)('0' + group / 10 % 10);
		*--at = (char)('0' + group / 100);
		if (grouped)
			*--at = ',';
	}
	do {
		*--at = (char)('0' + number % 10);
		number /= 10;
	} while (number);

	length = (size_t)(digits + sizeof(digits) - at);
	memcpy(text, at, length);
	return length - 1;
}

size_t number_plain(char text[static NUMBER_LEN], uint64_t number)
{
	return format(text, number, false);
}

size_t number_grouped(char text[static NUMBER_LEN], uint64_t number)
{
	return format(text, number, true);
}

const char *number_percent(char text[static NUMBER_LEN], uint64_t part, uint64_t total)
{
	unsigned __int128 hundredths = 0;
	uint64_t shown;
	size_t length;

	if (total)
		hundredths = ((unsigned __int128)part * 10000 + total / 2) / total;
	shown = hundredths > UINT64_MAX ? UINT64_MAX : (uint64_t)hundredths;
	length = number_plain(text, shown / 100);
	text[length++] = '.';
	text[length++] = (char)('0' + shown / 10 % 10);
	text[length++] = (char)('0' + shown % 10);
	text[length] = '\0';
	return text;
}

#define DAY (24 * 3600 * 1000000000ULL)
#define DAYS_FROM (100000 * 1000000000ULL)

/* Three digits of number / unit, rounded to nearest: 1.04, 12.7, 380. Returns true if there are
 * more before the point: 1,000 belongs to the next unit. */
static bool three_digits(char text[static NUMBER_LEN], uint64_t number, uint64_t unit,
			 size_t *length)
{
	unsigned int decimals = number < 10 * unit ? 2 : number < 100 * unit ? 1 : 0;
	uint64_t step, shown;

	for (step = unit, shown = decimals; shown; shown--)
		step /= 10;
	if (!step) { /* ns have no fractions */
		decimals = 0;
		step = 1;
	}
	shown = number / step + (step > 1 && number % step >= step / 2);
	if (shown >= 1000 && decimals) { /* 9.996: 10.0 */
		decimals--;
		shown = (shown + 5) / 10;
	}
	*length = number_plain(text, shown);
	if (decimals) {
		memmove(text + *length - decimals + 1, text + *length - decimals, decimals + 1);
		text[*length - decimals] = '.';
		++*length;
	}
	return shown >= 1000 && !decimals;
}

const char *number_time(char text[static NUMBER_LEN], uint64_t ns)
{
	static const struct {
		uint64_t ns;
		const char *name;
	} units[] = { { 1, " ns" }, { 1000, " us" }, { 1000000, " ms" }, { 1000000000, " s" } };
	size_t i = 0, length;

	if (ns >= DAYS_FROM) {
		three_digits(text, ns, DAY, &length);
		strcpy(text + length, " d");
		return text;
	}
	while (i < 3 && (ns >= 1000 * units[i].ns || three_digits(text, ns, units[i].ns, &length)))
		i++;
	three_digits(text, ns, units[i].ns, &length);
	strcpy(text + length, units[i].name);
	return text;
}

const char *number_share(char text[static NUMBER_LEN], uint64_t part, uint64_t total)
{
	unsigned __int128 tenths = total ? ((unsigned __int128)part * 1000 + total / 2) / total : 0;
	unsigned int shown = tenths > 9990 ? 9990 : (unsigned int)tenths;

	if (part && total && !shown)
		return strcpy(text, "<0.1 %");
	if (shown >= 100 || !shown)
		snprintf(text, NUMBER_LEN, "%u %%", (shown + 5) / 10);
	else
		snprintf(text, NUMBER_LEN, "%u.%u %%", shown / 10, shown % 10);
	return text;
}

const char *number_limit(char text[static NUMBER_LEN], uint64_t ns)
{
	const bool in_ms = ns % NSEC_PER_MSEC == 0;
	size_t length = number_grouped(text, ns / (in_ms ? NSEC_PER_MSEC : NSEC_PER_USEC));

	/* Divided by 1000 or more, so the unit fits. */
	memcpy(text + length, in_ms ? " ms" : " us", 4);
	return text;
}

/* --- Strict number parsers: the entire text counts; no white space, no sign --- */

/* Larger exponents make no difference to numbers on one line. */
#define EXPONENT_MAX 100000000L

/* A decimal number as text: digits, some after a point. */
struct decimal {
	const char *text;
	long integer;  /* digits before the point */
	long fraction; /* digits after it */
	long exponent;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static long count_digits(const char *text)
{
	long n = 0;

	while (is_digit(text[n]))
		n++;
	return n;
}

static bool append_digit(uint64_t *value, unsigned int digit)
{
	return !__builtin_mul_overflow(*value, 10, value) &&
	       !__builtin_add_overflow(*value, digit, value);
}

int parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	long n = count_digits(text);
	uint64_t number = 0;

	if (n == 0 || text[n])
		return -EINVAL;
	for (long i = 0; i < n; i++) {
		if (!append_digit(&number, (unsigned int)(text[i] - '0')))
			return -ERANGE;
	}
	if (number < min || number > max)
		return -ERANGE;
	*value = number;
	return 0;
}

/* Splits a leading number. Returns what follows; NULL: no number. */
static const char *split_decimal(const char *text, struct decimal *decimal)
{
	*decimal = (struct decimal){ .text = text, .integer = count_digits(text) };
	text += decimal->integer;
	if (*text == '.') {
		decimal->fraction = count_digits(++text);
		text += decimal->fraction;
	}
	if (decimal->integer + decimal->fraction == 0)
		return NULL;

	if (*text == 'e' || *text == 'E') {
		bool negative = *++text == '-';

		text += *text == '-' || *text == '+';
		if (!is_digit(*text))
			return NULL;
		for (; is_digit(*text); text++) {
			if (decimal->exponent < EXPONENT_MAX)
				decimal->exponent = decimal->exponent * 10 + (*text - '0');
		}
		if (negative)
			decimal->exponent = -decimal->exponent;
	}
	return text;
}

/* Digit by index, not counting the point. */
static unsigned int digit_at(const struct decimal *decimal, long at)
{
	if (at < 0 || at >= decimal->integer + decimal->fraction)
		return 0;
	return (unsigned int)(decimal->text[at < decimal->integer ? at : at + 1] - '0');
}

static bool is_zero(const struct decimal *decimal)
{
	for (long at = 0; at < decimal->integer + decimal->fraction; at++)
		if (digit_at(decimal, at))
			return false;
	return true;
}

/* Digits before the (moved) point times the unit. Returns false on overflow. */
static bool integer_ns(const struct decimal *decimal, uint64_t unit, uint64_t *ns)
{
	long digits = decimal->integer + decimal->fraction;
	long point = decimal->integer + decimal->exponent;
	uint64_t integer = 0;

	for (long i = 0; i < point && (i < digits || integer); i++) {
		if (!append_digit(&integer, digit_at(decimal, i)))
			return false;
	}
	return !__builtin_mul_overflow(integer, unit, ns);
}

/* Digits after the point times the unit. Exact when computed from the last digit: truncating to
 * ns at every step yields the same as truncating once. */
static uint64_t fraction_ns(const struct decimal *decimal, uint64_t unit)
{
	long point = decimal->integer + decimal->exponent;
	long at = decimal->integer + decimal->fraction - 1;
	uint64_t ns = 0;

	for (; at >= point && (at >= 0 || ns); at--)
		ns = (unit * digit_at(decimal, at) + ns) / 10;
	return ns;
}

int parse_duration(const char *text, uint64_t bare_unit_ns, uint64_t max, uint64_t *ns)
{
	const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{ "", bare_unit_ns },    { "ns", 1 },           { "us", NSEC_PER_USEC },
		{ "ms", NSEC_PER_MSEC }, { "s", NSEC_PER_SEC }, { "min", 60 * NSEC_PER_SEC },
	};
	struct decimal decimal;
	const char *suffix = split_decimal(text, &decimal);
	uint64_t unit = 0, integer, sum;

	if (!suffix)
		return -EINVAL;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(suffix, units[i].name) == 0)
			unit = units[i].ns;
	}
	if (!unit && *suffix)
		return -EINVAL;
	if (!unit && !is_zero(&decimal))
		return -EDOM;

	if (!integer_ns(&decimal, unit, &integer) ||
	    __builtin_add_overflow(integer, fraction_ns(&decimal, unit), &sum) || sum > max)
		return -ERANGE;
	*ns = sum;
	return 0;
}
