/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Part of kernel_delay.h: the lock that a thread waits for. */
#ifndef KERNEL_DELAY_LOCK_H
#define KERNEL_DELAY_LOCK_H

/* The lock that a thread waits for. In futex as far as the C library's locks can be told by
 * their memory, see lock.bpf.h; and those of the kernel, see contention.bpf.h. */
enum kd_lock {
	KD_LOCK_NO_OWNER, /* a condition variable, a lock that does not say who has it */
	KD_LOCK_MUTEX,
	KD_LOCK_PI,
	KD_LOCK_ROBUST,
	KD_LOCK_RWLOCK, /* held for writing */
	KD_LOCK_JOIN,   /* pthread_join: the thread "has" it until it ends */
	KD_LOCK_KERNEL_MUTEX,
	KD_LOCK_KERNEL_RWSEM_READ, /* wanted for reading, */
	KD_LOCK_KERNEL_RWSEM_WRITE,
	KD_LOCK_KERNEL_MMAP_READ, /* of the thread's own address space */
	KD_LOCK_KERNEL_MMAP_WRITE,
	KD_LOCK_KERNEL_PERCPU_READ, /* a rwsem whose readers do not share a counter */
	KD_LOCK_KERNEL_PERCPU_WRITE,
	KD_LOCK_KERNEL_RTMUTEX, /* with PREEMPT_RT also what is a mutex or a spin lock else */
	KD_LOCK_KERNEL_SEMAPHORE,
	KD_LOCK_KINDS,
};

static inline __attribute__((always_inline, unused)) int kd_lock_is_kernel(__u32 kind)
{
	return kind >= KD_LOCK_KERNEL_MUTEX;
}

/* What a thread has done until some moment, ns. */
struct kd_doing {
	__u64 running, ready, asleep;
};

/* The lock that a thread's last sleep is or was for. */
struct kd_locked {
	__u64 address;     /* 0: it is for none */
	__u32 kind;        /* enum kd_lock */
	__u32 holder;      /* TID; 0: not known */
	__u32 slot;        /* of the holder; 0: it is not one of the target */
	__u32 holder_tgid; /* if it is another process' thread: of the kernel's locks; else 0 */
	char holder_comm[KD_COMM_LEN]; /* the same */
	struct kd_doing before;        /* what the holder had done when the wait began */
	struct kd_doing now;           /* and when that was read last */
};

/* A long wait for a lock in the call that the thread is in, of which nobody has looked yet who
 * has made it. */
struct kd_waited {
	__u64 gen; /* the window's */
	__u64 lock;
	__u64 ns;
};

/* The kernel's lock that a thread is about to sleep for. */
struct kd_contended {
	__u64 lock;       /* its address; 0: none */
	__u64 call_since; /* of the call in which that began */
	__u32 flags;      /* LCB_F_* */
	__u32 pad;
};

#endif
