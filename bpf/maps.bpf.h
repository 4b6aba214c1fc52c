/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Parameters of the programs, and the maps for their results. */
#ifndef MAPS_BPF_H
#define MAPS_BPF_H

#include "kernel_types.h"

#include <bpf/bpf_helpers.h>

#include "kernel_delay.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
/* An index with bounds that the verifier can see (size is a power of two). The compiler must not
 * learn that the index is in bounds anyway, and drop the mask. */
#define BOUNDED(index, size)                                                                       \
	({                                                                                         \
		u32 bounded = (index);                                                             \
		barrier_var(bounded);                                                              \
		bounded % (size);                                                                  \
	})
/* Lesser of two numbers below 2^63. Branchless: in a search for the minimum, the verifier would
 * follow each order. */
static __always_inline u64 lesser(u64 one, u64 other)
{
	u64 less = one - other;

	barrier_var(less);
	return other + (less & (u64)((s64)less >> 63));
}

#define READ_ONCE(x) (*(volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, value) (*(volatile typeof(x) *)&(x) = (value))

/* Set if this object contains the code for traces, see kernel_delay_traces.bpf.c. */
#ifndef KD_TRACES
#define KD_TRACES 0
#endif
/* A function that is verified once, not per caller, and only called for traces. */
#if KD_TRACES
#define TRACES_GLOBAL __noinline
#else
#define TRACES_GLOBAL static
#endif

/* Each variable has an initializer: without one it would lie where the first function that
 * uses it puts it, which is not the same in both objects.
 *
 * Set before loading; the verifier sees them as constants. */
const volatile __u64 kd_epoch = 0;
const volatile __u64 kd_stack_size = 0; /* of kernel stacks, bytes */
const volatile __u32 kd_slots = 0;
const volatile __u32 kd_tid_fronts_size = 1U << KD_TID_BITS; /* of kd_tid_fronts; a power of two */
const volatile __u32 kd_banks = 1;
const volatile __u32 kd_cpus = 1;
const volatile __u32 kd_idle_cpus = 1;    /* that are looked at while threads wait, */
const volatile __u64 kd_idle_look_ns = 0; /* so often at most, from each CPU */
const volatile __u8 kd_class[KD_CLASSES] = {};
const volatile __u8 kd_compat_class[KD_CLASSES] = {}; /* of 32-bit calls */
/* What a thread sleeping in a call waits for: enum kd_awaited, or KD_AWAITED_BY_*; with
 * KD_AWAITED_AT_FILE. */
const volatile __u8 kd_call_awaits[KD_CLASSES] = {};
const volatile __u8 kd_compat_call_awaits[KD_CLASSES] = {};
/* Path argument of a call: enum kd_path. */
const volatile __u8 kd_call_paths[KD_CLASSES] = {};
const volatile __u8 kd_compat_call_paths[KD_CLASSES] = {};
const volatile __u16 kd_call_timeouts[KD_CLASSES] = {}; /* enum kd_timeout; native calls only */
const volatile __u8 kd_clocks_are_ours = 0; /* the target's clocks are ours: no time namespace in
					     * between */
const volatile __s32 kd_affinity_call = KD_CALL_UNKNOWN; /* the native one */
const volatile __s32 kd_futex_call = KD_CALL_UNKNOWN;    /* the native one */

/* Membership of tasks in the target, see target.bpf.h. */
const volatile __u8 kd_many = 0;        /* several processes: kd_processes instead of kd_tgid */
const volatile __u8 kd_by_thread = 0;   /* tasks with a slot, not all of the process */
const volatile __u8 kd_follow_fork = 0; /* includes children of its processes */
const volatile __u64 kd_group = 0;      /* includes all in this cgroup or below; 0: none */
const volatile __u32 kd_hierarchy = 0;  /* its cgroup hierarchy; 0: v2 */
const volatile __u32 kd_self = 0;       /* our TGID */
const volatile __u8 kd_swaps = 0;       /* atomic operations may have results; unknown: 0 */
const volatile __u32 kd_timer_line = 0; /* arm64: the timer's interrupt line; 0: unknown */
const volatile __u32 kd_filter = KD_FILTER_NONE;
const volatile struct kd_names kd_names = {};

