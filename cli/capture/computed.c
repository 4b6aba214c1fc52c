// SPDX-License-Identifier: Apache-2.0
#include "computed.h"

#include <stdio.h>
#include <string.h>

#include "bpf/kernel_delay.h"
#include "cli/base/texts.h"
#include "cli/capture/parts/user_ticks.h"
#include "cli/model/thread_row.h"
#include "cli/stack/stacks.h"

/* Fewer ticks say nothing, and names take milliseconds. */
#define TICKS_LEAST 10
#define THREADS_MOST 4

/* An instruction, and what it is in. */
struct place {
	uint64_t ip, ticks;
	const struct stack *stack;
};

struct places {
	struct place all[USER_TICKS];
	size_t n;
	uint64_t ticks;
};

/* Threads without a row of their own have no ticks either. */
static bool is_worth(const struct sample *sample, const struct thread_row *thread)
{
	const uint64_t window = sample->end - sample->start;

	return thread->members == 1 && !thread->ended &&
	       thread->ledger.ns[LEDGER_USER] >= window / 5;
}

static size_t ticks_of(const struct session *session, const struct sample *sample,
		       const struct thread_row *thread, uint64_t ips[static USER_TICKS])
{
	size_t n = is_worth(sample, thread) ? session_user_ticks(session, thread->tid,
								 sample->start, sample->end, ips)
					    : 0;

	return n >= TICKS_LEAST ? n : 0;
}

bool computed_is_worth(const struct session *session, const struct sample *sample)
{
	uint64_t ips[USER_TICKS];

	for (size_t i = 0; i < sample->n_threads; i++)
		if (ticks_of(session, sample, &sample->threads[i], ips))
			return true;
	return false;
}

static void places_find(struct places *places, uint64_t *ips, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t at = 0;

		while (at < places->n && places->all[at].ip != ips[i])
			at++;
		if (at == places->n)
			places->all[places->n++] = (struct place){ .ip = ips[i] };
		places->all[at].ticks++;
	}
	places->ticks = n;
}

/* Only the innermost frame is wanted: there is no stack to go on with. */
static void place_submit(struct place *place, struct stacks *stacks, uint64_t t, pid_t pid)
{
	struct stack_copy copy = { .process = (uint64_t)pid };

	copy.regs[KD_REG_IP] = place->ip;
	stacks_submit(stacks, t, &copy, &place->stack);
}

static const struct frame *frame_of(const struct place *place)
{
	return place->stack && place->stack->n && place->stack->frames[0].function
		       ? &place->stack->frames[0]
		       : NULL;
}

static bool is_same(const struct frame *a, const struct frame *b)
{
	return a && b && a->file == b->file && !strcmp(a->function, b->function);
}

static void computed_take(struct computed *computed, const struct places *places)
{
	*computed = (struct computed){ .of = places->ticks };
	for (size_t i = 0; i < places->n; i++) {
		const struct frame *frame = frame_of(&places->all[i]);
		uint64_t ticks = 0;

		for (size_t j = 0; j < places->n; j++)
			if (is_same(frame, frame_of(&places->all[j])))
				ticks += places->all[j].ticks;
		if (ticks <= computed->ticks)
			continue;
		computed->ticks = ticks;
		/* Functions of Go have the path of their package, too. */
		snprintf(computed->function, sizeof(computed->function), "%s",
			 path_last(frame->function) ?: "");
		snprintf(computed->object, sizeof(computed->object), "%s",
			 path_last(frame->object) ?: "");
	}
}

void computed_find(const struct session *session, struct stacks *stacks, struct sample *sample)
{
	struct places found[THREADS_MOST] = { 0 };
	struct thread_row *rows[THREADS_MOST];
	uint64_t ips[USER_TICKS];
	size_t n = 0;

	for (size_t i = 0; i < sample->n_threads && n < THREADS_MOST; i++) {
		struct thread_row *thread = &sample->threads[i];
		size_t ticks = ticks_of(session, sample, thread, ips);

		if (!ticks)
			continue;
		rows[n] = thread;
		places_find(&found[n], ips, ticks);
		for (size_t k = 0; k < found[n].n; k++)
			place_submit(&found[n].all[k], stacks, sample->end,
				     thread_pid(sample, thread));
		n++;
	}
	stacks_flush(stacks);
	for (size_t i = 0; i < n; i++)
		computed_take(&rows[i]->computed, &found[i]);
}
