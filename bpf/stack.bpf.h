/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Stacks: of the kernel by its own unwinder, of the user by a copy of registers
 * and memory, which user space unwinds. */
#ifndef STACK_BPF_H
#define STACK_BPF_H

#include "compat.bpf.h"
#include "maps.bpf.h"

/* The ABI lets leaf functions use so much below the stack pointer. */
#if defined(__TARGET_ARCH_x86)
#define RED_ZONE 128
#else
#define RED_ZONE 0
#endif
/* Where a stack's end is not known, it is taken to be behind so many pages that
 * could not be read. */
#define HOLE_PAGES 16

/* Who is using a scratch record: programs that may interrupt each other, one of
 * each kind per CPU, and the iterator. */
enum scratch { SCRATCH_THREAD, SCRATCH_INTERRUPT, SCRATCHES };
#define SCRATCH_ITERATOR 0 /* its key; those of CPUs come behind */

/* How far the copying of a stack has come. */
#define KD_PART_PAGES 4
struct kd_cursor {
	u64 at, end;
	u64 present[KD_STACK_WORDS];
	u32 offset, misses, page, pages;
};

struct kd_scratch {
	struct kd_trace trace;
	u8 stack[KD_STACK_MAX + 2 * KD_STACK_PAGE]; /* where the verifier sees no end */
	struct kd_cursor cursor;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* CPUs * SCRATCHES, and the iterator's */
	__type(key, u32);
	__type(value, struct kd_scratch);
} kd_scratches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* set by user space */
} kd_traces SEC(".maps");

static __always_inline u32 scratch_key(enum scratch scratch)
{
	return bpf_get_smp_processor_id() * SCRATCHES + scratch + SCRATCH_ITERATOR + 1;
}

static __always_inline struct kd_trace *scratch_trace(u32 key)
{
	struct kd_scratch *scratch = bpf_map_lookup_elem(&kd_scratches, &key);

	return scratch ? &scratch->trace : NULL;
}

/* Takes a token: the time at which the next one is due runs ahead of the clock
 * by no more than a burst. Two CPUs may take the same one; it does not matter. */
static __always_inline bool stack_is_allowed(u64 t, u64 *due)
{
	u64 next = READ_ONCE(*due);

	if (!kd_stack_period)
		return true;
	if (next > t + kd_stack_burst)
		return false;
	WRITE_ONCE(*due, (next > t ? next : t) + kd_stack_period);
	return true;
}

/* The kernel's stack of a thread that is not running, or of the current one. */
static __always_inline void kernel_stack_take(struct kd_trace *trace, struct task_struct *task)
{
	long bytes = 0;

	if (kd_kernel_stacks)
		bytes = bpf_get_task_stack(task, trace->kernel, sizeof(trace->kernel), 0);
	trace->n_kernel = bytes > 0 ? bytes / sizeof(u64) : 0;
}

/* The registers that the current thread had in user mode. */
static __always_inline bool registers_take(struct kd_trace *trace, const void *from)
{
	struct user_regs regs;

	if (!from || bpf_probe_read_kernel(&regs, sizeof(regs), from))
		return false;
#if defined(__TARGET_ARCH_x86)
	trace->regs[0] = regs.ax;
	trace->regs[1] = regs.dx;
	trace->regs[2] = regs.cx;
	trace->regs[3] = regs.bx;
	trace->regs[4] = regs.si;
	trace->regs[5] = regs.di;
	trace->regs[6] = regs.bp;
	trace->regs[7] = regs.sp;
	trace->regs[8] = regs.r8;
	trace->regs[9] = regs.r9;
	trace->regs[10] = regs.r10;
	trace->regs[11] = regs.r11;
	trace->regs[12] = regs.r12;
	trace->regs[13] = regs.r13;
	trace->regs[14] = regs.r14;
	trace->regs[15] = regs.r15;
	trace->regs[16] = regs.ip;
#else
	__builtin_memcpy(trace->regs, &regs, sizeof(trace->regs));
#endif
	return true;
}

/* Up to which address the stack with this stack pointer may go; ~0 if that is not
 * known. C libraries put a thread's control block, which its thread pointer leads
 * to, above its stack; the first thread's has the arguments there. */
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

