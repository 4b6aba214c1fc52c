/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, names and texts that no machine would have. */
#ifndef TESTS_UNIT_RANDOM_VALUES_H
#define TESTS_UNIT_RANDOM_VALUES_H

#include <stdlib.h>
#include <string.h>

#include "cli/model/distribution.h"
#include "cli/model/sample.h"
#include "need.h"
#include "random.h"

static uint64_t random_number(void)
{
	static const uint64_t edges[] = { 0,          1,         INT32_MAX,        UINT32_MAX,
					  1ULL << 53, INT64_MAX, 1ULL + INT64_MAX, UINT64_MAX };

	if (!chance(4))
		return edges[chance(sizeof(edges) / sizeof(*edges))];
	return random_state >> chance(64);
}

static uint32_t random_u32(void)
{
	return (uint32_t)(random_number() >> (chance(2) ? 32 : 0));
}

static int32_t random_call(void)
{
	return chance(5)   ? (int32_t)(chance(chance(3) ? 450 : INT32_MAX) |
                                     (chance(4) ? 0 : KD_CALL_COMPAT))
	       : chance(2) ? KD_CALL_NONE
			   : KD_CALL_UNKNOWN;
}

/* Text of at most size bytes, which need not end with a NUL. */
/* What is behind its NUL is not part of it; the kernel leaves older names there. */
static void random_name(char *name, size_t size)
{
	static const char *const pieces[] = {
		"a",        "worker", "\xc3\xa9",     "\xf0\x9f\x90\xa7",
		"\xff",     "\xc3",   "\xed\xa0\x80", "\"\\",
		"\n",       "\x7f",   "\xef\xbf\xbd", " ;",
		"\xc0\x80", "\x01",   "\xf4\x90\x80", "\xe2\x80"
	};
	size_t used = 0, most = chance(size + 1);

	memset(name, 0, size);
	while (used < most) {
		const char *piece = pieces[chance(sizeof(pieces) / sizeof(*pieces))];
		size_t length = strnlen(piece, most - used);

		memcpy(name + used, piece, length);
		used += length;
	}
	if (used + 1 < size && chance(2))
		memset(name + used + 1, 'x', size - used - 1);
}

/* Texts live as long as the program. */
static inline const char *random_text(void)
{
	static char texts[64][300];
	static unsigned int next;
	char *text;

	if (!chance(4))
		return NULL;
	text = texts[next++ % 64];
	random_name(text, chance(8) ? 40 : 299);
	return text;
}

/* Half of them are empty. */
static struct distribution random_distribution(void)
{
	struct distribution distribution = { 0 };
	uint64_t le = random_number() >> chance(60);

	for (uint64_t n = chance(2) * chance(12); n; n--) {
		need(!distribution_append(&distribution, le, random_number()));
		if (__builtin_add_overflow(le, 1 + (random_number() >> (1 + chance(60))), &le))
			break;
	}
	return distribution;
}

static void *random_rows(size_t *n, size_t most, size_t size)
{
	*n = chance(most + 1);
	return *n ? calloc(*n, size) : NULL;
}

#endif
