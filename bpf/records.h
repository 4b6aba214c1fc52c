/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Included by kernel_delay.h: what is recorded of single events. Traces with stacks, what
 * recognizes known ones, and the flight recorder. */
#ifndef KERNEL_DELAY_RECORDS_H
#define KERNEL_DELAY_RECORDS_H

#include "rows.h"

/* Length of no call or wait: none are wanted. */
#define KD_UNWANTED (~0ULL)

/* User registers, by DWARF number. Red zone: leaf functions may use this much below the stack
 * pointer; copies begin there. */
#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#define KD_REGS 17
#define KD_REG_SP 7
#define KD_REG_IP 16
#define KD_RED_ZONE 128
#else
#define KD_REGS 33
#define KD_REG_SP 31
#define KD_REG_IP 32
#define KD_RED_ZONE 0
#endif

/* Stacks are copied in pieces of this size, those in memory. */
#define KD_STACK_PAGE 4096
#define KD_STACK_PAGES 256 /* examined from the stack pointer on: 1 MB */
#define KD_STACK_WORDS (KD_STACK_PAGES / 64)
#define KD_STACK_MAX (128 * 1024) /* bytes copied at most */
#define KD_OTHER_PAGES 16         /* of the stack that a signal handler interrupted */
#define KD_KERNEL_FRAMES 64
#define KD_SCHED_WORDS 16
#define KD_PATH_BYTES 256 /* of a call's path, with its NUL */
#define KD_RETURNS 64     /* the kernel's limit per thread (MAX_URETPROBE_DEPTH) */

/* How a system call gets a path, 0: none. Index of the argument, of the first three, and: */
enum kd_path {
	KD_PATH_ARGUMENT = 3,
	KD_PATH_GIVEN = 4,       /* always set */
	KD_PATH_IN_DIRECTORY = 8 /* the previous argument is a directory descriptor */
};

enum kd_trace_type {
	KD_TRACE_CALL,   /* a slow system call has returned */
	KD_TRACE_WAIT,   /* a long wait has ended */
	KD_TRACE_STACK,  /* user stack of the waits with the same since */
	KD_TRACE_OPEN,   /* a slow system call still open at the window's end */
	KD_TRACE_SAMPLE, /* code a thread was running */
	KD_TRACE_MAPS,   /* a process mapped code or executed a program; several processes:
			  * began, ended */
};

enum kd_trace_flags {
	KD_TRACE_REGS = 1,     /* regs are set, and the stack was copied */
	KD_TRACE_LIMITED = 2,  /* no user stack: too expensive */
	KD_TRACE_WAITED = 4,   /* kernel[] is the longest wait's stack, of waited ns */
	KD_TRACE_CUT = 8,      /* the stack exceeds the copy limit */
	KD_TRACE_EARLIER = 16, /* began before start, when it was not traced */
	KD_TRACE_CACHED = 32,  /* the user stack is one that user space cached */
	KD_TRACE_TIMES = 64    /* ran_ns and ready_ns of the call are known */
};

/* Cached user stacks, and what they are unwound from: registers and words of the stack. Shapes
 * with the same hash of stack pointer and instruction share a few ways. */
#define KD_SHAPES 4096 /* powers of two */
#define KD_SHAPE_WAYS 4
#define KD_SHAPE_WORDS 115
#define KD_CACHED 16384
struct kd_shape {
	__u64 ip, sp; /* 0: none */
	__u64 regs;   /* bitmap */
	__u16 n;      /* word numbers, from the stack's start (kd_trace) */
	__u16 words[KD_SHAPE_WORDS];
};
_Static_assert(sizeof(struct kd_shape) == 256, "no padding");

/* Hash of a process, a shape and its values: kd_hash_seed(), n, regs, each word
 * (kd_hash_word()), each register (kd_hash_register()). */
struct kd_cached_stack {
	__u64 check; /* see kd_hash_check() */
	__u64 stack; /* user space's number for it */
};
#define KD_HASH_SEED 0x6b6e6f776eULL

/* One step of the hash; injective. */
static __always_inline __u64 kd_hash_mix(__u64 hash, __u64 value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 32;
}

/* The same words mean something else in another process. */
static __always_inline __u64 kd_hash_seed(__u32 tgid)
{
	return kd_hash_mix(KD_HASH_SEED, tgid);
}

/* A word with its number. */
static __always_inline __u64 kd_hash_word(__u64 number, __u64 word)
{
	return word ^ number << 48;
}

/* 0 if the register does not matter. */
static __always_inline __u64 kd_hash_register(__u64 regs, __u32 number, __u64 value)
{
	return value & -(regs >> number & 1);
}

static __always_inline __u64 kd_hash_check(__u64 hash, __u64 stack, __u64 mapped_at)
{
	return kd_hash_mix(kd_hash_mix(hash, stack), mapped_at);
}

/* First of its ways. */
static __always_inline __u32 kd_shape_index(__u64 ip, __u64 sp)
{
	return kd_hash_mix(kd_hash_mix(KD_HASH_SEED, ip), sp) % (KD_SHAPES / KD_SHAPE_WAYS) *
	       KD_SHAPE_WAYS;
}

