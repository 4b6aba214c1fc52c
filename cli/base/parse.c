/* SPDX-License-Identifier: Apache-2.0 */
#include "parse.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "clock.h"

/* Exponents beyond this make no difference to any number that fits a line. */
#define EXPONENT_MAX 100000000L

/* A decimal number as text: digits, of which some follow a point. */
struct decimal {
	const char *text;
	long whole;    /* digits before the point */
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

/* Splits the number at the text's beginning. Returns what follows it; NULL if
 * there is none. */
static const char *split_decimal(const char *text, struct decimal *decimal)
{
	*decimal = (struct decimal){ .text = text, .whole = count_digits(text) };
	text += decimal->whole;
	if (*text == '.') {
		decimal->fraction = count_digits(++text);
		text += decimal->fraction;
	}
	if (decimal->whole + decimal->fraction == 0)
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

/* A digit counted from the first one, the point left out. */
static unsigned int digit_at(const struct decimal *decimal, long at)
{
	if (at < 0 || at >= decimal->whole + decimal->fraction)
		return 0;
	return (unsigned int)(decimal->text[at < decimal->whole ? at : at + 1] - '0');
}

static bool is_zero(const struct decimal *decimal)
{
	for (long at = 0; at < decimal->whole + decimal->fraction; at++)
		if (digit_at(decimal, at))
			return false;
	return true;
}

/* The digits before the (moved) point times the unit. Returns false if that
 * does not fit. */
static bool whole_part(const struct decimal *decimal, uint64_t unit, uint64_t *ns)
{
	long digits = decimal->whole + decimal->fraction;
	long point = decimal->whole + decimal->exponent;
	uint64_t whole = 0;

	for (long i = 0; i < point && (i < digits || whole); i++) {
		if (!append_digit(&whole, digit_at(decimal, i)))
			return false;
	}
	return !__builtin_mul_overflow(whole, unit, ns);
}

/* The digits after the point times the unit. From the last digit to the first
 * this is exact: cutting off what is below 1 ns at every step yields the same
 * as once at the end. */
static uint64_t fraction_part(const struct decimal *decimal, uint64_t unit)
{
	long point = decimal->whole + decimal->exponent;
	long at = decimal->whole + decimal->fraction - 1;
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
	uint64_t unit = 0, whole, sum;

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

	if (!whole_part(&decimal, unit, &whole) ||
	    __builtin_add_overflow(whole, fraction_part(&decimal, unit), &sum) || sum > max)
		return -ERANGE;
	*ns = sum;
	return 0;
}
