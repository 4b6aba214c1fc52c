/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Included by kernel_delay.h: rows of hashes, each of a thread in a window, with what they are made
 * of. Threads' sleeps, waits for locks, stops, moves, input and output, counters. */
#ifndef KERNEL_DELAY_ROWS_H
#define KERNEL_DELAY_ROWS_H

#include "others.h"

/* Key of hashes with data of a thread in a window. Longer ones have gen and slot there as well. */
struct kd_row_key {
	__u64 gen;
	__u32 slot;
	__u32 rest; /* what tells rows of a thread apart */
};
_Static_assert(sizeof(struct kd_row_key) == 16, "no padding in a key");

struct kd_count {
	__u64 count;
	__u64 total;
	__u64 max;
	__u64 began; /* the longest; 0: unknown */
};

/* --- Distributions of durations --- */

/* For --histogram; the last bucket has all longer durations. */
#define KD_HISTOGRAM_BITS 4
#define KD_HISTOGRAM_BUCKETS 640 /* up to 2.4 hours */

/* Durations of a kind of a thread in a window. */
struct kd_histogram {
	__u64 gen;
	__u32 count[KD_HISTOGRAM_BUCKETS];
};
_Static_assert(sizeof(struct kd_histogram) % 8 == 0, "array elements are 8-byte aligned");

/* --- Sleeps, and the descriptors where threads sleep --- */

/* Where a thread sleeps. */
struct kd_at {
	/* Address of the kernel's struct file, which the call holds; 0: none; KD_FILE_UNSEEN:
	 * the file behind fd, not yet looked up. */
	__u64 file;
	__s32 fd;
	__u32 pad;
};
#define KD_FILE_UNSEEN 1

/* What a thread's descriptor stood for at the last look in this window. */
struct kd_looked {
	__u64 gen;
	__s32 fd;
	__u32 awaited; /* enum kd_awaited */
};

#define KD_FILE_NAME 112 /* a unix socket's path has up to 108 */

/* What a descriptor stood for. */
struct kd_file {
	__u64 inode;
	__s32 fd;
	__u32 kind;             /* enum kd_awaited; KD_AWAITED_DISK: a block device; 0: unknown */
	__u32 device;           /* of its file system, or block device: major << 20 | minor */
	__u32 net;              /* sockets: inode of the network namespace */
	__u16 family, protocol; /* sockets: AF_*, IPPROTO_* */
	__u16 local_port, peer_port;
	union {
		struct { /* AF_INET and AF_INET6: addresses; the first four bytes for AF_INET */
			__u8 local[16], peer[16];
		};
		/* Last component of the path. Unix sockets: path, their own or else the peer's,
		 * with '@' for the NUL of an abstract one. */
		char name[KD_FILE_NAME];
	};
};

#define KD_FUNCTION_LEN 64 /* of a kernel function's name, with its NUL */

/* Functions of a kernel stack that say where a thread sleeps (its wait channel), innermost first:
 * the first of them may be a generic one. Return addresses; 0: none. */
#define KD_WCHAN 3
struct kd_wchan {
	__u64 frames[KD_WCHAN];
};

/* A long sleep that a wakeup ended: from such a sleep to those of its waker, and so on, chains lead
 * to what a thread waited for. */
struct kd_times { /* of a thread up to some moment, ns */
	__u64 running, ready;
};

/* By their length, so that many that are shorter leave those that took most of the time: below 4,
 * 16 and 64 ms, and others. */
#define KD_SLEEP_CLASSES 4
#define KD_SLEEP_CLASS_NS 4000000ULL

struct kd_long_sleep {
	__u64 number;           /* of its thread and class, from 1 on; 0: being written */
	__u64 since, until;     /* since the epoch */
	struct kd_wchan wchan;  /* as in the sleep's row of kd_files, */
	__s32 call;             /* and its call */
	__u32 tid;              /* of the sleeper */
	__u32 waker, waker_tid; /* slot and TID of a target thread; 0: someone else, or nobody */
	struct kd_times did;    /* the sleeper's at since, */
	struct kd_times woken;  /* and the waker's at until */
};
_Static_assert(sizeof(struct kd_long_sleep) == 96, "no padding");

/* A tick that hit a thread in user mode. */
struct kd_user_tick {
	__u64 at; /* since the epoch */
	__u64 ip; /* the instruction that it came before */
};

