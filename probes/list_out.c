// SPDX-License-Identifier: Apache-2.0
#include "list_out.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/escape.h"

void list_print(struct list_out *out, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (!out->error && vfprintf(out->file, fmt, args) < 0)
		out->error = errno ? -errno : -EIO;
	va_end(args);
}

char *list_escaped(const char *text)
{
	size_t length = strlen(text);
	char *escaped = malloc(ESCAPE_SIZE(length));

	if (escaped)
		escape_text(escaped, ESCAPE_SIZE(length), text, length);
	return escaped;
}

void list_print_text(struct list_out *out, const char *text, size_t width)
{
	char *escaped = list_escaped(text);
	size_t used;

	if (!escaped) {
		out->error = -ENOMEM;
		return;
	}
	used = width ? escape_width(escaped) : 0;
	list_print(out, "%s%*s", escaped, used < width ? (int)(width - used) : 0, "");
	free(escaped);
}
