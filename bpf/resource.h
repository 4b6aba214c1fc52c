/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Included by kernel_delay.h: I/O of threads, and disk requests. */
#ifndef KERNEL_DELAY_RESOURCE_H
#define KERNEL_DELAY_RESOURCE_H

#include "blocker.h"
#include "descriptor.h"

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
	__u64 count, total, max; /* from creation to completion, ns */
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

#endif