/* Rings with the last entries of each thread; longer in the first slots, which all threads of most
 * targets have. All three are powers of two. */
#define KD_RINGS_FIRST 64 /* slots */
#define KD_RING_FIRST 128
#define KD_RING 16

struct kd_ring_of {
	__u32 first, n; /* entries of the array with all rings */
};
static __always_inline struct kd_ring_of kd_ring_of(__u32 slot)
{
	if (slot < KD_RINGS_FIRST)
		return (struct kd_ring_of){ slot * KD_RING_FIRST, KD_RING_FIRST };
	return (struct kd_ring_of){ KD_RINGS_FIRST * (KD_RING_FIRST - KD_RING) + slot * KD_RING,
				    KD_RING };
}

/* Of the long sleeps of a class: a half, a quarter, and an eighth twice. */
static __always_inline struct kd_ring_of kd_sleeps_of(__u32 slot, __u32 class)
{
	struct kd_ring_of ring = kd_ring_of(slot);

	ring.first += ring.n - (ring.n >> class);
	ring.n >>= class + 1 - class / (KD_SLEEP_CLASSES - 1);
	return ring;
}

/* Sleeps of a thread of one kind that ended in a window. */
struct kd_file_key {
	__u64 gen; /* as struct kd_row_key */
	__u32 slot;
	__s32 fd; /* -1: at no descriptor */
	__u64 inode;
	__u64 child;           /* of which program the child was that ended them, as a number */
	struct kd_wchan wchan; /* zeros: not looked at */
	__u32 awaited;         /* enum kd_awaited */
	__s32 call;            /* or KD_CALL_* */
	__u32 in_progress;     /* the sleep still open at the window's end */
	__u32 others;          /* all those without a row of their own */
};

struct kd_file_waits {
	struct kd_count waits;
	__u64 others;              /* ended differently from the longest one so far */
	__u32 ended_by, ended_pid; /* waker of the longest one, TID and PID; 0: none */
	char ended_comm[KD_COMM_LEN];
	/* Disk: requests whose completion ended the waits, and their durations; and how long these
	 * were queued before. */
	struct kd_count requests;
	__u64 queued;
	struct kd_file file;
};

/* Last request completed by a CPU. */
struct kd_completion {
	__u64 at;     /* 0: none */
	__u64 ns;     /* duration since the driver got it, */
	__u64 queued; /* and before that; 0: unknown */
	__u64 disk;   /* traces only: address of the kernel's struct gendisk; 0: unknown */
};
#define KD_COMPLETION_NS 20000 /* completion wakes waiters within this time */

/* Limits over all unread windows: in total, and per slot. Beyond them a slot may have two more:
 * all other ended sleeps, and the open one. */
#define KD_FILES 1024
#define KD_FILES_OF_SLOT 4
#define KD_FILES_BEYOND 2

_Static_assert(sizeof(struct kd_file_key) == 72, "no padding in a key");
_Static_assert(sizeof(struct kd_file) % 8 == 0, "no padding in a file");

/* --- Locks that threads wait for --- */

/* Futexes, as far as the C library's locks can be recognized in memory; and kernel locks. */
enum kd_lock {
	KD_LOCK_NO_OWNER,  /* a lock that does not store its holder */
	KD_LOCK_CONDITION, /* no lock: a condition variable, a semaphore or the like */
	KD_LOCK_MUTEX,
	KD_LOCK_PI,
	KD_LOCK_ROBUST,
	KD_LOCK_RWLOCK, /* held for writing */
	KD_LOCK_JOIN,   /* pthread_join: the thread "holds" it until it ends */
	KD_LOCK_OTHER,  /* of a row of several, some perhaps the kernel's */
	KD_LOCK_KERNEL_MUTEX,
	KD_LOCK_KERNEL_RWSEM_READ, /* wanted for reading, */
	KD_LOCK_KERNEL_RWSEM_WRITE,
	KD_LOCK_KERNEL_MMAP_READ, /* of the thread's own address space */
	KD_LOCK_KERNEL_MMAP_WRITE,
	KD_LOCK_KERNEL_PERCPU_READ, /* a rwsem whose readers share no counter */
	KD_LOCK_KERNEL_PERCPU_WRITE,
	KD_LOCK_KERNEL_RTMUTEX, /* PREEMPT_RT: also mutexes and spinlocks */
	KD_LOCK_KERNEL_SEMAPHORE,
	KD_LOCK_KINDS,
};

