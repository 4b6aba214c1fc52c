/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Part of kernel_delay.h: what threads read and write, and their requests to disks. */
#ifndef KERNEL_DELAY_RESOURCE_H
#define KERNEL_DELAY_RESOURCE_H

#include "blocker.h"
#include "descriptor.h"

/* What a descriptor is of whose bytes are counted. */
enum kd_io_kind {
	KD_IO_NETWORK, /* sockets but those below, and /dev/net/tun */
	KD_IO_FILE,    /* files and block devices */
	KD_IO_PIPE,    /* pipes and unix sockets */
	KD_IO_TTY,
	KD_IO_OTHER,
	KD_IO_KINDS,
	/* Calls only, which move no bytes: */
	KD_IO_FORKS, /* a process that it began */
	KD_IO_EXECS, /* a program that it became */
};
#define KD_IO_ROOM 8 /* a power of two */

/* What a system call does with bytes; its result is their number, but for the _MANY: */
enum kd_io_call {
	KD_IO_NONE,
	KD_IO_READS,       /* from its first argument */
	KD_IO_WRITES,      /* to it */
	KD_IO_READS_MANY,  /* recvmmsg: that of messages, which say their lengths, */
	KD_IO_WRITES_MANY, /* and sendmmsg */
	KD_IO_SENDS_FILE,  /* to its first argument from the second */
	KD_IO_COPIES,      /* from its first argument to the third: splice, copy_file_range */
	KD_IO_TEES,        /* to the second */
	KD_IO_MAPS,        /* vmsplice: as its first argument was opened */
	KD_IO_RING,        /* io_uring_enter, which does not say how many */
};

struct kd_io {
	__u64 calls, bytes;
};

/* Of a thread in one window; a call counts when it returns, and if it does not fail. */
struct kd_io_record {
	__u64 gen;
	__u64 rings; /* calls of io_uring_enter */
	struct kd_io read[KD_IO_ROOM], written[KD_IO_ROOM];
};

/* A request that a thread of the target has made, by its address. */
struct kd_request {
	__u64 at;
	__u64 bytes; /* completed until now */
	__u32 slot, tid;
};
#define KD_REQUESTS 4096

enum kd_block_kind { KD_BLOCK_READ, KD_BLOCK_WRITE, KD_BLOCK_OTHER, KD_BLOCK_KINDS };

/* Requests of a thread to one disk that were completed in a window. */
struct kd_block_key {
	__u64 gen; /* as struct kd_row_key */
	__u32 slot;
	__u32 kind;   /* enum kd_block_kind */
	__u64 device; /* address of the kernel's struct gendisk */
};

struct kd_block {
	__u64 count, total, max; /* from the request to its completion, ns */
	__u64 bytes;
	char device[KD_DISK_NAME];
	__u32 times[KD_HISTOGRAM_BUCKETS];
};
#define KD_BLOCKS 512 /* of all threads and windows that have not been read */

/* Segments that TCP sent again in a window, whoever's socket it is. */
struct kd_resent_key {
	__u64 gen;
	__u64 inode; /* of the socket */
};

struct kd_resent {
	__u64 count;
	struct kd_file file;
};
#define KD_RESENT 1024

_Static_assert(KD_IO_EXECS < KD_IO_ROOM, "room for each kind, and for none");
_Static_assert(sizeof(struct kd_block_key) == 24, "no padding in a key");
_Static_assert(sizeof(struct kd_block) % 8 == 0, "no padding in a value");

#endif
