// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "html_escape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct escaping {
	FILE *out;
	enum html_escape escape;
};

/* What stands for a byte; NULL: the byte itself. In JSON there is no '<' but in strings, and
 * without one neither "</script" nor "<!--" can be in it. */
static const char *escape_of(enum html_escape escape, char byte)
{
	if (byte == '<')
		return escape == HTML_JSON ? "\\u003c" : "&lt;";
	return byte == '&' && escape == HTML_TEXT ? "&amp;" : NULL;
}

/* 0 is an error here, see fopencookie(3). */
static ssize_t escaping_write(void *cookie, const char *bytes, size_t size)
{
	const struct escaping *escaping = cookie;
	size_t plain = 0;

	for (size_t i = 0; i < size; i++) {
		const char *instead = escape_of(escaping->escape, bytes[i]);

		if (!instead)
			continue;
		fwrite(bytes + plain, 1, i - plain, escaping->out);
		fputs(instead, escaping->out);
		plain = i + 1;
	}
	fwrite(bytes + plain, 1, size - plain, escaping->out);
	return ferror(escaping->out) ? 0 : (ssize_t)size;
}

static int escaping_close(void *cookie)
{
	free(cookie);
	return 0;
}

FILE *html_escape_open(FILE *out, enum html_escape escape)
{
	const cookie_io_functions_t functions = { .write = escaping_write,
						  .close = escaping_close };
	struct escaping *escaping = malloc(sizeof(*escaping));
	FILE *stream;

	if (!escaping)
		return NULL;
	*escaping = (struct escaping){ out, escape };
	stream = fopencookie(escaping, "w", functions);
	if (!stream)
		free(escaping);
	return stream;
}
