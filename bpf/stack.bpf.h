/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Kernel stacks come from the kernel's unwinder. User stacks are copied with the registers, for
 * user space to unwind, unless user space has unwound them before. */
#ifndef STACK_BPF_H
#define STACK_BPF_H

#include "compat.bpf.h"
#include "maps.bpf.h"
#include "target.bpf.h"

/* --- Registers and stacks --- */

/* Unreadable pages in a row that a stack without a known end may have. */
#define HOLE_PAGES 16

/* Users of scratch records: programs that may interrupt each other, one of each kind per CPU,
 * and the iterator. */
enum scratch { SCRATCH_THREAD, SCRATCH_INTERRUPT, SCRATCHES };
#define SCRATCH_ITERATOR 0 /* the iterator's key; the CPUs' keys follow */

/* Progress of copying a stack. */
#define KD_CHUNK_PAGES 2
#define KD_CHUNKS 16 /* per stack_copy_chunks() */
struct kd_cursor {
	u64 at, end;
	u64 present[KD_STACK_WORDS];
	u32 offset, misses, page, pages;
};

/* Purposes of copies. Threads copied in advance, when switched out, may wait only a moment. */
enum purpose { FOR_RECORD, IN_ADVANCE, PURPOSES };

struct kd_scratch {
	struct kd_trace trace;
	/* Space beyond a copy: for the returns, and for accesses the verifier cannot bound. */
	u8 stack[KD_STACK_MAX + 2 * KD_STACK_PAGE];
	struct kd_cursor cursor;
	u64 due[PURPOSES]; /* when the costs of copies will be paid off */
	u64 copied_at;     /* when the copy began; 0: not copied */
	u32 purpose;
};

ARRAY_MAP(kd_scratches, 1, struct kd_scratch); /* CPUs * SCRATCHES, plus the iterator's */

RING_MAP(kd_traces, 4096); /* set by user space */

static __always_inline u32 scratch_key(enum scratch scratch)
{
	return bpf_get_smp_processor_id() * SCRATCHES + scratch + SCRATCH_ITERATOR + 1;
}

static __always_inline struct kd_trace *scratch_trace(u32 key)
{
	struct kd_scratch *scratch = bpf_map_lookup_elem(&kd_scratches, &key);

	return scratch ? &scratch->trace : NULL;
}

/* Costs of copies, scaled by their share, may run ahead of the clock by at most a burst. Each CPU
 * has its own budget for each purpose. */
static __always_inline bool stack_is_allowed(struct kd_scratch *scratch, enum purpose purpose,
					     u64 t)
{
	return !kd_stack_share || scratch->due[purpose] <= t + kd_stack_burst;
}

/* Longest time a copy takes; a longer one was interrupted. */
#define COPY_NS_MAX 200000

static __always_inline void stack_charge(struct kd_scratch *scratch)
{
	u64 now = clock_now(), ns = elapsed(scratch->copied_at, now);
	u64 *due = &scratch->due[BOUNDED(scratch->purpose, PURPOSES)];

	if (ns > COPY_NS_MAX)
		ns = COPY_NS_MAX;
	*due = (*due > now ? *due : now) + ns * 1000000 / kd_stack_share;
}

/* Kernel stack of a thread that is not running, or of the current one. */
static __always_inline void kernel_stack_take(struct kd_trace *trace, struct task_struct *task)
{
	long bytes = 0;

	if (kd_kernel_stacks)
		bytes = bpf_get_task_stack(task, trace->kernel, sizeof(trace->kernel), 0);
	trace->n_kernel = bytes > 0 ? bytes / sizeof(u64) : 0;
}

#define SCHED_CHUNK 12

/* Examines up to SCHED_CHUNK of count words of a kernel stack's copy, from first on. Returns
 * whether the innermost function shown by the kernel was found. Branches only to leave, as in
 * stack_copy_chunk(). Global, so that a chunk is verified once, not the entire loop. */
TRACES_GLOBAL int sched_words_chunk(u32 key, u32 first, u32 count)
{
	struct kd_scratch *scratch = bpf_map_lookup_elem(&kd_scratches, &key);
	const u64 last = KD_SCHED_WORDS - 1;
	u64 n, word, *words, from = first;

	barrier_var(from); /* this register must be in bounds */
	if (!scratch || from >= SCHED_STACK / sizeof(u64))
		return 1;
	words = (u64 *)scratch->stack + from;
	for (u32 i = 0; i < SCHED_CHUNK && i < count; i++) {
		word = words[i];
		if (word == scratch->trace.kernel[0])
			return 1;
		/* Counts in memory, so that the verifier does not track the number. */
		n = scratch->trace.n_sched;
		scratch->trace.sched[BOUNDED(n, KD_SCHED_WORDS)] = word;
		scratch->trace.n_sched = n + (is_image_address(word) & (n - last) >> 63);
	}
	return 0;
}

