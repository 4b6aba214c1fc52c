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

/* A span at the end of a list. */
static struct span *made_span(struct recording *made, enum span_list list, struct span span)
{
	struct spans *spans = &made->spans[list];

	if (spans_add(spans, &span))
		abort();
	return &spans->all[spans->n - 1];
}

/* By TID. */
__attribute__((unused)) static struct recorded_thread *
made_thread(struct recording *made, pid_t tid, pid_t pid, const char *name)
{
	struct recorded_thread *thread;

	if (ARRAY_GROW(made->threads, made->n_threads, made->capacity_threads))
		abort();
	thread = &made->threads[made->n_threads++];
	*thread = (struct recorded_thread){ 0 };
	thread->tid = tid, thread->pid = pid, thread->of_target = true;
	memcpy(thread->name, name, strnlen(name, sizeof(thread->name)));
	return thread;
}

/* Behind the thread's last one, or from a time on. By TID. */
__attribute__((unused)) static struct span *made_state(struct recording *made, pid_t tid,
						       uint64_t end, enum kd_state is)
{
	struct span *state = made_span(made, SPAN_STATES,
				       (struct span){ .end = end,
						      .tid = tid,
						      .call = KD_CALL_NONE,
						      .state = (uint8_t)is,
						      .of_target = true });

	state->start = made->spans[SPAN_STATES].n > 1 && state[-1].tid == tid ? state[-1].end
									      : made->from;
	return state;
}

/* Blocked, and who ended that. */
__attribute__((unused)) static struct span *made_wait(struct recording *made, pid_t tid,
						      uint64_t end, enum kd_awaited awaited,
						      enum kd_from from, pid_t waker)
{
	struct span *state = made_state(made, tid, end, KD_BLOCKED);

	state->awaited = (uint8_t)awaited, state->from = (uint8_t)from, state->waker = waker;
	return state;
}

/* By CPU, then end. */
__attribute__((unused)) static void made_irq(struct recording *made, uint32_t cpu, uint64_t start,
					     uint64_t end, bool hard, const char *name)
{
	made_span(made, SPAN_IRQS,
		  (struct span){ start, end, .cpu = cpu, .name = name, .hard = hard });
}

/* By CPU, then start. */
__attribute__((unused)) static void made_run(struct recording *made, uint32_t cpu, uint64_t start,
					     uint64_t end, uint32_t key)
{
	made_span(made, SPAN_RUNS, (struct span){ start, end, .cpu = cpu, .key = key });
}

/* By key. */
__attribute__((unused)) static void made_culprit(struct recording *made, uint32_t key,
						 enum culprit_kind kind, pid_t tid,
						 const char *name)
{
	struct recorded_culprit *culprit;

	if (ARRAY_GROW(made->culprits, made->n_culprits, made->capacity_culprits))
		abort();
	culprit = &made->culprits[made->n_culprits++];
	*culprit = (struct recorded_culprit){ 0 };
	culprit->key = key, culprit->is.kind = kind;
	culprit->is.tid = culprit->is.pid = tid;
	memcpy(culprit->is.name, name, strnlen(name, sizeof(culprit->is.name)));
}

#endif
