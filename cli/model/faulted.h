/* SPDX-License-Identifier: Apache-2.0 */
/* What page faults were for. */
#ifndef FAULTED_H
#define FAULTED_H

#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"

/* What page faults were for, of those whose pages were kept: ROW(kind, key, words). Keys are a
 * promise, see words.h. */
#define FAULTED_WORDS(ROW)                                                                         \
	ROW(FAULTED_UNKNOWN, "unknown", NULL)                                                      \
	ROW(FAULTED_NEW, "new", "for new memory")                                                  \
	ROW(FAULTED_COPY, "copy", "to copy pages before it writes to them")                        \
	ROW(FAULTED_FILE, "file", "for pages of a mapped file")                                    \
	ROW(FAULTED_CLEAN, "clean", "to write to clean pages of a mapped file")                    \
	ROW(FAULTED_SWAP, "swap", "for pages in swap")
#define FAULTED_KIND(kind, key, words) kind,
enum faulted_kind { FAULTED_WORDS(FAULTED_KIND) FAULTED_SORTS };
#undef FAULTED_KIND
extern const char *const faulted_keys[FAULTED_SORTS], *const faulted_words[FAULTED_SORTS];

#define FAULTED_PATH 128
struct faulted {
	uint32_t kind;           /* enum faulted_kind, of most of them */
	char path[FAULTED_PATH]; /* the file's, or its end; raw, not escaped; "": none, or several
				  */
};

/* Of the thread that lost most to page faults. Copies: the process that has the same pages since a
 * fork; 0: none, or several. */
struct faulted_thread {
	pid_t tid; /* 0: unknown */
	struct faulted minor, major;
	pid_t shared_pid;
	char shared_name[KD_COMM_LEN];
};

#endif