/* Collects words on the stack of a thread that is not running, if they may be return addresses.
 * bpf_get_task_stack() leaves out those in the scheduler (stack_trace_consume_entry_nosched());
 * user space picks them by function name. Global, to be verified once. */
TRACES_GLOBAL int sched_words_find(u32 key, u64 sp, u64 top)
{
	struct kd_scratch *scratch = bpf_map_lookup_elem(&kd_scratches, &key);
	u64 size = top - sp;
	u32 n;

	if (!scratch || !scratch->trace.n_kernel)
		return 0;
	if (size > SCHED_STACK)
		size = SCHED_STACK;
	if (bpf_probe_read_kernel(scratch->stack, size, (void *)sp))
		return 0;
	n = size / sizeof(u64);
	for (u32 i = 0; i < SCHED_STACK / sizeof(u64) && i < n; i += SCHED_CHUNK)
		if (sched_words_chunk(key, i, n - i))
			return 0;
	scratch->trace.n_sched = 0; /* not the right stack */
	return 0;
}

static __always_inline void sched_words_take(u32 key, struct task_struct *task)
{
	u64 stack = (u64)BPF_CORE_READ(task, stack), sp = task_stack_pointer(task);

	if (sp - stack < kd_stack_size)
		sched_words_find(key, sp, stack + kd_stack_size);
}

/* Reads the user registers by way of a buffer. The program's own stack has no space for them: its
 * 512 bytes are for all nested functions. */
static __always_inline bool registers_read(__u64 into[KD_REGS], void *buffer, const void *from)
{
#if defined(__TARGET_ARCH_x86)
	struct user_regs *regs = buffer;

	if (!from || bpf_probe_read_kernel(regs, sizeof(*regs), from))
		return false;
	into[0] = regs->ax;
	into[1] = regs->dx;
	into[2] = regs->cx;
	into[3] = regs->bx;
	into[4] = regs->si;
	into[5] = regs->di;
	into[6] = regs->bp;
	into[7] = regs->sp;
	into[8] = regs->r8;
	into[9] = regs->r9;
	into[10] = regs->r10;
	into[11] = regs->r11;
	into[12] = regs->r12;
	into[13] = regs->r13;
	into[14] = regs->r14;
	into[15] = regs->r15;
	into[16] = regs->ip;
	return true;
#else
	return from && !bpf_probe_read_kernel(into, KD_REGS * sizeof(*into), from);
#endif
}

static __always_inline bool registers_take(struct kd_trace *trace, const void *from)
{
	return registers_read(trace->regs, ((struct kd_scratch *)trace)->stack, from);
}

/* Upper bound of the stack with this stack pointer; ~0 if unknown. C libraries put a thread's
 * control block, at its thread pointer, above its stack. The main thread has its arguments
 * there. */
static __always_inline u64 stack_end(struct task_struct *task, u64 sp)
{
	u64 thread_pointer = task_thread_pointer(task), end = ~0ULL;
	u64 start_stack = BPF_CORE_READ(task, mm, start_stack);

	if (thread_pointer > sp)
		end = thread_pointer;
	if (start_stack > sp && start_stack < end)
		end = start_stack;
	return end == ~0ULL ? end : (end | (KD_STACK_PAGE - 1)) + 1;
}

/* Handles sigaltstack(): the interrupted code is on the thread's own stack, at an unknown depth. */
static __always_inline void other_stack(struct kd_trace *trace, struct task_struct *task)
{
	u64 start = BPF_CORE_READ(task, sas_ss_sp), size = BPF_CORE_READ(task, sas_ss_size);
	u64 end;

	if (!size || trace->regs[KD_REG_SP] - start >= size)
		return;
	trace->stack_end = start + size;
	end = BPF_CORE_READ(task, pid) == BPF_CORE_READ(task, tgid)
		      ? BPF_CORE_READ(task, mm, start_stack)
		      : task_thread_pointer(task);
	trace->other_start = (end | (KD_STACK_PAGE - 1)) + 1 - KD_OTHER_PAGES * KD_STACK_PAGE;
}

static __always_inline void stack_bounds(struct kd_trace *trace, struct task_struct *task)
{
	u64 sp = trace->regs[KD_REG_SP];

	trace->stack_start = sp - KD_RED_ZONE;
	trace->stack_end = stack_end(task, sp);
	trace->other_start = 0;
	other_stack(trace, task);
}

/* Copies a chunk of a stack and advances the cursor. Returns whether there may be more. Branches
 * only to leave: others would double the verifier's paths. Global, so that its loop is verified
 * once, not per chunk. */
