/* SPDX-License-Identifier: Apache-2.0 */
/* A stage: threads that wait in known places before and after their work.
 *
 *   -> ready            all threads are in place
 *   <- mark             -> {"from": ns, "cpu": {"TID": ns, ...}, "to": ns}: the run times
 *                       of the threads, read between these times
 *   <- go               -> {"pid": ..., "threads": [truths of each thread]}; "rests" are
 *                       those that have done their work and wait for the end, or are
 *                       about to: their last write may still have to return
 *   <- begin            those whose text begins with '+' begin, which have only waited for that
 *   <- log              -> what the threads have logged so far, where there is a log
 *   <- end              the process ends, as it does when stdin is closed
 *
 * With LEADER_ENDS in the environment the first thread ends when it is ready, and another one
 * obeys. */
#ifndef STAGE_H
#define STAGE_H

#include "workload.h"

/* One thread of a workload. */
struct worker {
	const char *role;             /* printed in the truths */
	void (*run)(struct worker *); /* its work */
	bool throughout; /* works from before "ready" until stage_over(), not from "go" */
	bool later;      /* throughout, but from "begin" on */
	long args[4];
	int in, out; /* pipe ends, for workers that talk to each other */
	int number;  /* on its stage, from 0 */

	struct stage *stage;
	pthread_t thread;
	pid_t tid;
	char truths[16384]; /* ", "key": value" by worker_note() */
};

/* All workers of a process, and the pipes at which they wait. */
struct stage {
	void (*log)(const struct stage *stage); /* prints its JSON, if there is one */
	struct worker *workers[1000];
	int count;
	int go[2], begin[2], done[2], end[2];
	atomic_bool over;
};

/* What a worker can be told to do: NAME[:ARG...], or +NAME[:ARG...] from "begin" on */
struct role {
	const char *name;
	void (*run)(struct worker *);
	bool throughout;
	bool pair; /* two workers, joined by a pair of pipes */
};

/* Appends a member to the worker's truths; the value is JSON text. */
void worker_note_text(struct worker *worker, const char *key, const char *value);
void worker_note(struct worker *worker, const char *key, long long value);

static inline bool stage_over(const struct stage *stage)
{
	return atomic_load_explicit(&stage->over, memory_order_relaxed);
}

struct worker *stage_add(struct stage *stage, const char *role, void (*run)(struct worker *));

/* Adds a worker, or a pair, for each of the texts; roles end with one without a name. At most so
 * many workers, for which there is room elsewhere. */
void stage_cast(struct stage *stage, char **texts, const struct role *roles, int most);

/* Starts the workers and serves the test's commands, until the end. With a log nobody waits for
 * the threads. */
_Noreturn int stage_serve(struct stage *stage);

#endif