/* Triggers. */
const volatile __u8 kd_target_only[KD_ROLES] = {}; /* hits of other processes do not count, */
const volatile __u8 kd_everywhere[KD_ROLES] = {};  /* but cost them as much as the target */
const volatile __u8 kd_conditional[KD_ROLES] = {}; /* only some hits count, see trigger.bpf.h */
const volatile __u8 kd_same_thread = 0;            /* a stop counts on the thread that started */
const volatile __u8 kd_rounds = 0;                 /* nested polls do not count, see poll.bpf.h */
const volatile __u8 kd_stop_in_program = 0;        /* the stop is in the target's own code */
const volatile __u8 kd_closes_itself = 1;          /* 0: user space closes what a trigger opened */
const volatile __u8 kd_list_skipped = 0;
/* System calls with triggers at their entry or exit, see KD_AT(). */
const volatile __u8 kd_trigger_calls[KD_CLASSES] = {};
const volatile __u64 kd_delta = 0;        /* shorter windows are skipped, see hit.bpf.h */
const volatile __u64 kd_delta_others = 0; /* for threads without a pattern */
const volatile __u32 kd_named_deltas = 0; /* number of deltas by name */
const volatile __u64 kd_interval = 0;     /* after each window kept */
const volatile __u32 kd_worst = 0;        /* only the longest windows are wanted, so many; 0: all */

/* Descriptors and locks are looked up after waits of this length; shorter waits are only summed
 * up. */
const volatile __u64 kd_detail_ns = 0;
const volatile __u8 kd_steal = 0;                /* a hypervisor may take CPUs, and reports it */
const volatile __u8 kd_interruptions_wanted = 0; /* --interruptions */
const volatile __u32 kd_histograms_max = 0;      /* --histogram: per bank; 0: not wanted */

/* Traces. KD_UNWANTED: none. */
const volatile __u64 kd_call_ns = KD_UNWANTED; /* for system calls of at least this length */
const volatile __u64 kd_wait_ns = KD_UNWANTED; /* of waits */
/* Noted length of waits in a call: shorter than that of calls, because some time passes before
 * and after the wait. */
const volatile __u64 kd_call_wait_ns = KD_UNWANTED;
const volatile __u64 kd_note_ns = KD_UNWANTED; /* minimum of the previous two */
const volatile __u8 kd_tracing = 0;            /* any of these, or samples of running code */
const volatile __u8 kd_all_wakers = 0;         /* also follow tasks of other processes */
const volatile bool kd_recorder_wanted = false;
const volatile __u8 kd_kernel_stacks = 0;
const volatile __u32 kd_user_bytes = 0; /* most bytes copied of a user stack; 0: none */
const volatile __u64 kd_ring_half = 0;  /* bytes */
/* Limit on copies of user stacks: share of each CPU's time in millionths, 0: none; and burst,
 * how far ahead of the share they may be, in ns. See stack_is_allowed(). */
const volatile __u64 kd_stack_share = 0, kd_stack_burst = 0;

/* The window word, see kd_word_compose(). Every event reads it and the target's TGID, so they
 * have their own cache line. The TGID is set at attach time, see entry.c. */
__u64 kd_word SEC(".data.word") __attribute__((aligned(64))) = 0;
__u32 kd_tgid SEC(".data.word") = 0;
struct kd_window kd_windows[KD_BANKS] SEC(".data.word") __attribute__((aligned(64)));

/* What triggers may do now. Only changed where a window is kept. */
__u64 kd_armed SEC(".data.word") __attribute__((aligned(64))) = 0; /* hits count */
__u64 kd_wanted SEC(".data.word") = 0;                             /* windows still wanted */
__u64 kd_not_before SEC(".data.word") = 0;                         /* earliest start of the next
								    * window */
__u64 kd_keep SEC(".data.word") = 0; /* shorter windows count, but need no recording */

/* A fault is timed if it ends in the generation it began in. The generation changes when timing
 * stops, see faults.c. */
__u32 kd_fault_gen SEC(".data.word") = 2;

