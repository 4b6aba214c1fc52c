/* SPDX-License-Identifier: Apache-2.0 */
#include "number.h"

#include <stdbool.h>
#include <string.h>

#include "clock.h"

/* Digits come out last first, three at a time: they are written to the end of
 * a buffer. */
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

size_t number_percent(char text[static NUMBER_LEN], uint64_t part, uint64_t whole)
{
	unsigned __int128 hundredths = 0;
	uint64_t shown;
	size_t length;

	if (whole)
		hundredths = ((unsigned __int128)part * 10000 + whole / 2) / whole;
	shown = hundredths > UINT64_MAX ? UINT64_MAX : (uint64_t)hundredths;
	length = number_plain(text, shown / 100);
	text[length++] = '.';
	text[length++] = (char)('0' + shown / 10 % 10);
	text[length++] = (char)('0' + shown % 10);
	text[length] = '\0';
	return length;
}

#define DAY (24 * 3600 * 1000000000ULL)
#define DAYS_FROM (100000 * 1000000000ULL)

/* Three digits of number / unit, rounded to the nearest: 1.04, 12.7, 380. Tells if there are
 * more digits in front of the point: 1,000 is the next unit's. */
static bool three_digits(char text[static NUMBER_LEN], uint64_t number, uint64_t unit,
			 size_t *length)
{
	unsigned int decimals = number < 10 * unit ? 2 : number < 100 * unit ? 1 : 0;
	uint64_t step, shown;

	for (step = unit, shown = decimals; shown; shown--)
		step /= 10;
	if (!step) { /* of ns there are no parts */
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

size_t number_time(char text[static NUMBER_LEN], uint64_t ns)
{
	static const struct {
		uint64_t ns;
		const char *name;
	} units[] = { { 1, " ns" }, { 1000, " us" }, { 1000000, " ms" }, { 1000000000, " s" } };
	size_t i = 0, length;

	if (ns >= DAYS_FROM) {
		three_digits(text, ns, DAY, &length);
		strcpy(text + length, " d");
		return length + 2;
	}
	while (i < 3 && (ns >= 1000 * units[i].ns || three_digits(text, ns, units[i].ns, &length)))
		i++;
	three_digits(text, ns, units[i].ns, &length);
	strcpy(text + length, units[i].name);
	return length + strlen(units[i].name);
}

size_t number_share(char text[static NUMBER_LEN], uint64_t part, uint64_t whole)
{
	unsigned __int128 tenths = whole ? ((unsigned __int128)part * 1000 + whole / 2) / whole : 0;
	unsigned int shown = tenths > 9990 ? 9990 : (unsigned int)tenths;
	size_t length = 0;

	if (part && whole && !shown)
		return (size_t)(stpcpy(text, "<0.1 %") - text);
	if (shown >= 100 || !shown)
		length = number_plain(text, (shown + 5) / 10);
	else {
		text[length++] = (char)('0' + shown / 10);
		text[length++] = '.';
		text[length++] = (char)('0' + shown % 10);
	}
	strcpy(text + length, " %");
	return length + 2;
}

size_t number_limit(char text[static NUMBER_LEN], uint64_t ns)
{
	const bool whole = ns % NSEC_PER_MSEC == 0;
	size_t length = number_grouped(text, ns / (whole ? NSEC_PER_MSEC : NSEC_PER_USEC));

	/* At least divided by 1000: there is room for the unit. */
	memcpy(text + length, whole ? " ms" : " us", 4);
	return length + 3;
}