TRACES_GLOBAL int stack_copy_chunk(u32 key)
{
	struct kd_scratch *scratch = bpf_map_lookup_elem(&kd_scratches, &key);
	struct kd_cursor *cursor;
	u32 offset, misses, i, bytes;
	u64 at, end, read;
	bool more = true;

	if (!scratch)
		return 0;
	cursor = &scratch->cursor;
	offset = cursor->offset;
	misses = cursor->misses;
	at = cursor->at;
	end = cursor->end;
	i = cursor->page;
	for (u32 n = 0; n < KD_CHUNK_PAGES; n++, i++) {
		if (i >= cursor->pages || at >= end || misses > HOLE_PAGES) {
			more = false;
			break;
		}
		bytes = KD_STACK_PAGE - at % KD_STACK_PAGE;
		if (offset + bytes > kd_user_bytes) { /* copy part of the page, then stop */
			scratch->trace.flags |= KD_TRACE_CUT;
			bytes = kd_user_bytes - offset;
			cursor->pages = i + 1;
			more = bytes > 0;
			if (!more)
				break;
		}
		read = ~(bpf_probe_read_user(&scratch->stack[BOUNDED(offset, KD_STACK_MAX)],
					     BOUNDED(bytes, 2 * KD_STACK_PAGE), (void *)at) >>
			 63);
		offset += bytes & read;
		misses = (misses + (end == ~0ULL)) & ~read;
		cursor->present[i / 64 % KD_STACK_WORDS] |= (1ULL << (i % 64)) & read;
		at += bytes;
	}
	cursor->offset = offset;
	cursor->misses = misses;
	cursor->at = at;
	cursor->page = i;
	return more;
}

/* Copies KD_CHUNKS chunks: two short loops are verified faster than one long loop. */
TRACES_GLOBAL int stack_copy_chunks(u32 key)
{
	for (u32 i = 0; i < KD_CHUNKS; i++)
		if (!stack_copy_chunk(key))
			return 0;
	return 1;
}

/* Copies a stack after offset bytes of earlier data. Returns the new offset. Global, to be
 * verified once. */
TRACES_GLOBAL int stack_copy(u32 key, u32 offset, bool other)
{
	struct kd_scratch *scratch = bpf_map_lookup_elem(&kd_scratches, &key);
	struct kd_cursor *cursor;

	if (!scratch || offset > KD_STACK_MAX)
		return 0;
	cursor = &scratch->cursor;
	cursor->at = other ? scratch->trace.other_start : scratch->trace.stack_start;
	cursor->end = other ? cursor->at + KD_OTHER_PAGES * KD_STACK_PAGE
			    : scratch->trace.stack_end;
	cursor->offset = offset;
	cursor->misses = 0;
	cursor->page = 0;
	cursor->pages = other ? KD_OTHER_PAGES : KD_STACK_PAGES;
	__builtin_memset(cursor->present, 0, sizeof(cursor->present));
	for (u32 i = 0; i < KD_STACK_PAGES / KD_CHUNK_PAGES / KD_CHUNKS; i++) {
		if (!stack_copy_chunks(key))
			break;
	}
	if (other)
		scratch->trace.other_pages = cursor->present[0];
	else
		__builtin_memcpy(scratch->trace.pages, cursor->present, sizeof(cursor->present));
	return cursor->offset;
}

#define RETURNS_CHUNK 4
_Static_assert(KD_RETURNS % RETURNS_CHUNK == 0, "all of them, and no others");

/* Appends some return_instances, from the one at this address on. Returns the address of the next
 * one. Global, to be verified once. */
TRACES_GLOBAL u64 returns_chunk(u32 key, u32 offset, u64 address)
{
	struct kd_scratch *scratch = bpf_map_lookup_elem(&kd_scratches, &key);
	struct return_instance *instance;
	struct kd_return *to;
	u64 at;

	for (u32 i = 0; scratch && i < RETURNS_CHUNK && address; i++) {
		/* Counts in memory, so that the verifier does not track the number. */
		at = offset + (u64)scratch->trace.n_returns++ * sizeof(*to);
		barrier_var(at); /* this register must be in bounds */
		if (at > KD_STACK_MAX + KD_RETURNS * sizeof(*to))
			return 0;
		instance = (struct return_instance *)address;
		to = (struct kd_return *)&scratch->stack[at];
		to->stack = BPF_CORE_READ(instance, stack);
		to->address = BPF_CORE_READ(instance, orig_ret_vaddr);
		address = (u64)BPF_CORE_READ(instance, next);
	}
	return address;
}

/* Copies the return addresses that the kernel has replaced by its trampoline for return probes,
 * after offset bytes of earlier data. */
