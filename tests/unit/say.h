/* SPDX-License-Identifier: Apache-2.0 */
/* What is compared, put into a line of text piece by piece. */
#ifndef TESTS_UNIT_SAY_H
#define TESTS_UNIT_SAY_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SAY_LEN 2048

__attribute__((format(printf, 2, 3))) static void say(char text[static SAY_LEN], const char *fmt,
						      ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(text + used, SAY_LEN - used, fmt, args);
	va_end(args);
}

#endif