/* The longest time that a thread was ready in a call, who had its CPU for most of that, and how
 * many other tasks had it, too. */
struct kd_behind {
	__u64 ns;  /* 0: none */
	__u32 who; /* KD_WHO_TASK and so on */
	__u32 others;
};

/* A record ends where it has no more data: before kernel without frames, before regs without a
 * copied stack. After a full record follow the bytes of the stack, of the other stack, then the
 * returns, innermost first. */
struct kd_trace {
	__u32 type; /* enum kd_trace_type */
	__u32 flags;
	__u32 tid;
	__u32 cpu;
	__u64 start, end; /* of the call or wait; sample: both the same */
	__u64 since;      /* start of the system call in progress, or of the wait outside one */
	__u64 waited;
	__u64 ran_ns, ready_ns;  /* of the call; the rest of it slept */
	struct kd_behind behind; /* of the call, too */
	__s64 result;            /* of the call */
	__s32 call;              /* number, or KD_CALL_* */
	__u32 state;             /* wait: enum kd_state */
	__u32 n_kernel;          /* frames in kernel[], innermost first */
	__u32 awaited;           /* wait: enum kd_awaited, if blocked */
	__u32 n_sched;
	__u32 tgid;
	char comm[KD_COMM_LEN];
	struct kd_waker wakers[KD_WAKERS]; /* sleep: its wakers */
	__u64 user_ip, user_sp;            /* 0: unknown */
	__u64 cached;                      /* user stack, as in struct kd_cached_stack */
	struct kd_file file;               /* of the call's descriptor; kind 0: none */
	/* Of a wait, or a call's longest. Without a lock there: the call's futex. */
	struct kd_blocker blocker;
	__u64 path_at;   /* address of the call's path; 0: none */
	__s64 path_size; /* bytes in path, with a NUL; 0: not read; negative: unreadable */
	char path[KD_PATH_BYTES + 8]; /* more than KD_PATH_BYTES: truncated */
	/* Words of the kernel stack within kernel[] that may be return addresses, innermost
	 * first, n_sched of them: the kernel leaves out frames of scheduler functions. */
	__u64 sched[KD_SCHED_WORDS];
	__u64 kernel[KD_KERNEL_FRAMES];
	__u64 regs[KD_REGS];
	__u64 stack_start;           /* address of the first byte copied */
	__u64 stack_end;             /* end of what may be useful; ~0: unknown */
	__u64 pages[KD_STACK_WORDS]; /* bitmap, page 0 is that of stack_start */
	/* In a signal handler on its own stack: the outermost part of the thread's stack. 0:
	 * none. */
	__u64 other_start;
	__u64 other_pages;
	__u32 size, other_size;
	__u64 mapped_at; /* last time its process mapped code, before the stack was copied */
	/* Functions with return probes: the address that replaces their return addresses, and
	 * the number of struct kd_return. */
	__u64 trampoline;
	__u64 n_returns;
};

/* Actual return target of a function with a return probe. */
struct kd_return {
	__u64 stack; /* its stack pointer when called */
	__u64 address;
};

/* Follows a KD_TRACE_MAPS up to kernel: what was mapped. */
enum kd_mapped_kind {
	KD_MAPPED_FILE,    /* by mmap: a file */
	KD_MAPPED_NO_FILE, /* by mmap: memory without a file */
	KD_MAPPED_CHANGED, /* by mprotect: what is mapped there became executable */
	KD_MAPPED_ALL,     /* by execve: everything is new */
	KD_MAPPED_FORK,    /* by fork: mappings of the process with TGID start; 0: unknown */
	KD_MAPPED_END,     /* the process ends */
};

#define KD_PATH_NAMES 16
#define KD_PATH_NAME 64 /* with its NUL */

/* Ends after the last name. */
struct kd_mapped {
	__u32 kind;   /* enum kd_mapped_kind */
	__u32 device; /* of the file's file system: major << 20 | minor */
	__u64 start;
	__u64 length; /* as the process requested */
	__u64 offset; /* file offset of start */
	__u64 inode;
	__u32 n;     /* path components of the file in its file system, innermost first */
	__u32 whole; /* the path is complete */
	char names[KD_PATH_NAMES][KD_PATH_NAME];
};
_Static_assert(sizeof(struct kd_mapped) == 48 + KD_PATH_NAMES * KD_PATH_NAME, "no padding");

/* A thread's longest wait in its current system call. */
struct kd_wait {
	__u64 ns;
	struct kd_waker ended, last; /* who ended that; and the last sleep, if it was long */
	/* The call that began then, and the thread's times at that moment. */
	__u64 call_since, run_ns, ready_ns;
	struct kd_behind behind;
	__u64 n;
	__u64 n_sched; /* as in struct kd_trace */
	__u64 sched[KD_SCHED_WORDS];
	__u64 kernel[KD_KERNEL_FRAMES];
	struct kd_blocker blocker;
	/* If its last sleep was for a disk: request that ended it, and address of its struct
	 * gendisk. */
	__u64 request_ns; /* 0: none */
	__u64 request_disk;
};
_Static_assert(sizeof(struct kd_trace) % 8 == 0, "no padding in a trace");

