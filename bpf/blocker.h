/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Included by kernel_delay.h: what a long wait was for. */
#ifndef KERNEL_DELAY_BLOCKER_H
#define KERNEL_DELAY_BLOCKER_H

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

#endif