TRACES_GLOBAL int returns_copy(u32 key, u32 offset, u64 innermost)
{
	struct kd_trace *trace = scratch_trace(key);

	if (!trace || offset > KD_STACK_MAX)
		return 0;
	trace->n_returns = 0;
	for (u32 n = 0; n < KD_RETURNS && innermost; n += RETURNS_CHUNK)
		innermost = returns_chunk(key, offset, innermost);
	return 0;
}

/* Undoes uprobe changes for a thread whose registers and stack were copied. */
static __always_inline void uprobes_undo(struct kd_trace *trace, u32 key, struct task_struct *task)
{
	struct return_instance *innermost = task_returns(task);

	trace->regs[KD_REG_IP] = task_original_ip(task, trace->regs[KD_REG_IP]);
	trace->n_returns = 0;
	trace->trampoline = 0;
	if (likely(!innermost))
		return;
	trace->trampoline = BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
	returns_copy(key, trace->size + trace->other_size, (u64)innermost);
}

/* Copies the stack of the current thread, whose registers were taken. */
static __always_inline void user_stack_take(struct kd_trace *trace, u32 key)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	trace->mapped_at = mapped_at_of(trace->tgid);
	stack_bounds(trace, task);
	__builtin_memset(trace->pages, 0, sizeof(trace->pages));
	trace->other_pages = 0;
	trace->size = stack_copy(key, 0, false);
	trace->other_size = 0;
	if (trace->other_start)
		trace->other_size = stack_copy(key, trace->size, true) - trace->size;
	uprobes_undo(trace, key, task);
	trace->flags |= KD_TRACE_REGS;
}

/* --- Stacks that user space has unwound --- */

/* They need no new copy while the values that they were unwound from are the same, and the mapped
 * code: see "Traces" in DETAILS.rst. */

/* User space writes both maps at any time: what was read is right if the hash matches. */
ARRAY_MAP(kd_shapes, 1, struct kd_shape); /* KD_SHAPES */

ARRAY_MAP(kd_cached, 1, struct kd_cached_stack); /* KD_CACHED */

#define HASH_CHUNK 8

/* Mixes up to HASH_CHUNK words of the stack, from the shape's word first on, into the hash
 * trace->cached. Returns false if one is unreadable. Global, to be verified once. */
TRACES_GLOBAL int cached_hash(u32 key, u32 index, u32 first)
{
	struct kd_trace *trace = scratch_trace(key);
	struct kd_shape *shape = bpf_map_lookup_elem(&kd_shapes, &index);
	u64 start, i, at, word;

	if (!trace || !shape)
		return 0;
	start = trace->user_sp - KD_RED_ZONE;
	for (u32 k = 0; k < HASH_CHUNK; k++) {
		i = first + k;
		barrier_var(i); /* this register must be in bounds */
		if (i >= KD_SHAPE_WORDS || i >= shape->n)
			break;
		at = shape->words[i];
		if (bpf_probe_read_user(&word, sizeof(word), (void *)(start + at * sizeof(word))))
			return 0;
		trace->cached = kd_hash_mix(trace->cached, kd_hash_word(at, word));
	}
	return 1;
}

/* Sets trace->cached to user space's number of the current thread's stack, if it has this shape and
 * was unwound before. Global, to be verified once. */
TRACES_GLOBAL int cached_try(u32 key, u32 index)
{
	struct kd_trace *trace = scratch_trace(key);
	struct kd_shape *shape = bpf_map_lookup_elem(&kd_shapes, &index);
	u64 hash, regs, stack, mapped_at;
	struct kd_cached_stack *cached;
	u32 n;

	if (!trace || !shape || shape->ip != trace->user_ip || shape->sp != trace->user_sp)
		return 0;
	regs = shape->regs;
	n = shape->n;
	trace->cached = kd_hash_mix(kd_hash_mix(kd_hash_seed(trace->tgid), n), regs);
	for (u32 i = 0; i < KD_SHAPE_WORDS && i < n; i += HASH_CHUNK)
		if (!cached_hash(key, index, i))
			return 0;
	hash = trace->cached;
	for (u32 i = 0; i < KD_REGS; i++)
		hash = kd_hash_mix(hash, kd_hash_register(regs, i, trace->regs[i]));
	index = hash % KD_CACHED;
	cached = bpf_map_lookup_elem(&kd_cached, &index);
	mapped_at = mapped_at_of(trace->tgid);
	if (!cached || !mapped_at)
		return 0;
	stack = READ_ONCE(cached->stack);
	if (kd_hash_check(hash, stack, mapped_at) != cached->check)
		return 0;
	trace->cached = stack;
	return 1;
}

static __always_inline bool cached_find(struct kd_trace *trace, u32 key)
{
	u32 index = kd_shape_index(trace->user_ip, trace->user_sp);

	for (u32 way = 0; way < KD_SHAPE_WAYS; way++)
		if (cached_try(key, index + way))
			return true;
	return false;
}

#endif
