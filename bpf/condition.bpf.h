/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Conditions of triggers on values of registers, arguments and memory at the hit. The map only
 * exists in runs with a condition; in others this is dead code. */
#ifndef CONDITION_BPF_H
#define CONDITION_BPF_H

#include "compat.bpf.h"
#include "maps.bpf.h"

/* First those of the start, then those of the stop. A site's cookie is the index. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, KD_ROLES *KD_CONDITIONS);
	__type(key, u32);
	__type(value, struct kd_condition);
} kd_conditions SEC(".maps");

enum condition { CONDITION_FALSE, CONDITION_TRUE, CONDITION_UNREAD };
_Static_assert(CONDITION_TRUE == 1 && CONDITION_UNREAD == 2, "bits");

#define NUMBER_BOUND 16 /* power of two for BOUNDED(), above any size */

/* Loads memory of this size as a number; all machines are little-endian. Returns 0 or an error. */
static __always_inline long number_load(u64 *value, u64 address, u32 size, bool in_kernel)
{
	u64 read[NUMBER_BOUND / sizeof(u64)] = {};
	long error;

	size = BOUNDED(size, NUMBER_BOUND);
	if (in_kernel)
		error = bpf_probe_read_kernel(read, size, (void *)address);
	else
		error = bpf_probe_read_user(read, size, (void *)address);
	*value = read[0];
	return error;
}

/* Reads the context as memory, because the offset is not constant. */
static __always_inline u64 register_read(void *ctx, u32 offset, u32 size)
{
	u64 read[NUMBER_BOUND / sizeof(u64)] = {};

	if (offset == KD_NO_REGISTER)
		return 0;
	bpf_probe_read_kernel(read, BOUNDED(size, NUMBER_BOUND), ctx + (offset & 0xffff));
	return read[0];
}

/* Tests a comparison for a value, or for the memory it leads to. Global, to be verified once:
 * runs without conditions have no map. */
__noinline int term_test(u32 key, u32 index, u64 value)
{
	struct kd_condition *condition;
	const struct kd_term *term;
	u32 loads, size, bits;

	if (!kd_conditional[KD_START] && !kd_conditional[KD_STOP])
		return CONDITION_FALSE;
	condition = bpf_map_lookup_elem(&kd_conditions, &key);
	if (!condition)
		return CONDITION_FALSE;
	term = &condition->terms[BOUNDED(index, KD_TERMS)];
	loads = term->loads;
	size = term->size;
	value += term->offsets[0];
	for (u32 i = 0; i < KD_TERM_LOADS && i < loads; i++) {
		if (number_load(&value, value, i + 1 == loads ? size : sizeof(u64),
				condition->in_kernel))
			return CONDITION_UNREAD;
		value += term->offsets[i + 1];
	}
	bits = (64 - 8 * size) & 63;
	value <<= bits;
	value = term->is_signed ? (u64)((s64)value >> bits) : value >> bits;
	return (value & term->mask) - term->first <= term->span ? CONDITION_TRUE : CONDITION_FALSE;
}

/* Makes all comparisons and combines them at the end, so that the verifier has no branches to
 * follow. UNREAD: might have been true, but memory was unreadable. */
static __noinline int condition_test(void *ctx, u32 key)
{
	struct kd_condition *condition = bpf_map_lookup_elem(&kd_conditions, &key);
	u32 are = 0, may_be = 0;
	bool unread = false;

	if (!condition)
		return CONDITION_FALSE;
	for (u32 i = 0; i < KD_TERMS && i < condition->n; i++) {
		const struct kd_term *term = &condition->terms[i];
		u32 size = term->loads ? sizeof(u64) : term->size;
		u64 value = register_read(ctx, term->base, size);
		u32 result;

		value += register_read(ctx, term->index, sizeof(u64)) << (term->shift & 3);
		result = term_test(key, i, value);
		/* Arithmetic, not branches. */
		are |= (result & CONDITION_TRUE) << i;
		may_be |= ((result | result >> 1) & 1) << i;
	}
	for (u32 i = 0; i < KD_TERMS; i++) {
		u32 group = condition->groups[i];

		if (!group)
			break;
		if ((are & group) == group)
			return CONDITION_TRUE;
		unread |= (may_be & group) == group;
	}
	return unread ? CONDITION_UNREAD : CONDITION_FALSE;
}

/* Tests whether a hit of a trigger counts. */
static __always_inline enum condition condition_of(void *ctx, enum kd_role role, bool has_sites)
{
	u32 key = role * KD_CONDITIONS;

	if (!kd_conditional[role])
		return CONDITION_TRUE;
	/* The probe at all system calls uses its cookie otherwise (call_is_trigger()). */
	if (has_sites)
		key += site_cookie(ctx);
	return condition_test(ctx, key);
}

#endif
