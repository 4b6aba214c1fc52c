/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Part of kernel_delay.h: the descriptors that threads wait at. */
#ifndef KERNEL_DELAY_DESCRIPTOR_H
#define KERNEL_DELAY_DESCRIPTOR_H

/* Where a thread sleeps. */
struct kd_at {
	/* Address of the kernel's struct file, which the call holds; 0: at none; KD_FILE_UNSEEN: at
	 * that which fd stands for, nobody has looked at it yet. */
	__u64 file;
	__s32 fd;
	__u32 pad;
};
#define KD_FILE_UNSEEN 1

/* What a descriptor of a thread stood for when it was looked at last, in this window. */
struct kd_looked {
	__u64 gen;
	__s32 fd;
	__u32 awaited; /* enum kd_awaited */
};

#define KD_FILE_NAME 112 /* 108 are the longest path of a unix socket */

/* What a descriptor stood for. */
struct kd_file {
	__u64 inode;
	__s32 fd;
	__u32 kind;             /* enum kd_awaited; KD_AWAITED_DISK: a block device; 0: not known */
	__u32 device;           /* of its file system, or the block device: major << 20 | minor */
	__u32 net;              /* of a socket: its network namespace's inode */
	__u16 family, protocol; /* of a socket: AF_*, IPPROTO_* */
	__u16 local_port, peer_port;
	union {
		struct { /* of AF_INET and AF_INET6: addresses; of AF_INET the first four bytes */
			__u8 local[16], peer[16];
		};
		/* The last component of its path; of a unix socket the path, its own or else its
		 * peer's, where '@' stands for the NUL of an abstract one. */
		char name[KD_FILE_NAME];
	};
};

/* Waits of a thread at one descriptor that ended in a window. */
struct kd_file_key {
	__u64 gen; /* as struct kd_row_key */
	__u32 slot;
	__s32 fd;
	__u64 inode;
	__u32 awaited;     /* enum kd_awaited: for what */
	__u32 in_progress; /* the wait that went on at the window's end */
};

struct kd_file_waits {
	__u64 count, total, max;
	__u64 others;              /* that did not end as the longest until then */
	__u32 ended_by, ended_pid; /* TID and PID of who ended the longest; 0: nobody */
	char ended_comm[KD_COMM_LEN];
	/* Of a disk: the requests whose completion ended them, and how long those took. */
	__u64 requests, request_ns, request_max;
	struct kd_file file;
};

/* The request that a CPU completed last. */
struct kd_completion {
	__u64 at;   /* 0: none */
	__u64 ns;   /* how long it took, since the driver got it */
	__u64 disk; /* traces only: address of the kernel's struct gendisk; 0: not known */
};
#define KD_COMPLETION_NS 20000 /* it wakes who waits for it within that */

/* Of all windows that have not been read: so many, and for each slot. Beyond those a slot may have
 * two more: of all other waits that have ended, and the one that goes on. */
#define KD_FILES 1024
#define KD_FILES_OF_SLOT 2
#define KD_FILES_BEYOND 2

_Static_assert(sizeof(struct kd_file_key) == 32, "no padding in a key");
_Static_assert(sizeof(struct kd_file) % 8 == 0, "no padding in a file");

#endif
