// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "event_field.h"

#include <stdlib.h>
#include <string.h>

/* What the kernel replaces by the address of the registers (perf_trace_run_bpf_submit()). */
#define REPLACED 8

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static bool begins(const char *at, const char *end, const char *with)
{
	size_t length = strlen(with);

	return (size_t)(end - at) >= length && !memcmp(at, with, length);
}

/* The number behind a word such as "offset:" in a line. Returns false if there is none, or it is
 * larger than an event. */
static bool number_find(unsigned long *number, const char *line, const char *end, const char *word)
{
	const char *found = memmem(line, (size_t)(end - line), word, strlen(word));
	char *rest;

	if (!found)
		return false;
	found += strlen(word);
	if (found == end || *found < '0' || *found > '9')
		return false;
	*number = strtoul(found, &rest, 10);
	return *rest == ';' && *number <= EVENT_BYTES;
}

/* "pid_t prev_pid", "char comm[16]", "__data_loc char[] name" */
static void declaration_read(struct event_field *field, const char *at, const char *end)
{
	field->is_number = !memchr(at, '[', (size_t)(end - at)) && !begins(at, end, "__data_loc") &&
			   !begins(at, end, "__rel_loc");
	if (end > at && end[-1] == ']')
		end = memrchr(at, '[', (size_t)(end - at));
	field->name = end;
	while (end && field->name > at && is_word(field->name[-1]))
		field->name--;
	field->length = (size_t)(end - field->name);
}

/* "field:pid_t prev_pid; offset:24; size:4; signed:1;". Returns false if it is something else. */
static bool line_read(struct event_field *field, const char *line, const char *end)
{
	static const char word[] = "field:";
	unsigned long offset, size, is_signed = 0;
	const char *semicolon;

	while (line < end && (*line == ' ' || *line == '\t'))
		line++;
	semicolon = memchr(line, ';', (size_t)(end - line));
	if (!begins(line, end, word) || !semicolon)
		return false;
	declaration_read(field, line + sizeof(word) - 1, semicolon);
	if (!field->length || !number_find(&offset, semicolon, end, "offset:") ||
	    !number_find(&size, semicolon, end, "size:") || offset < REPLACED)
		return false;
	field->is_signed = number_find(&is_signed, semicolon, end, "signed:") && is_signed;
	field->is_number = field->is_number && (size == 1 || size == 2 || size == 4 || size == 8) &&
			   offset + size <= EVENT_BYTES;
	field->offset = (uint16_t)offset;
	field->size = (uint8_t)size;
	return true;
}

bool event_field_next(struct event_field *field, const char **format)
{
	while (**format) {
		const char *line = *format, *end = strchrnul(line, '\n');

		*format = *end ? end + 1 : end;
		if (line_read(field, line, end))
			return true;
	}
	return false;
}

bool event_field_find(struct event_field *field, const char *format, const char *name)
{
	while (event_field_next(field, &format))
		if (strlen(name) == field->length && !memcmp(field->name, name, field->length))
			return true;
	return false;
}
