/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Included by kernel_delay.h: descriptors that threads wait at. */
#ifndef KERNEL_DELAY_DESCRIPTOR_H
#define KERNEL_DELAY_DESCRIPTOR_H

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

/* Waits of a thread at one descriptor that ended in a window. */
struct kd_file_key {
	__u64 gen; /* as struct kd_row_key */
	__u32 slot;
	__s32 fd;
	__u64 inode;
	__u32 awaited;     /* enum kd_awaited */
	__u32 in_progress; /* the wait still open at the window's end */
};

struct kd_file_waits {
	__u64 count, total, max;
	__u64 others;              /* ended differently from the longest one so far */
	__u32 ended_by, ended_pid; /* waker of the longest one, TID and PID; 0: none */
	char ended_comm[KD_COMM_LEN];
	/* Disk: requests whose completion ended the waits, and their durations. */
	__u64 requests, request_ns, request_max;
	struct kd_file file;
};

/* Last request completed by a CPU. */
struct kd_completion {
	__u64 at;   /* 0: none */
	__u64 ns;   /* duration since the driver got it */
	__u64 disk; /* traces only: address of the kernel's struct gendisk; 0: unknown */
};
#define KD_COMPLETION_NS 20000 /* completion wakes waiters within this time */

/* Limits over all unread windows: in total, and per slot. Beyond them a slot may have two more:
 * all other ended waits, and the open one. */
#define KD_FILES 1024
#define KD_FILES_OF_SLOT 2
#define KD_FILES_BEYOND 2

_Static_assert(sizeof(struct kd_file_key) == 32, "no padding in a key");
_Static_assert(sizeof(struct kd_file) % 8 == 0, "no padding in a file");

#endif
