// SPDX-License-Identifier: Apache-2.0
#include "unwind.h"

#include <stddef.h>
#include <string.h>

#if defined(__x86_64__)
/* Size of an indirect near call (FF /2) without prefixes, from its ModRM and SIB bytes. */
static size_t indirect_call_size(uint8_t modrm, uint8_t sib)
{
	uint8_t mode = modrm >> 6, base = modrm & 7;
	size_t size = 2;

	if ((modrm >> 3 & 7) != 2)
		return 0;
	if (mode == 3)
		return size;
	if (base == 4)
		size++;
	if (mode == 1)
		return size + 1;
	if (mode == 2 || base == 5 || (base == 4 && (sib & 7) == 5))
		return size + 4;
	return size;
}

bool code_ends_with_call_to(const uint8_t *code, int64_t *distance)
{
	int32_t relative;

	memcpy(&relative, code + CALL_SIZE - sizeof(relative), sizeof(relative));
	*distance = relative;
	return code[CALL_SIZE - 5] == 0xe8;
}

bool code_ends_with_call(const uint8_t *code)
{
	int64_t distance;

	if (code_ends_with_call_to(code, &distance))
		return true;
	for (size_t n = 2; n <= CALL_SIZE; n++) {
		const uint8_t *at = code + CALL_SIZE - n;

		if (at[0] == 0xff && indirect_call_size(at[1], n > 2 ? at[2] : 0) == n)
			return true;
	}
	return false;
}

static bool is_endbr(const uint8_t *code)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };

	return !memcmp(code, endbr, sizeof(endbr));
}

#define PUSH_FRAME_POINTER 0x55 /* push %rbp */

/* push %r, or sub $n, %rsp. */
bool code_begins_frame(const uint8_t *code)
{
	code += is_endbr(code) ? 4 : 0;
	return (code[0] & 0xf8) == 0x50 || (code[0] == 0x41 && (code[1] & 0xf8) == 0x50) ||
	       (code[0] == 0x48 && (code[1] == 0x83 || code[1] == 0x81) && code[2] == 0xec);
}

enum code_location code_location(const uint8_t *before, const uint8_t *at)
{
	static const uint8_t set[] = { 0x48, 0x89, 0xe5 };   /* mov %rsp, %rbp */
	static const uint8_t set_2[] = { 0x48, 0x8b, 0xec }; /* the same */

	if (before[EDGE_SIZE - 1] == PUSH_FRAME_POINTER &&
	    (!memcmp(at, set, sizeof(set)) || !memcmp(at, set_2, sizeof(set_2))))
		return CODE_PUSHED;
	if (at[0] == PUSH_FRAME_POINTER || is_endbr(at) || at[0] == 0xc3 || at[0] == 0xc2 ||
	    (at[0] == 0xf3 && at[1] == 0xc3)) /* ret */
		return CODE_AT_EDGE;
	return CODE_UNKNOWN;
}
#else
bool code_begins_frame(const uint8_t *code)
{
	(void)code;
	return false;
}

bool code_ends_with_call_to(const uint8_t *code, int64_t *distance)
{
	uint32_t instruction;

	memcpy(&instruction, code, sizeof(instruction));
	/* Relative to the call itself, as a signed number of words. */
	*distance = (int32_t)(instruction << 6) / 16 - CALL_SIZE;
	return (instruction & 0xfc000000) == 0x94000000; /* bl */
}

bool code_ends_with_call(const uint8_t *code)
{
	uint32_t instruction;
	int64_t distance;

	memcpy(&instruction, code, sizeof(instruction));
	return code_ends_with_call_to(code, &distance) ||
	       (instruction & 0xfffffc1f) == 0xd63f0000; /* blr */
}

enum code_location code_location(const uint8_t *before, const uint8_t *at)
{
	(void)before, (void)at;
	return CODE_UNKNOWN;
}
#endif
