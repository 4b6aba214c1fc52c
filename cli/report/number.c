/* SPDX-License-Identifier: Apache-2.0 */
#include "number.h"

#include <stdbool.h>
#include <string.h>

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