__u64 kd_losses[KD_LOSSES] = {};
/* Threads started at or after this time, ns of CLOCK_MONOTONIC, belong to the fork handler,
 * older ones to the task iterator: no thread gets two slots. */
__u64 kd_attached_at = KD_NEVER;
__u32 kd_seeded = 0;    /* the iterator has seen all older threads */
__u32 kd_visit = 0;     /* enum kd_visit: task of the iterator */
__u64 kd_resynced = 0;  /* unreported switches, see switch_in_unreported() */
__u64 kd_real_time = 0; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
/* KD_VISIT_WAITING: the window that has ended; and its end, also for KD_VISIT_CLOSE. */
__u64 kd_visit_gen = 0, kd_visit_end = 0;
/* Last senders of stop signals to the target, from KD_SIGSTOP on. */
struct kd_stopper kd_stop_senders[KD_STOP_SIGNALS] = {};
__u32 kd_processes_changed = 0;  /* number of processes that began or ended, */
__u32 kd_processes_joined = 0;   /* or were moved into the cgroup */
__u64 kd_maps_lost = 0;          /* mappings of code that did not fit the ring of traces */
__u64 kd_traces_from = KD_NEVER; /* earlier calls and waits are unknown */
__u64 kd_maps_reported = 0;      /* last wakeup of user space for a mapping */
__u64 kd_mapped_at = 1;          /* last time the target mapped code */
__u32 kd_exec_slot = 0;          /* last thread that entered execve */
bool kd_followed_filter[KD_FOLLOWED_FILTER] = {}; /* by TID: such a TID was followed at some time */
__u32 kd_any_frozen = 0;                          /* a thread was frozen */
__u32 kd_steal_readable = 0;                      /* the kernel reads steal time */
char kd_function[KD_FUNCTION_LEN] = "";           /* see function_name() */
__u64 kd_stack_top[KD_STACK_TOP] = {};            /* see stack_top_read(), */
__u32 kd_stack_top_tid = 0;                       /* and whose it is; 0: nobody's */
__u32 kd_visits = 0;                              /* of the iterator, including this one */
struct kd_clock_skew kd_clock_skew = {};

/* --- Maps; entries is 1 where user space sets the number --- */

#define MAP(name, kind, entries, ...)                                                              \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_##kind);                                                 \
		__uint(max_entries, entries);                                                      \
		__VA_ARGS__                                                                        \
	} name SEC(".maps")
#define TYPES(key_type, value_type)                                                                \
	__type(key, key_type);                                                                     \
	__type(value, value_type);
#define HASH_MAP(name, entries, key, value) MAP(name, HASH, entries, TYPES(key, value))
/* A hash of rows, and whether it has been used: else user space does not read it. */
#define TABLE(name, entries, key, value)                                                           \
	__u32 name##_used = 0;                                                                     \
	HASH_MAP(name, entries, key, value)
#define ARRAY_MAP(name, entries, value) MAP(name, ARRAY, entries, TYPES(u32, value))
#define PERCPU_MAP(name, value) MAP(name, PERCPU_ARRAY, 1, TYPES(u32, value))
#define QUEUE_MAP(name, value) MAP(name, QUEUE, 1, __uint(value_size, sizeof(value));)
#define RING_MAP(name, bytes) MAP(name, RINGBUF, bytes, )
/* Mapped by user space. */
#define SHARED_ARRAY(name, entries, value)                                                         \
	MAP(name, ARRAY, entries, TYPES(u32, value) __uint(map_flags, BPF_F_MMAPABLE);)

/* See target.bpf.h. */
HASH_MAP(kd_tids, 1, u32, u32);                   /* 2 * kd_slots + KD_TID_MARKS */
ARRAY_MAP(kd_tid_fronts, 1, struct kd_tid_front); /* kd_tid_fronts_size */

/* Several processes, by TGID. */
HASH_MAP(kd_processes, 1, u32, struct kd_process); /* KD_PROCESSES */

/* Entries of kd_processes whose TGID was reused. */
QUEUE_MAP(kd_replaced, struct kd_process); /* KD_REPLACED, for several processes */

