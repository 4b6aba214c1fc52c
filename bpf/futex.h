/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Included by kernel_delay.h: what the memory near a futex says of who holds the lock. */
#ifndef KERNEL_DELAY_FUTEX_H
#define KERNEL_DELAY_FUTEX_H

#include "rows.h"

/* include/uapi/linux/futex.h */
#define KD_FUTEX_WAIT 0
#define KD_FUTEX_LOCK_PI 6
#define KD_FUTEX_WAIT_BITSET 9 /* until a point in time, unlike KD_FUTEX_WAIT */
#define KD_FUTEX_LOCK_PI2 13
#define KD_FUTEX_COMMAND 0x7fU
#define KD_FUTEX_PRIVATE 0x80U
#define KD_FUTEX_REALTIME 0x100U
#define KD_FUTEX_TID 0x3fffffffU
#define KD_FUTEX_WAITERS 0x80000000U

/* Layout near the futex word in glibc (2.25 and later), in 32-bit words. */
#define KD_MUTEX_HELD 2 /* the word's value, with waiters */
#define KD_MUTEX_OWNER 2
#define KD_MUTEX_USERS 3 /* 1 while it is held */
#define KD_MUTEX_KIND 4
#define KD_MUTEX_KINDS 0x3ffU         /* all bits that are in use */
#define KD_MUTEX_LIST 6               /* of robust ones; else 0, as is the next word */
#define KD_MUTEX_SHARED 128U          /* PTHREAD_MUTEX_PSHARED_BIT */
#define KD_RWLOCK_HELD 3              /* the word's value, with waiters */
#define KD_RWLOCK_WRITER_OF_PHASE 4   /* __cur_writer after __wrphase_futex */
#define KD_RWLOCK_WRITER_OF_WRITERS 3 /* after __writers_futex */
#define KD_RWLOCK_WRITERS 1           /* __writers_futex after __wrphase_futex; 0 after the other */
#define KD_FUTEX_WORDS 8

/* True if the kernel itself knows of the lock, and the word has its owner. */
static inline __u32 kd_futex_is_pi(__u32 operation)
{
	__u32 command = operation & KD_FUTEX_COMMAND;

	return command == KD_FUTEX_LOCK_PI || command == KD_FUTEX_LOCK_PI2;
}

static inline __u32 kd_futex_waits(__u32 operation)
{
	__u32 command = operation & KD_FUTEX_COMMAND;

	return command == KD_FUTEX_WAIT || command == KD_FUTEX_WAIT_BITSET;
}

/* True if the value for which a thread waits is that of a lock with waiters, or may be. */
static inline __u32 kd_futex_is_held(__u32 value)
{
	return value & KD_FUTEX_WAITERS || value == KD_MUTEX_HELD || value == KD_RWLOCK_HELD;
}

/* Possible holder: the TID in memory. *shared: other processes may hold it. */
static inline __attribute__((always_inline)) __u32
kd_futex_holder(const __u32 *words, __u32 operation, __u32 value, __u32 *kind, __u32 *shared)
{
	__u32 owner;

	*shared = !(operation & KD_FUTEX_PRIVATE);
	if (kd_futex_is_pi(operation)) {
		*kind = KD_LOCK_PI;
		return words[0] & KD_FUTEX_TID;
	}
	if (value & KD_FUTEX_WAITERS) {
		*kind = KD_LOCK_ROBUST;
		return value & KD_FUTEX_TID;
	}
	if (value == KD_MUTEX_HELD) {
		*kind = KD_LOCK_MUTEX;
		*shared &= !!(words[KD_MUTEX_KIND] & KD_MUTEX_SHARED);
		return words[KD_MUTEX_OWNER];
	}
	if (value == KD_RWLOCK_HELD) {
		*kind = KD_LOCK_RWLOCK;
		owner = words[KD_RWLOCK_WRITERS] ? KD_RWLOCK_WRITER_OF_PHASE
						 : KD_RWLOCK_WRITER_OF_WRITERS;
		*shared &= words[owner + 1] == 1; /* __shared follows */
		return words[owner];
	}
	*kind = KD_LOCK_JOIN;
	*shared = 0;
	return words[0] == value ? value : 0;
}

#endif
