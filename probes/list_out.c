// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "list_out.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/base/escape.h"

/* --- A collection of names to be sorted and printed --- */

int entries_add(struct entries *entries, const char *text, uint64_t address, bool flag)
{
	size_t length = strlen(text) + 1, bytes = length + 2 * sizeof(struct entry);
	struct entry *entry;

	if (bytes > ENTRIES_MAX - entries->bytes) {
		entries->incomplete = true;
		return 0;
	}
	if (ARRAY_GROW(entries->all, entries->n, entries->room))
		return -ENOMEM;
	entry = &entries->all[entries->n];
	*entry = (struct entry){ .text = strdup(text), .address = address, .flag = flag };
	if (!entry->text)
		return -ENOMEM;
	entries->n++;
	entries->bytes += bytes;
	return 0;
}

static int entry_compare(const void *a, const void *b)
{
	const struct entry *left = a, *right = b;
	int order = strcmp(left->text, right->text);

	return order ? order : (left->address > right->address) - (left->address < right->address);
}

void entries_sort(struct entries *entries)
{
	if (entries->n)
		qsort(entries->all, entries->n, sizeof(*entries->all), entry_compare);
}

size_t entries_end(const struct entries *entries, size_t first)
{
	size_t end = first + 1;

	while (end < entries->n && !strcmp(entries->all[first].text, entries->all[end].text))
		end++;
	return end;
}

void entries_clear(struct entries *entries)
{
	for (size_t i = 0; i < entries->n; i++)
		free(entries->all[i].text);
	free(entries->all);
	*entries = (struct entries){ .n = 0 };
}

/* --- The text of lists of probes --- */

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
