/* SPDX-License-Identifier: Apache-2.0 */
/* Chains: where a thread's long sleeps lead. A thread of the target ended such a sleep. What that
 * one did meanwhile is what the sleeper waited for; where it slept long itself, so is what the
 * thread did that ended that sleep, and so on. A chain ends at a thread that ran, or was ready
 * without a CPU, or slept until something else than a thread of the target woke it.
 *
 * Unlike the critical path (critical_path.h), which needs a recording, chains are there in each
 * run, but know no sleeps shorter than LONG_SLEEP_NS (bpf/long_sleep.bpf.h), nothing of tasks
 * outside the target, and of each thread only its last long sleeps. */
#ifndef CHAIN_H
#define CHAIN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "thread_row.h"

/* A long sleep; times are ns of one clock. */
struct chain_sleep {
	uint64_t since, until;
	char wchan[KD_FUNCTION_LEN];
	int32_t call;          /* or KD_CALL_* */
	uint32_t waker;        /* number of the thread that ended it; 0: none of the target */
	struct kd_times did;   /* the sleeper's times at since, */
	struct kd_times woken; /* and the waker's at until */
};

struct chain_thread {
	pid_t tid;
	char name[KD_COMM_LEN]; /* raw */
	uint64_t from;          /* its times are 0 then; UINT64_MAX: earlier sleeps are missing */
	struct chain_sleep *sleeps; /* all that are known, in order */
	size_t n;
};

struct chains {
	struct chain_thread *threads; /* by number */
	size_t n;                     /* number 0 is not used */
	uint64_t start, end;          /* of the window */
};

/* Adds to a row where the long sleeps of its thread (by number) led, as far as they are inside the
 * window. Returns 0 or -ENOMEM. */
int chains_add(const struct chains *chains, uint32_t number, struct thread_row *row);

#endif
