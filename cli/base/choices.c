// SPDX-License-Identifier: Apache-2.0
#include "choices.h"

#include <stdarg.h>
#include <stdio.h>

#include "log.h"

#define MOST_LISTED 8

void choices_add(struct choices *choices, const char *fmt, ...)
{
	size_t room = sizeof(choices->text) - choices->length, separator;
	char *at = choices->text + choices->length;
	va_list args;
	int length;

	if (choices->n++ >= MOST_LISTED)
		return;
	separator = choices->length ? (size_t)snprintf(at, room, ", ") : 0;
	if (separator >= room)
		return;
	va_start(args, fmt);
	length = vsnprintf(at + separator, room - separator, fmt, args);
	va_end(args);
	if (length < 0 || (size_t)length >= room - separator)
		*at = '\0'; /* none is listed in part */
	else
		choices->length += separator + (size_t)length;
}

void choices_clear(struct choices *choices)
{
	choices->length = choices->n = 0;
	*choices->text = '\0';
}

void choices_hint(const struct choices *choices)
{
	log_hint("choose one: %s%s", choices->text, choices->n > MOST_LISTED ? ", ..." : "");
}