static __always_inline int kd_lock_is_kernel(__u32 kind)
{
	return kind >= KD_LOCK_KERNEL_MUTEX;
}

/* Times of a thread up to some moment, ns. */
struct kd_activity {
	__u64 running, ready, asleep;
};

/* Lock of a thread's current or last sleep. */
struct kd_locked {
	__u64 address;                 /* 0: none */
	__u32 kind;                    /* enum kd_lock */
	__u32 holder;                  /* TID; 0: unknown */
	__u32 slot;                    /* of the holder; 0: not a target thread */
	__u32 holder_tgid;             /* if in another process; else 0 */
	char holder_comm[KD_COMM_LEN]; /* as above */
	__u32 holder_parent, pad;      /* the process that it is a child of, as above */
	struct kd_activity before;     /* holder's times when the wait began */
	struct kd_activity now;        /* and when last read */
};

/* A long wait for a lock in the current call, whose caller has not been looked up yet. */
struct kd_waited {
	__u64 gen; /* the window's */
	__u64 lock;
	__u64 ns;
};

/* Kernel lock that a thread may sleep for next. */
struct kd_contended {
	__u64 lock;       /* address; 0: none */
	__u64 call_since; /* of the call with the contention */
	__u32 flags;      /* LCB_F_* */
	__u32 pad;
};

/* Waits of a thread for a lock with the same holder at the start, ended in a window. */
struct kd_lock_key {
	__u64 gen;
	__u32 slot;   /* of the waiting thread */
	__u32 holder; /* TID; 0: unknown */
	__u64 address;
	__u32 kind;        /* enum kd_lock */
	__u32 in_progress; /* the wait open at the window's end, which has ended since */
};

struct kd_lock_waits {
	struct kd_count waits;
	struct kd_activity meanwhile; /* states of the holder during the waits */
	__u64 others;                 /* ended by a thread other than the holder */
	__s32 slept_in;               /* the holder's last call in which it slept; KD_CALL_NONE:
				       * none */
	__u32 released_by;            /* TID that ended the last one; 0: none */
	char released_comm[KD_COMM_LEN];
	__u32 holder_tgid;   /* of a holder in another process, else 0; */
	__u32 holder_parent; /* the process that it is a child of */
	char holder_comm[KD_COMM_LEN];
};
#define KD_LOCKS 4096 /* in all threads and unread windows */
_Static_assert(sizeof(struct kd_lock_key) == 32, "no padding in a key");

/* --- What a long wait was for --- */

#define KD_DISK_NAME 32 /* DISK_NAME_LEN in include/linux/blkdev.h */

/* Lock, its holder when the wait began, and the disk request whose completion ended the wait. */
struct kd_blocker {
	__u64 lock;                    /* address; 0: none */
	__u32 lock_kind;               /* enum kd_lock */
	__u32 holder;                  /* TID; 0: unknown */
	__u32 holder_tgid;             /* if in another process; else 0 */
	__u32 pad;                     /* 0 */
	char holder_comm[KD_COMM_LEN]; /* "": unknown */
	__u64 request_ns;              /* duration of the request; 0: none */
	char disk[KD_DISK_NAME];       /* of the request; "": unknown */
};
_Static_assert(sizeof(struct kd_blocker) == 80, "no padding");

/* --- Stops, and forced moves --- */

/* Stops of a thread by one other, as far as they lie in a window. */
struct kd_stop_key {
	__u64 gen;
	__u32 slot;
	__u32 tid; /* tid and the others as in struct kd_stopper */
	__u32 kind, signal;
};

struct kd_stop_times {
	struct kd_count count;
	struct kd_stopper by;
};
#define KD_STOPS 512 /* as KD_LOCKS */
_Static_assert(sizeof(struct kd_stop_key) == 24, "no padding in a key");

/* Forced moves of a thread by one caller, in a window. */
struct kd_moves {
	__u64 count;
	struct kd_mover by;
};
#define KD_MOVERS 512 /* in all threads and unread windows */

/* --- Input and output of threads, and requests to disks --- */

