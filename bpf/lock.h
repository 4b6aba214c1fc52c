/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Included by kernel_delay.h: locks that threads wait for. */
#ifndef KERNEL_DELAY_LOCK_H
#define KERNEL_DELAY_LOCK_H

/* Locks that threads wait for: futexes, as far as the C library's locks can be recognized in
 * memory, see lock.bpf.h; and kernel locks, see contention.bpf.h. */
enum kd_lock {
	KD_LOCK_NO_OWNER, /* a condition variable, or a lock that does not store its holder */
	KD_LOCK_MUTEX,
	KD_LOCK_PI,
	KD_LOCK_ROBUST,
	KD_LOCK_RWLOCK, /* held for writing */
	KD_LOCK_JOIN,   /* pthread_join: the thread "holds" it until it ends */
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

static inline __attribute__((always_inline, unused)) int kd_lock_is_kernel(__u32 kind)
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
	__u32 holder_tgid;             /* if in another process, for kernel locks; else 0 */
	char holder_comm[KD_COMM_LEN]; /* as above */
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

#endif
