/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings made by hand. */
#ifndef TESTS_UNIT_PATH_RECORDING_H
#define TESTS_UNIT_PATH_RECORDING_H

#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/model/critical_path.h"
#include "cli/model/recording.h"
#include "cli/model/words.h"

/* A zeroed row at the end of a list. */
#define MADE(made, list)                                                                           \
	({                                                                                         \
		if (ARRAY_GROW((made)->list, (made)->n_##list, (made)->capacity_##list))           \
			abort();                                                                   \
		memset(&(made)->list[(made)->n_##list], 0, sizeof(*(made)->list));                 \
		&(made)->list[(made)->n_##list++];                                                 \
	})

/* By TID. */
__attribute__((unused)) static struct recorded_thread *
made_thread(struct recording *made, pid_t tid, pid_t pid, const char *name)
{
	struct recorded_thread *thread = MADE(made, threads);

	thread->tid = tid, thread->pid = pid, thread->of_target = true;
	memcpy(thread->name, name, strnlen(name, sizeof(thread->name)));
	return thread;
}

/* Behind the thread's last one, or from a time on. By TID. */
__attribute__((unused)) static struct recorded_state *made_state(struct recording *made, pid_t tid,
								 uint64_t end, enum kd_state is)
{
	struct recorded_state *state = MADE(made, states);

	state->tid = tid, state->end = end, state->state = (uint8_t)is;
	state->call = KD_CALL_NONE;
	state->of_target = true;
	state->start = made->n_states > 1 && state[-1].tid == tid ? state[-1].end : made->from;
	return state;
}

/* Blocked, and who ended that. */
__attribute__((unused)) static struct recorded_state *made_wait(struct recording *made, pid_t tid,
								uint64_t end,
								enum kd_awaited awaited,
								enum kd_from from, pid_t waker)
{
	struct recorded_state *state = made_state(made, tid, end, KD_BLOCKED);

	state->awaited = (uint8_t)awaited, state->from = (uint8_t)from, state->waker = waker;
	return state;
}

/* By CPU, then end. */
__attribute__((unused)) static void made_irq(struct recording *made, uint32_t cpu, uint64_t start,
					     uint64_t end, bool hard, const char *name)
{
	struct recorded_irq *irq = MADE(made, irqs);

	irq->cpu = cpu, irq->start = start, irq->end = end, irq->hard = hard, irq->name = name;
}

/* By CPU, then start. */
__attribute__((unused)) static void made_run(struct recording *made, uint32_t cpu, uint64_t start,
					     uint64_t end, uint32_t key)
{
	struct recorded_run *run = MADE(made, runs);

	run->cpu = cpu, run->start = start, run->end = end, run->key = key;
}

/* By key. */
__attribute__((unused)) static void made_culprit(struct recording *made, uint32_t key,
						 enum culprit_kind kind, pid_t tid,
						 const char *name)
{
	struct recorded_culprit *culprit = MADE(made, culprits);

	culprit->key = key, culprit->is.kind = kind;
	culprit->is.tid = culprit->is.pid = tid;
	memcpy(culprit->is.name, name, strnlen(name, sizeof(culprit->is.name)));
}

#endif
