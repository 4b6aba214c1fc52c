/* SPDX-License-Identifier: Apache-2.0 */
/* What conditions of triggers make of values, evaluated as the kernel side does it. */
#ifndef TESTS_UNIT_CONDITION_HOLDS_H
#define TESTS_UNIT_CONDITION_HOLDS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "probes/condition.h"

#define NOWHERE 4096 /* below, nothing is mapped (mmap_min_addr) */

/* Registers and what else a hit finds; memory is this process's own. */
static _Alignas(8) uint8_t context[512];

static inline uint64_t load(const void *at, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, at, size);
	return value;
}

static inline uint64_t context_load(uint16_t offset, size_t size)
{
	return offset == KD_NO_REGISTER ? 0 : load(context + offset, size);
}

/* As bpf/condition.bpf.h. */
static inline bool term_holds(const struct kd_term *term)
{
	uint64_t value = context_load(term->base, term->loads ? 8 : term->size);
	unsigned int bits = 64 - 8 * term->size;

	value += context_load(term->index, 8) << term->shift;
	value += (uint64_t)term->offsets[0];
	for (unsigned int i = 0; i < term->loads; i++) {
		if (value < NOWHERE)
			return false;
		value = load((const void *)value, i + 1 == term->loads ? term->size : 8);
		value += (uint64_t)term->offsets[i + 1];
	}
	value <<= bits;
	value = term->is_signed ? (uint64_t)((int64_t)value >> bits) : value >> bits;
	return (value & term->mask) - term->first <= term->span;
}

static inline bool condition_holds(const struct kd_condition *condition)
{
	uint8_t holds = 0;

	for (unsigned int i = 0; i < condition->n; i++)
		holds |= (uint8_t)(term_holds(&condition->terms[i]) << i);
	for (unsigned int i = 0; i < KD_TERMS && condition->groups[i]; i++)
		if ((holds & condition->groups[i]) == condition->groups[i])
			return true;
	return false;
}

/* 1, 0; or -1 if it is refused, and *error says why. */
static inline int holds(const char *text, const struct condition_place *place,
			struct predicate_error *error)
{
	struct kd_condition condition;
	struct predicate predicate;

	*error = (struct predicate_error){ 0 };
	if (predicate_parse(&predicate, text, error) ||
	    condition_make(&condition, &predicate, place, error))
		return -1;
	return condition_holds(&condition);
}

#endif
