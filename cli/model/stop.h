/* SPDX-License-Identifier: Apache-2.0 */
/* Who stopped a thread. */
#ifndef STOP_H
#define STOP_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"

/* A row of a thread: what of its stops by one other lies in the window. The rows add up to the
 * state stopped of the ledger. */
struct stop_row {
	uint32_t kind;          /* enum kd_stop */
	int32_t signal;         /* KD_STOP_SIGNAL: its number; 0: not known */
	int32_t tid, pid;       /* 0: not known, as what came before tracing began; or a terminal */
	char name[KD_COMM_LEN]; /* as the kernel has it, not escaped; "terminal"; "" */
	struct kd_count stops;
};

/* ROW(kind, key): a promise to readers of JSON, see words.h. */
#define STOP_WORDS(ROW)                                                                            \
	ROW(KD_STOP_UNKNOWN, "unexplained")                                                        \
	ROW(KD_STOP_SIGNAL, "signal")                                                              \
	ROW(KD_STOP_TRACER, "tracer")
extern const char *const stop_kinds[KD_STOP_KINDS];

/* Adds to the row of the same one, or a new row; to that of nobody if there are STOPS_MOST.
 * Returns 0 or -ENOMEM. */
int stops_add(struct stop_row **rows, size_t *n, const struct stop_row *stop);
#define STOPS_MOST 16

/* Adds all of these. Returns as above. */
int stops_merge(struct stop_row **rows, size_t *n, const struct stop_row *from, size_t n_from);

/* Sorts by descending time. */
void stops_sort(struct stop_row *rows, size_t n);

/* How it was stopped: "SIGSTOP", "signal 19", "ptrace", "unexplained". Returns buffer. */
#define STOP_HOW_LEN 16
const char *stop_how(const struct stop_row *stop, char buffer[STOP_HOW_LEN]);

#endif
