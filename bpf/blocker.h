/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Part of kernel_delay.h: what a long wait was for. */
#ifndef KERNEL_DELAY_BLOCKER_H
#define KERNEL_DELAY_BLOCKER_H

#define KD_DISK_NAME 32 /* DISK_NAME_LEN in include/linux/blkdev.h */

/* The lock, who had it when the wait began, and the disk's request whose completion ended it. */
struct kd_blocker {
	__u64 lock;                    /* its address; 0: none */
	__u32 lock_kind;               /* enum kd_lock */
	__u32 holder;                  /* TID; 0: not known */
	__u32 holder_tgid;             /* if it is another process' thread; else 0 */
	__u32 pad;                     /* 0 */
	char holder_comm[KD_COMM_LEN]; /* "": not known */
	__u64 request_ns;              /* how long that took; 0: none did */
	char disk[KD_DISK_NAME];       /* the request's; "": not known */
};
_Static_assert(sizeof(struct kd_blocker) == 80, "no padding");

#endif