/* --- Functions of the program that waited for a lock --- */

/* User registers and stack at the end of a call with a wait for a lock: the longest such wait in
 * the window. */
struct kd_caller_key {
	__u64 gen;
	__u32 slot, pad;
	__u64 address;
};
#define KD_CALLER_BYTES 2048 /* some frames: the C library's and a few callers */
struct kd_caller {
	__u64 ns; /* length of the wait */
	__u64 regs[KD_REGS];
	__u64 size; /* bytes of the stack from its pointer on; 0: unreadable */
	__u8 stack[KD_CALLER_BYTES];
};
#define KD_CALLERS 256       /* and one for each thread, in all threads and unread windows, */
#define KD_CALLERS_MOST 4096 /* but no more */
#define KD_CALLER_NS 100000  /* shorter waits do not matter */
_Static_assert(sizeof(struct kd_caller_key) == 24, "no padding in a key");

/* --- Flight recorder (--record) --- */

/* Each CPU has a ring of recent events, which wraps forever and is read when a window is
 * reported. */

/* Kinds of recorded events. State entries begin a state that lasts until the next entry; detail
 * has that state, and the previous one << KD_RECORDED_BEFORE. */
enum kd_recorded_kind {
	KD_RECORDED_NOTHING,
	/* State entries. */
	KD_RECORDED_RUN,       /* switched in; what: 0 */
	KD_RECORDED_STATE,     /* between running states, or otherwise; what: 0 */
	KD_RECORDED_CALL,      /* enters a system call; what: number */
	KD_RECORDED_RETURN,    /* leaves it; what: result, truncated to 32 bits */
	KD_RECORDED_SLEEP,     /* switched out, blocked; what: enum kd_awaited */
	KD_RECORDED_PREEMPTED, /* switched out, runnable or dead; what: 0 */
	KD_RECORDED_WOKEN,     /* what: waker's TID (0: none), enum kd_from << KD_RECORDED_FROM,
				* and for target threads enum kd_awaited << KD_RECORDED_AWAITED */
	KD_RECORDED_ENTERS,
	/* Others; tid as for entries, unless noted. */
	KD_RECORDED_LOCK,    /* sleeps for a lock; what: holder's TID */
	KD_RECORDED_STOLEN,  /* run lost time to the hypervisor; what: ns */
	KD_RECORDED_HARDIRQ, /* an interrupt ended; what: ns; tid: interrupted thread, 0: idle;
			      * detail: index as in struct kd_record, and for target threads the
			      * running state that loses the time << KD_RECORDED_HIT_STATE; only
			      * where a target thread ran or waited */
	KD_RECORDED_SOFTIRQ, /* as above; index: vector */
	KD_RECORDED_HAD_CPU, /* had this CPU until now, while target threads waited; what: ns, as
			      * far as one did */
	KD_RECORDED_CULPRIT, /* follows that; what: culprit key */
	KD_RECORDED_HIT,     /* of a trigger probe; detail: enum kd_role */
	KD_RECORDED_KINDS,
};
#define KD_RECORDED_BEFORE 4 /* bits */
#define KD_RECORDED_HIT_STATE 5
#define KD_RECORDED_FROM 24    /* bits: TIDs have 22 */
#define KD_RECORDED_AWAITED 27 /* bits: there are fewer than 8 contexts */

/* Small, because memory of --record is spent on these. */
struct kd_recorded {
	__u64 word; /* time << KD_RECORDED_WHEN | detail << KD_RECORDED_DETAIL | kind */
	__u32 tid;
	__u32 what;
};
#define KD_RECORDED_DETAIL 5 /* bits for the kind; the detail has 8, */
#define KD_RECORDED_WHEN 13  /* and the time the other 51: it wraps after 26 days */
_Static_assert(KD_RECORDED_KINDS <= 1 << KD_RECORDED_DETAIL, "room for each kind");

/* Each CPU has two rings in kd_recorded: one for its events, and a small one for events that
 * interrupt the writing of one. */
struct kd_recorder_ring {
	__u64 position;         /* number of events so far */
	__u32 next, first, end; /* entries of kd_recorded: next event, and end of the ring */
	__u32 pad;
};
struct kd_recorder {
	struct kd_recorder_ring rings[2];
	__u32 busy; /* events being written */
	__u32 pad[3];
};
_Static_assert(sizeof(struct kd_recorder) == 64, "a cache line");

/* Tasks outside the target that interact with it: they woke a target or followed thread, or were
 * woken by a target thread. Their switches and wakeups are recorded. Entries are by TID, and may
 * be lost to another task. */
struct kd_followed {
	__u64 start; /* identity, with the TID */
	__u32 tid, tgid;
	__u32 flags; /* PF_* */
	__u32 pad;
	char comm[KD_COMM_LEN];
};
#define KD_FOLLOWED 8192 /* a power of two */
#define KD_FOLLOWED_FILTER 512

#endif
