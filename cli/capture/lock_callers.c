// SPDX-License-Identifier: Apache-2.0
#include "lock_callers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/model/lock_caller.h"
#include "cli/stack/stacks.h"

#define MOST_COPIES 1024 /* of a sample */

struct caller_copy {
	struct kd_caller caller;
	pid_t pid;
	const struct stack *stack;
};

struct lock_callers {
	struct caller_copy *copies;
	size_t n, room;
	uint64_t before; /* numbers of earlier samples: rows of threads that ended in a window which
			  * is still open may have them */
	uint64_t lost;
};

struct lock_callers *lock_callers_new(void)
{
	return calloc(1, sizeof(struct lock_callers));
}

void lock_callers_free(struct lock_callers *callers)
{
	if (!callers)
		return;
	free(callers->copies);
	free(callers);
}

bool lock_callers_wait(const struct lock_callers *callers)
{
	return callers->n > 0;
}

int lock_callers_add(struct lock_callers *callers, pid_t pid, uint64_t address,
		     const struct kd_caller *caller, struct thread_row *row)
{
	struct caller_copy *copy;

	if (callers->n == MOST_COPIES) {
		callers->lost++;
		return 0;
	}
	if (ARRAY_GROW(callers->copies, callers->n, callers->room))
		return -ENOMEM;
	copy = &callers->copies[callers->n++];
	*copy = (struct caller_copy){ .caller = *caller, .pid = pid };
	for (size_t i = 0; i < row->n_locks; i++)
		if (row->locks[i].address == address)
			row->locks[i].caller = callers->before + callers->n;
	return 0;
}

/* The part of a stack, which goes on in what follows in memory. */
static void copy_submit(struct caller_copy *copy, struct stacks *stacks, uint64_t t)
{
	const struct kd_caller *caller = &copy->caller;
	struct stack_copy part = {
		.start = caller->regs[KD_REG_SP],
		.data = caller->stack,
		.size = caller->size,
		.process = (uint64_t)copy->pid,
	};
	uint64_t last = part.start % KD_STACK_PAGE + caller->size;

	if (!caller->size || caller->size > sizeof(caller->stack))
		return;
	for (uint64_t page = 0; page * KD_STACK_PAGE < last; page++)
		part.pages[0] |= 1ULL << page;
	memcpy(part.regs, caller->regs, sizeof(part.regs));
	stacks_submit(stacks, t, &part, &copy->stack);
}

void lock_callers_find(struct lock_callers *callers, struct stacks *stacks, struct sample *sample)
{
	for (size_t i = 0; i < callers->n && stacks; i++)
		copy_submit(&callers->copies[i], stacks, sample->end);
	if (stacks)
		stacks_flush(stacks);
	for (size_t i = 0; i < sample->n_threads; i++) {
		struct thread_row *thread = &sample->threads[i];

		for (size_t k = 0; k < thread->n_locks; k++) {
			struct lock_row *lock = &thread->locks[k];

			uint64_t number = lock->caller - callers->before;

			if (lock->caller > callers->before && number <= callers->n)
				lock_caller_text(callers->copies[number - 1].stack,
						 lock->called_from);
		}
	}
	sample->losses[KD_LOSS_CALLERS] += callers->lost;
	callers->before += callers->n;
	callers->n = callers->lost = 0;
}