SHARED_ARRAY(kd_threads, 1, struct kd_thread);         /* kd_slots */
SHARED_ARRAY(kd_records, 1, struct kd_record);         /* kd_banks * kd_slots */
SHARED_ARRAY(kd_long_sleeps, 1, struct kd_long_sleep); /* kd_ring_of(kd_slots).first */
SHARED_ARRAY(kd_user_ticks, 1, struct kd_user_tick);   /* as many */

/* --histogram: by slot; banks have kd_histograms_max entries each, one after the other. */
SHARED_ARRAY(kd_histogram_sets, 1, struct kd_histogram_set); /* kd_slots */
SHARED_ARRAY(kd_histograms, 1, struct kd_histogram);         /* kd_banks * kd_histograms_max */

/* Free histograms, from 1 on; filled by user space. */
QUEUE_MAP(kd_free_histograms, u32); /* kd_histograms_max */

/* What had the CPU: by CPU, by slot and bank like kd_records, and the culprits. */
SHARED_ARRAY(kd_runqueues, 1, struct kd_runqueue); /* kd_cpus */
SHARED_ARRAY(kd_blames, 1, struct kd_blame);       /* kd_banks * kd_slots */
SHARED_ARRAY(kd_culprits, KD_CULPRITS, struct kd_culprit);

/* From each CPU where threads wait. */
ARRAY_MAP(kd_idles, 1, struct kd_idle_cpus); /* kd_cpus */

/* --record: the rings, their state per CPU, and followed tasks. */
SHARED_ARRAY(kd_recorded, 1, struct kd_recorded);  /* rings of all CPUs */
SHARED_ARRAY(kd_recorders, 1, struct kd_recorder); /* kd_cpus */
SHARED_ARRAY(kd_followed, 1, struct kd_followed);  /* KD_FOLLOWED */

/* Traces: notes on waits, by slot. */
ARRAY_MAP(kd_waits, 1, struct kd_wait);

/* Traces: wakers of threads, by slot; then those of other tasks, if followed. */
ARRAY_MAP(kd_wakers, 1, struct kd_wakers);

/* Only kd_sched_waking. */
MAP(kd_wakeups, PROG_ARRAY, 1, TYPES(u32, u32));

/* Free slots; filled by user space. */
QUEUE_MAP(kd_free_slots, u32); /* kd_slots */

/* System calls without an entry in their thread's own table, by number. */
TABLE(kd_overflow, 8192, struct kd_row_key, struct kd_count);

TABLE(kd_locks, KD_LOCKS, struct kd_lock_key, struct kd_lock_waits);
TABLE(kd_stops, KD_STOPS, struct kd_stop_key, struct kd_stop_times);
TABLE(kd_moves, KD_MOVERS, struct kd_row_key, struct kd_moves); /* by the caller's TID */
/* Including those of each slot. kd_files_used is the approximate number of entries. */
TABLE(kd_files, 1, struct kd_file_key, struct kd_file_waits);
PERCPU_MAP(kd_completions, struct kd_completion);
HASH_MAP(kd_irq_names, 1024, u64, struct kd_irq_name);

/* Triggers only; the first one and the ring only exist with triggers. */
PERCPU_MAP(kd_tallies, struct kd_tally);

RING_MAP(kd_ring, 256 * 1024);

/* --interruptions; otherwise minimal. */
RING_MAP(kd_interruptions, 4096);

/* Starts on threads of other processes, by TID (and CPU, for idle threads). */
HASH_MAP(kd_pairs, 8192, u64, u64);

/* One token: its holder may set edges, on kernels without compare-and-swap. */
QUEUE_MAP(kd_edge_token, u32);

SHARED_ARRAY(kd_fault_cpus, 1, struct kd_fault_cpu); /* kd_cpus */
ARRAY_MAP(kd_steals, 1, struct kd_steal_cpu);        /* kd_cpus */
ARRAY_MAP(kd_upcalls, 1, struct kd_upcalls);         /* kd_banks * kd_cpus */

/* True if contexts of wakeups are wanted. */
static __always_inline bool contexts_are_wanted(void)
{
	return KD_TRACES && (kd_wait_ns != KD_UNWANTED || kd_recorder_wanted);
}