/* In a signal's handler, on a stack of its own: what it interrupted is on the
 * thread's, how deep is not known. */
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

	trace->stack_start = sp - RED_ZONE;
	trace->stack_end = stack_end(task, sp);
	trace->other_start = 0;
	other_stack(trace, task);
}

/* Copies a part of what there is of a stack, and moves the cursor on. Branches only to
 * leave: the verifier would follow each twice as often. Global, as stack_copy() is: the
 * verifier walks its loop once, not for each of the parts. Returns whether there may be
 * more. */
__noinline int stack_copy_part(u32 key)
{
	struct kd_scratch *scratch = bpf_map_lookup_elem(&kd_scratches, &key);
	struct kd_cursor *cursor;
	u32 offset, misses, i, part;
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
	for (u32 n = 0; n < KD_PART_PAGES; n++, i++) {
		if (i >= cursor->pages || at >= end || misses > HOLE_PAGES) {
			more = false;
			break;
		}
		part = KD_STACK_PAGE - at % KD_STACK_PAGE;
		if (offset + part > kd_user_bytes) { /* only a part of the page, and no more */
			scratch->trace.flags |= KD_TRACE_CUT;
			part = kd_user_bytes - offset;
			cursor->pages = i + 1;
			more = part > 0;
			if (!more)
				break;
		}
		read = ~(bpf_probe_read_user(&scratch->stack[BOUNDED(offset, KD_STACK_MAX)],
					     BOUNDED(part, 2 * KD_STACK_PAGE), (void *)at) >>
			 63);
		offset += part & read;
		misses = (misses + (end == ~0ULL)) & ~read;
		cursor->present[i / 64 % KD_STACK_WORDS] |= (1ULL << (i % 64)) & read;
		at += part;
	}
	cursor->offset = offset;
	cursor->misses = misses;
	cursor->at = at;
	cursor->page = i;
	return more;
}

/* Copies what there is of a stack, behind offset bytes that are there already. Returns
 * the new offset. Global, to be verified once. */
__noinline int stack_copy(u32 key, u32 offset, bool other)
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
	for (u32 i = 0; i < KD_STACK_PAGES / KD_PART_PAGES; i++) {
		if (!stack_copy_part(key))
			break;
	}
	if (other)
		scratch->trace.other_pages = cursor->present[0];
	else
		__builtin_memcpy(scratch->trace.pages, cursor->present, sizeof(cursor->present));
	return cursor->offset;
}

/* Copies registers and stack of the current thread; from: its registers in user
 * mode. */
static __always_inline void user_stack_take(struct kd_trace *trace, u32 key, const void *from)
{
	if (!registers_take(trace, from))
		return;
	trace->user_ip = trace->regs[KD_REG_IP];
	stack_bounds(trace, (struct task_struct *)bpf_get_current_task());
	__builtin_memset(trace->pages, 0, sizeof(trace->pages));
	trace->other_pages = 0;
	trace->size = stack_copy(key, 0, false);
	trace->other_size = 0;
	if (trace->other_start)
		trace->other_size = stack_copy(key, trace->size, true) - trace->size;
	trace->flags |= KD_TRACE_REGS;
}

/* Sends what is in a scratch record. The ring is read every few ten milliseconds;
 * its reader is woken if it fills up before, or if that cannot wait. */
__noinline int trace_send(u32 key, bool urgent)
{
	struct kd_scratch *scratch = bpf_map_lookup_elem(&kd_scratches, &key);
	u64 size = __builtin_offsetof(struct kd_trace, kernel), flags = BPF_RB_NO_WAKEUP;

	if (!scratch)
		return 0;
	if (scratch->trace.flags & KD_TRACE_REGS)
		size = sizeof(struct kd_trace) + scratch->trace.size + scratch->trace.other_size;
	else if (scratch->trace.n_kernel)
		size = __builtin_offsetof(struct kd_trace, regs);
	if (size > sizeof(*scratch))
		return 0;
	if (urgent || bpf_ringbuf_query(&kd_traces, BPF_RB_AVAIL_DATA) > kd_ring_half)
		flags = BPF_RB_FORCE_WAKEUP;
	if (bpf_ringbuf_output(&kd_traces, scratch, size, flags))
		__sync_fetch_and_add(&kd_traces_lost, 1);
	return 0;
}

#endif
