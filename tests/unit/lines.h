/* SPDX-License-Identifier: Apache-2.0 */
/* Texts line by line: what a test is about, or what differs from another text. */
#ifndef TESTS_UNIT_LINES_H
#define TESTS_UNIT_LINES_H

#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "need.h"

/* A text that is put together; its end makes it the caller's. */
struct made {
	FILE *out;
	char *text;
	size_t length;
};

__attribute__((unused)) static FILE *made_begin(struct made *made)
{
	made->out = open_memstream(&made->text, &made->length);
	need(made->out);
	return made->out;
}

__attribute__((unused)) static char *made_end(struct made *made)
{
	need(!fclose(made->out));
	return made->text;
}

/* Of the line that begins here, with its line feed. */
static size_t line_length(const char *line)
{
	size_t length = strcspn(line, "\n");

	return length + (line[length] == '\n');
}

/* Calls the block with each line of a text, which is not changed. */
#define EACH_LINE(line, text) for (const char *line = (text); *line; line += line_length(line))

static bool has_line(const char *text, const char *wanted)
{
	EACH_LINE(line, text)
	{
		if (line_length(line) == line_length(wanted) &&
		    !memcmp(line, wanted, line_length(line)))
			return true;
	}
	return false;
}

static void lines_missing(FILE *out, const char *text, const char *other, char sign)
{
	EACH_LINE(line, text)
	{
		if (!has_line(other, line))
			fprintf(out, "%c%.*s", sign, (int)line_length(line), line);
	}
}

/* Lines that a text has and another one has not, "+", and the other way round, "-". */
__attribute__((unused)) static char *lines_differing(const char *text, const char *other)
{
	struct made made;

	lines_missing(made_begin(&made), other, text, '-');
	lines_missing(made.out, text, other, '+');
	return made_end(&made);
}

/* Without the lines in which this is. */
__attribute__((unused)) static char *lines_without(const char *text, const char *what)
{
	struct made made;

	made_begin(&made);
	EACH_LINE(line, text)
	{
		if (!memmem(line, line_length(line), what, strlen(what)))
			fprintf(made.out, "%.*s", (int)line_length(line), line);
	}
	return made_end(&made);
}

/* Without what begins so, up to the next such character, wherever it is. */
__attribute__((unused)) static char *text_without(const char *text, const char *start, char end)
{
	char *copy = strdup(text), *at = copy;

	while (copy && (at = strstr(at, start))) {
		const char *rest = strchr(at + strlen(start), end) + 1;

		memmove(at, rest, strlen(rest) + 1);
	}
	return copy;
}

#endif
