/* SPDX-License-Identifier: Apache-2.0 */
#include "syscall_names.h"

#include <stddef.h>
#include <string.h>

static const struct {
	uint32_t number;
	const char *name;
} table[] = {
#include "syscall_table.inc" /* made by syscall_table.sh, sorted by number */
};

#define TABLE_LENGTH (sizeof(table) / sizeof(table[0]))

const char *syscall_name(uint32_t number)
{
	size_t low = 0, high = TABLE_LENGTH;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table[middle].number == number)
			return table[middle].name;
		if (table[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

int syscall_number(const char *name)
{
	for (size_t i = 0; i < TABLE_LENGTH; i++)
		if (!strcmp(table[i].name, name))
			return (int)table[i].number;
	return -1;
}
