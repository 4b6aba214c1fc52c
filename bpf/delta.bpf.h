/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Shortest window of triggers. If it depends on the name of the thread that ends a window, the
 * name is only read for windows not shorter than the smallest delta. */
#ifndef DELTA_BPF_H
#define DELTA_BPF_H

#include "compat.bpf.h"
#include "maps.bpf.h"

/* The first match counts. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, KD_NAMED_DELTAS);
	__type(key, u32);
	__type(value, struct kd_delta);
} kd_deltas SEC(".maps");

/* True if a delta matches a thread name, given in two words. */
static __noinline bool delta_is_of(const struct kd_delta *delta, u64 first, u64 second)
{
	u64 words[2] = { first, second }, states = delta->names.starts;
	const u8 *name = (const u8 *)words;

#pragma unroll
	for (u32 i = 0; i < KD_COMM_LEN; i++) {
		if (!name[i])
			break;
		states = (states & delta->names.takes[name[i]]) << 1 |
			 (states & delta->names.stays);
	}
	return states & delta->names.ends;
}

/* Global, to be verified once, in all runs with triggers: delta of the current thread. */
__noinline u64 delta_of_current(void)
{
	u64 name[KD_COMM_LEN / sizeof(u64)] = {};

	if (!kd_named_deltas)
		return kd_delta_others;
	current_comm((char *)name);
	for (u32 i = 0; i < KD_NAMED_DELTAS && i < kd_named_deltas; i++) {
		u32 key = i;
		struct kd_delta *delta = bpf_map_lookup_elem(&kd_deltas, &key);

		if (delta && delta_is_of(delta, name[0], name[1]))
			return delta->ns;
	}
	return kd_delta_others;
}

/* True if a window that ends here and now is to be skipped. */
static __always_inline bool is_short(u64 ns)
{
	if (ns < kd_delta)
		return true;
	return kd_named_deltas && ns < delta_of_current();
}

#endif