/* Kinds of descriptors with counted bytes. */
enum kd_io_kind {
	KD_IO_NETWORK, /* other sockets, and /dev/net/tun */
	KD_IO_FILE,    /* files and block devices */
	KD_IO_PIPE,    /* pipes and unix sockets */
	KD_IO_TTY,
	KD_IO_OTHER,
	KD_IO_KINDS,
	/* Only calls, without bytes: */
	KD_IO_FORKS, /* created processes */
	KD_IO_EXECS, /* executed programs */
};
#define KD_IO_PADDED 8 /* a power of two */

/* How a system call moves bytes; the result is their number, except for _MANY: */
enum kd_io_call {
	KD_IO_NONE,
	KD_IO_READS,       /* from its first argument */
	KD_IO_WRITES,      /* to it */
	KD_IO_READS_MANY,  /* recvmmsg: number of messages, which have lengths, */
	KD_IO_WRITES_MANY, /* and sendmmsg */
	KD_IO_SENDS_FILE,  /* to its first argument, from the second */
	KD_IO_COPIES,      /* from its first argument to the third: splice, copy_file_range */
	KD_IO_TEES,        /* to the second */
	KD_IO_MAPS,        /* vmsplice: by the mode of its first argument */
	KD_IO_RING,        /* io_uring_enter, which does not tell */
};

struct kd_io {
	__u64 calls, bytes;
};

/* Of a thread in a window; a call counts when it succeeds. */
struct kd_io_record {
	__u64 gen;
	__u64 rings; /* calls of io_uring_enter */
	struct kd_io read[KD_IO_PADDED], written[KD_IO_PADDED];
};

/* A request by a target thread, by its address. */
struct kd_request {
	__u64 at;
	__u64 bytes; /* completed so far */
	__u32 slot, tid;
};
#define KD_REQUESTS 4096

enum kd_block_kind { KD_BLOCK_READ, KD_BLOCK_WRITE, KD_BLOCK_OTHER, KD_BLOCK_KINDS };

/* Requests of a thread to a disk, completed in a window. */
struct kd_block_key {
	__u64 gen; /* as struct kd_row_key */
	__u32 slot;
	__u32 kind;   /* enum kd_block_kind */
	__u64 device; /* address of the kernel's struct gendisk */
};

struct kd_block {
	struct kd_count requests; /* from creation to completion */
	__u64 bytes;
	char device[KD_DISK_NAME];
	__u32 times[KD_HISTOGRAM_BUCKETS];
};
#define KD_BLOCKS 512 /* in all threads and unread windows */

/* TCP retransmissions in a window, of any socket. */
struct kd_resent_key {
	__u64 gen;
	__u64 inode; /* of the socket */
};

struct kd_resent {
	__u64 count;
	struct kd_file file;
};
#define KD_RESENT 1024

_Static_assert(KD_IO_EXECS < KD_IO_PADDED, "room for each kind, and for none");
_Static_assert(sizeof(struct kd_block_key) == 24, "no padding in a key");
_Static_assert(sizeof(struct kd_block) % 8 == 0, "no padding in a value");

/* --- Perf events, counted per thread --- */

#define KD_COUNTERS 16 /* limit; a power of two */

/* Like struct bpf_perf_event_value: value of an event, and ns it was wanted, and counted. */
struct kd_counted {
	__u64 value, enabled, running;
};

/* Counters of a CPU at the last reading, and the thread of that run. */
struct kd_counter_cpu {
	__u64 at;
	__u32 slot, pad; /* 0: none */
	struct kd_counted last[KD_COUNTERS];
	struct kd_counted grown[KD_COUNTERS]; /* since the reading before */
};

/* Counters when a thread hit a window edge: read as the window's first action, or as the last
 * one before it. */
struct kd_counter_mark {
	__u64 at; /* time of the reading; 0: none, or incomplete */
	__u64 values[KD_COUNTERS];
};

enum kd_mark_edge { KD_MARK_START, KD_MARK_END, KD_MARK_EDGES };

/* Of a thread, per bank. */
struct kd_counter_marks {
	__u64 gen; /* of the window */
	struct kd_counter_mark edges[KD_MARK_EDGES];
};

/* Counts of a thread in a window, on one CPU or all. */
#define KD_ANY_CPU (~0U)
struct kd_counts {
	struct kd_counted of[KD_COUNTERS];
};

#endif
