/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "entries.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"

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
