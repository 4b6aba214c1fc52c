/* SPDX-License-Identifier: Apache-2.0 */
#include "syscall_names.h"

#include <stddef.h>
#include <string.h>

#include "bpf/kernel_delay.h"

static const struct {
	uint32_t call;
	const char *name;
} table[] = {
#include "syscall_table.inc" /* made by syscall_table.sh, sorted by call */
};

#define TABLE_LENGTH (sizeof(table) / sizeof(table[0]))

static const struct {
	const char *name;
	uint32_t bit;
} modes[SYSCALL_MODES] = {
	[SYSCALL_NATIVE] = { "", 0 },
	[SYSCALL_COMPAT] = { "32-bit", KD_CALL_COMPAT },
	[SYSCALL_X32] = { "x32", KD_CALL_X32 },
};

enum syscall_mode syscall_mode(uint32_t call)
{
	uint32_t bits = call & ~KD_CALL_NUMBER;

	return bits == KD_CALL_COMPAT ? SYSCALL_COMPAT
	       : bits == KD_CALL_X32  ? SYSCALL_X32
				      : SYSCALL_NATIVE;
}

uint32_t syscall_plain(uint32_t call)
{
	return syscall_mode(call) == SYSCALL_NATIVE ? call : call & KD_CALL_NUMBER;
}

uint32_t syscall_in_mode(enum syscall_mode mode, uint32_t number)
{
	return number | modes[mode].bit;
}

const char *syscall_mode_name(enum syscall_mode mode)
{
	return modes[mode].name;
}

const char *syscall_name(uint32_t call)
{
	size_t low = 0, high = TABLE_LENGTH;

	/* Most calls are where they would be if no number were missing. */
	if (call < TABLE_LENGTH && table[call].call == call)
		return table[call].name;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table[middle].call == call)
			return table[middle].name;
		if (table[middle].call < call)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

int64_t syscall_find(enum syscall_mode mode, const char *name)
{
	for (size_t i = 0; i < TABLE_LENGTH; i++)
		if (syscall_mode(table[i].call) == mode && !strcmp(table[i].name, name))
			return table[i].call;
	return -1;
}

int syscall_number(const char *name)
{
	return (int)syscall_find(SYSCALL_NATIVE, name);
}
