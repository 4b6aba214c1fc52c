/* SPDX-License-Identifier: Apache-2.0 */
/* I/O limit of a cgroup on a disk. */
#ifndef DISK_LIMIT_H
#define DISK_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "culprit.h"

/* What is limited per second: ROW(kind, key, words). Keys are a promise, see words.h. */
#define DISK_LIMIT_WORDS(ROW)                                                                      \
	ROW(DISK_LIMIT_READ_BYTES, "read_bytes", "reads")                                          \
	ROW(DISK_LIMIT_WRITE_BYTES, "write_bytes", "writes")                                       \
	ROW(DISK_LIMIT_READS, "reads", "reads")                                                    \
	ROW(DISK_LIMIT_WRITES, "writes", "writes")
#define DISK_LIMIT_KIND(kind, key, words) kind,
enum disk_limit_kind { DISK_LIMIT_WORDS(DISK_LIMIT_KIND) DISK_LIMIT_KINDS };
extern const char *const disk_limit_keys[DISK_LIMIT_KINDS],
	*const disk_limit_words[DISK_LIMIT_KINDS];

#define DISK_LIMIT_DEVICE 32

struct disk_limit {
	char group[CULPRIT_GROUP_LEN]; /* as in struct culprit */
	char device[DISK_LIMIT_DEVICE];
	uint32_t kind;       /* enum disk_limit_kind */
	bool version_1;      /* cgroup v1: blkio.throttle.*, else io.max */
	uint64_t per_second; /* 0: no limit */
	uint64_t used;       /* of the limit, per second */
};

/* Usage below this share of a limit holds nothing up. The kernel counts I/O when it is
 * dispatched, and loses some of each time slice. */
#define DISK_LIMIT_REACHED 70 /* percent */

#endif
