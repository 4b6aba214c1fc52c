/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What the programs are told, and where they keep what they find. */
#ifndef MAPS_BPF_H
#define MAPS_BPF_H

#include "kernel_types.h"

#include <bpf/bpf_helpers.h>

#include "kernel_delay.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
/* An index that the verifier sees to be in bounds (room is a power of two); the
 * compiler must not find out that it is anyway, and drop the mask. */
#define BOUNDED(index, room)                                                                       \
	({                                                                                         \
		u32 bounded = (index);                                                             \
		barrier_var(bounded);                                                              \
		bounded % (room);                                                                  \
	})
#define READ_ONCE(x) (*(volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, value) (*(volatile typeof(x) *)&(x) = (value))

/* Set before loading; the verifier sees them as constants. */
const volatile __u32 kd_tgid;
const volatile __u64 kd_epoch;
const volatile __u32 kd_slots;
const volatile __u32 kd_banks = 1;
const volatile __u32 kd_cpus = 1;
const volatile __u8 kd_class[KD_CLASSES];

/* Triggers. */
const volatile __u8 kd_target_only[KD_ROLES]; /* hits of other processes mean nothing */
const volatile __u8 kd_same_thread;           /* a stop counts on the thread that started */
const volatile __u8 kd_closes_itself = 1;     /* 0: user space closes what a trigger opened */
const volatile __u8 kd_list_skipped;
/* Where triggers are at the entry or exit of system calls, see KD_AT(). */
const volatile __u8 kd_trigger_calls[KD_CLASSES];
const volatile __u64 kd_delta;    /* shorter windows are skipped */
const volatile __u64 kd_interval; /* after each window kept */

const volatile __u32 kd_histogram_room; /* --histogram: of a bank; 0: none are wanted */

/* Traces. ~0: none are wanted. */
const volatile __u64 kd_call_ns = ~0ULL; /* of system calls that take at least this long */
const volatile __u64 kd_wait_ns = ~0ULL; /* of waits */
/* Waits of this length in a call are noted: shorter than the call has to be, as some
 * of its time passes before and after. */
const volatile __u64 kd_call_wait_ns = ~0ULL;
const volatile __u64 kd_note_ns = ~0ULL; /* the smaller of the last two */
const volatile __u8 kd_tracing;          /* any, or samples of running code */
const volatile __u8 kd_kernel_stacks;
const volatile __u32 kd_user_bytes; /* copied of a user stack at most; 0: none are */
const volatile __u64 kd_ring_half;  /* bytes */
const volatile __u64 kd_stack_period, kd_stack_burst; /* ns; of copies, see stack_is_allowed() */

/* The window word: time of the last edge << KD_WORD_SHIFT | bank | open. It is
 * read by every event and alone in its cache line. */
__u64 kd_word SEC(".data.word") __attribute__((aligned(64))) = 0;
struct kd_window kd_windows[KD_BANKS] SEC(".data.word") __attribute__((aligned(64)));

/* What triggers may do now. Changed where a window is kept only. */
__u64 kd_armed SEC(".data.word") __attribute__((aligned(64))) = 0; /* hits count */
__u64 kd_wanted SEC(".data.word") = 0;                             /* windows still to be taken */
__u64 kd_not_before SEC(".data.word") = 0;                         /* the next window may begin */
__u64 kd_keep SEC(".data.word") = 0; /* shorter windows count, but need not be recorded */

__u64 kd_losses[KD_LOSSES];
/* Threads that started at or after this time, in ns of CLOCK_MONOTONIC, are the
 * fork handler's, older ones the task iterator's: no thread gets two slots. */
__u64 kd_attached_at = ~0ULL;
__u32 kd_seeded;      /* the iterator has seen all threads that were there before */
__u32 kd_edge;        /* enum kd_reading_edge: which reading the iterator takes */
__u64 kd_resynced;    /* switches that the kernel did not report, see switch_in_unreported() */
__u32 kd_overflowed;  /* kd_overflow has been used */
__u64 kd_traces_lost; /* no room in their ring */
__u64 kd_traces_from = ~0ULL; /* what began before is not known */
__u64 kd_maps_told;           /* when user space was last woken up for a mapping */
/* When the next copy of a user stack is due: of system calls and samples, of
 * threads taken off their CPU. */
__u64 kd_stack_due[2];
__u32 kd_exec_slot;          /* the last thread that entered execve */
__u64 kd_clock_skew = ~0ULL; /* CLOCK_MONOTONIC - run queue clock, see exec.bpf.h */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* pid_max / KD_TID_PAGE */
	__type(key, u32);
	__type(value, struct kd_tid_page);
} kd_tids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* kd_slots */
	__type(key, u32);
	__type(value, struct kd_thread);
} kd_threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* kd_banks * kd_slots */
	__type(key, u32);
	__type(value, struct kd_record);
} kd_records SEC(".maps");

/* --histogram: by slot; a bank's kd_histogram_room of them after the other's. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* kd_slots */
	__type(key, u32);
	__type(value, struct kd_histogram_set);
} kd_histogram_sets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* kd_banks * kd_histogram_room */
	__type(key, u32);
	__type(value, struct kd_histogram);
} kd_histograms SEC(".maps");

/* Those that no thread has, from 1 on; filled by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1); /* kd_histogram_room */
	__uint(value_size, sizeof(u32));
} kd_free_histograms SEC(".maps");

/* Traces: notes of waits, by slot. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct kd_wait);
} kd_waits SEC(".maps");

/* Slots that no thread has; filled by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1); /* kd_slots */
	__uint(key_size, 0);
	__uint(value_size, sizeof(u32));
} kd_free_slots SEC(".maps");

/* System calls that found no place in their thread's own table. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, struct kd_overflow_key);
	__type(value, struct kd_count);
} kd_overflow SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, u64);
	__type(value, struct kd_irq_name);
} kd_irq_names SEC(".maps");

/* Of triggers only; the first of them and the ring are made only with those. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct kd_tally);
} kd_tallies SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
} kd_ring SEC(".maps");

/* Starts on threads of other processes, by TID (and CPU, for the idle ones). */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, u64);
	__type(value, u64);
} kd_pairs SEC(".maps");

/* One token: who has it may set edges, on kernels without compare-and-swap. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1);
	__uint(key_size, 0);
	__uint(value_size, sizeof(u32));
} kd_edge_token SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* kd_banks * kd_cpus */
	__type(key, u32);
	__type(value, struct kd_upcalls);
} kd_upcalls SEC(".maps");

static __always_inline u64 clock_now(void)
{
	return bpf_ktime_get_ns() - kd_epoch;
}

static __always_inline void loss_count(enum kd_loss reason)
{
	__sync_fetch_and_add(&kd_losses[reason], 1);
}

#endif
