/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* User stacks that user space knows, and that need no new copy.
 *
 * Unwinding a stack reads a few registers and words of it, mostly return addresses: its shape,
 * which user space provides. While their values and the mapped code are unchanged, so is the
 * stack. */
#ifndef KNOWN_BPF_H
#define KNOWN_BPF_H

#include "stack.bpf.h"
#include "target.bpf.h"

/* User space writes both at any time: data read is right if the hash matches. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* KD_SHAPES */
	__type(key, u32);
	__type(value, struct kd_shape);
} kd_shapes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* KD_KNOWN */
	__type(key, u32);
	__type(value, struct kd_known);
} kd_known SEC(".maps");

#define KNOWN_PART 8

/* For known_try(): mixes up to KNOWN_PART words of the stack, from the shape's word first on,
 * into the hash in trace->known. Returns false if one is unreadable. Global, to be verified
 * once. */
TRACES_GLOBAL int known_words(u32 key, u32 index, u32 first)
{
	struct kd_trace *trace = scratch_trace(key);
	struct kd_shape *shape = bpf_map_lookup_elem(&kd_shapes, &index);
	u64 start, i, at, word;

	if (!trace || !shape)
		return 0;
	start = trace->user_sp - KD_RED_ZONE;
	for (u32 part = 0; part < KNOWN_PART; part++) {
		i = first + part;
		barrier_var(i); /* this register must be in bounds */
		if (i >= KD_SHAPE_WORDS || i >= shape->n)
			break;
		at = shape->words[i];
		if (bpf_probe_read_user(&word, sizeof(word), (void *)(start + at * sizeof(word))))
			return 0;
		trace->known = kd_known_mix(trace->known, kd_known_word(at, word));
	}
	return 1;
}

/* Notes in a trace which stack the current thread has, whose registers were taken, if it has
 * that shape and is known. Global, to be verified once. */
TRACES_GLOBAL int known_try(u32 key, u32 index)
{
	struct kd_trace *trace = scratch_trace(key);
	struct kd_shape *shape = bpf_map_lookup_elem(&kd_shapes, &index);
	u64 hash, regs, stack, mapped_at;
	struct kd_known *known;
	u32 n;

	if (!trace || !shape || shape->ip != trace->user_ip || shape->sp != trace->user_sp)
		return 0;
	regs = shape->regs;
	n = shape->n;
	trace->known = kd_known_mix(kd_known_mix(kd_known_seed(trace->tgid), n), regs);
	for (u32 i = 0; i < KD_SHAPE_WORDS && i < n; i += KNOWN_PART)
		if (!known_words(key, index, i))
			return 0;
	hash = trace->known;
	for (u32 i = 0; i < KD_REGS; i++)
		hash = kd_known_mix(hash, kd_known_register(regs, i, trace->regs[i]));
	index = hash % KD_KNOWN;
	known = bpf_map_lookup_elem(&kd_known, &index);
	mapped_at = mapped_at_of(trace->tgid);
	if (!known || !mapped_at)
		return 0;
	stack = READ_ONCE(known->stack);
	if (kd_known_check(hash, stack, mapped_at) != known->check)
		return 0;
	trace->known = stack;
	return 1;
}

static __always_inline bool known_find(struct kd_trace *trace, u32 key)
{
	u32 index = kd_shape_index(trace->user_ip, trace->user_sp);

	for (u32 way = 0; way < KD_SHAPE_WAYS; way++)
		if (known_try(key, index + way))
			return true;
	return false;
}

#endif
