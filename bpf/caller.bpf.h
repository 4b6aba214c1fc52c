/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Functions of the program that waited for a lock: the innermost part of the user stack at the
 * end of the call. Taken for the longest wait for each lock in a window, and not for short ones;
 * user space unwinds it. */
#ifndef CALLER_BPF_H
#define CALLER_BPF_H

#include "stack.bpf.h"
#include "thread.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, KD_CALLERS);
	__type(key, struct kd_caller_key);
	__type(value, struct kd_caller);
} kd_callers SEC(".maps");

/* Template of new entries, which do not fit the program's stack. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct kd_caller);
} kd_no_caller SEC(".maps");

static __always_inline struct kd_caller *caller_of(const struct kd_caller_key *key)
{
	struct kd_caller *caller = bpf_map_lookup_elem(&kd_callers, key), *none;
	u32 zero = 0;

	if (caller)
		return caller;
	none = bpf_map_lookup_elem(&kd_no_caller, &zero);
	if (!none)
		return NULL;
	kd_callers_used = 1;
	bpf_map_update_elem(&kd_callers, key, none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&kd_callers, key);
}

/* Copies the stack from its pointer on, up to the end of a page, if two pages cannot be read. */
static __always_inline void caller_stack_take(struct kd_caller *caller)
{
	u64 sp = caller->regs[KD_REG_SP], size = KD_STACK_PAGE - sp % KD_STACK_PAGE;

	caller->size = KD_CALLER_BYTES;
	if (!bpf_probe_read_user(caller->stack, KD_CALLER_BYTES, (void *)sp))
		return;
	if (size >= KD_CALLER_BYTES ||
	    bpf_probe_read_user(caller->stack, BOUNDED(size, KD_CALLER_BYTES), (void *)sp))
		size = 0;
	caller->size = size;
}

/* Called at the end of the current thread's call with a long wait. Return probes hide the
 * callers of functions on the stack. Global, to be verified once. */
__noinline int caller_take(u32 slot)
{
	struct kd_thread *thread = slot_thread(slot);
	struct kd_caller_key key = { .slot = slot };
	struct kd_caller *caller;

	if (!thread)
		return 0;
	key.gen = thread->waited.gen;
	key.address = thread->waited.lock;
	thread->long_wait = 0;
	if (thread->call & KD_CALL_COMPAT || task_returns((void *)bpf_get_current_task()))
		return 0;
	caller = caller_of(&key);
	if (!caller)
		loss_count(KD_LOSS_CALLERS);
	if (!caller || caller->ns > thread->waited.ns)
		return 0;
	caller->size = 0;
	caller->ns = thread->waited.ns;
	if (registers_read(caller->regs, caller->stack, current_user_regs()))
		caller_stack_take(caller);
	return 0;
}

#endif