/* Other CPUs see what is before it ahead of what is behind it, and this one reads in that order.
 * x86 keeps stores in order, and loads. On arm64 an atomic operation that acquires and releases is
 * a full barrier ("barrier-ordered-before" in the architecture's manual), and BPF's are such if
 * they have a result; kernels that lack these (before 5.18) stay without. */
static __always_inline void cpu_barrier(void)
{
#if defined(__TARGET_ARCH_arm64)
	u64 word = 0;

	if (kd_swaps)
		word = __sync_val_compare_and_swap(&word, 0, 1);
	barrier_var(word);
#endif
	barrier();
}

static __always_inline u64 clock_now(void)
{
	return bpf_ktime_get_ns() - kd_epoch;
}

/* Tests a number for nonzero, or zero: 0 or 1, branchless, because the verifier would follow
 * both sides. The compiler makes a branch of a comparison, or of a choice between two values. */
static __always_inline u64 is_set(u64 number)
{
	u64 negative = -number, sign;

	barrier_var(negative);
	sign = (number | negative) >> 63;
	barrier_var(sign);
	return sign;
}

static __always_inline u64 is_zero(u64 number)
{
	return is_set(number) ^ 1;
}

/* Time since, 0 if t is earlier: the clock may go back a little (ktime_get_mono_fast_ns()), and
 * another CPU's may be behind. Recently (7.x) a program at a tracepoint may also be preempted
 * between reading the clock and using it. Branchless, because the verifier would follow both
 * sides. */
static __always_inline u64 elapsed(u64 since, u64 t)
{
	s64 ns = t - since, is_less = ns >> 63;

	barrier_var(is_less); /* or the compiler makes a branch */
	return ns & ~is_less;
}

/* Entry of a system call in a table by number, or in that of 32-bit calls; 0: in neither. */
static __always_inline u32 call_entry(s32 call, const volatile u8 native[KD_CLASSES],
				      const volatile u8 compat[KD_CLASSES])
{
	u64 number = (u32)call;

	barrier_var(number); /* compared and used in the same form, for the verifier */
	if (likely(number < KD_CLASSES))
		return native[number];
	number ^= KD_CALL_COMPAT;
	barrier_var(number);
	return number < KD_CLASSES ? compat[number] : 0;
}

/* Matches a name, given as two words. */
static __always_inline bool name_matches(const volatile struct kd_names *names, u64 first,
					 u64 second)
{
	u64 words[2] = { first, second }, states = names->starts;
	const u8 *name = (const u8 *)words;

#pragma unroll
	for (u32 i = 0; i < KD_COMM_LEN; i++) {
		if (!name[i])
			break;
		states = (states & names->takes[name[i]]) << 1 | (states & names->stays);
	}
	return states & names->ends;
}

/* Takes a number from a queue. Only -ENOENT means empty: a map's lock may be refused as well, if
 * it is a resilient one (rqspinlock, since 6.15). Then tries again. */
#define QUEUE_TRIES 4
static __always_inline int queue_take(void *queue, u32 *number)
{
	int error = 0; /* all that kernels return where the call is inlined (before 6.4) */

	for (u32 i = 0; i < QUEUE_TRIES; i++) {
		error = (int)bpf_map_pop_elem(queue, number);
		if (likely(!error || error == -ENOENT))
			break;
	}
	return error;
}

static __always_inline void loss_count(enum kd_loss reason)
{
	__sync_fetch_and_add(&kd_losses[reason], 1);
}

static __always_inline void *row_add(void *table, __u32 *used, const void *key, const void *none,
				     enum kd_loss loss)
{
	void *row;

	*used = 1;
	bpf_map_update_elem(table, key, none, BPF_NOEXIST);
	row = bpf_map_lookup_elem(table, key);
	if (unlikely(!row))
		loss_count(loss);
	return row;
}

/* Adds a row to a table, copied from none. NULL: no space, which is counted as this loss. */
#define TABLE_ADD(name, key, none, loss) row_add(&name, &name##_used, key, none, loss)
/* Returns the row of a key, added if there is none. */
#define TABLE_ROW(name, key, none, loss)                                                           \
	(bpf_map_lookup_elem(&name, key) ?: TABLE_ADD(name, key, none, loss))

#endif
