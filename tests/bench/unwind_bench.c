/* SPDX-License-Identifier: Apache-2.0 */
/* Usage: unwind_bench KIND BATCH ROUNDS. Has its own stacks resolved, as those of a
 * target, and prints for each round the ns that this took per stack, from handing
 * them over until they are there:
 *   seen   some hundred stacks, which are known
 *   new    stacks that are not, of functions that are
 *   first  the first stacks of a process: nothing is known
 *   open   no stack: the ns for starting the process that resolves them, and for
 *          reading what is mapped
 * Each stack goes through FRAMES of 64 functions in an order of its own, and as many
 * others, of libc too, that there are 25 in all. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "cli/stack/stacks.h"

enum {
	DEPTH = 25,
	ROOM = 600, /* bytes in each frame: 16 KB in all */
	KNOWN = 300,
	STACKS = 16000, /* kept, all of them */
	COPY = 32 << 10,
	RED_ZONE = 128
};

extern void *__libc_stack_end; /* of the dynamic linker: where main()'s stack begins */

struct copied {
	struct stack_copy copy;
	uint8_t data[COPY];
};

/* The way down to the place where the stack is copied. */
struct walk {
	uint64_t random;
	int left;
	struct copied *copied;
};

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000ULL + (uint64_t)time.tv_nsec;
}

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "unwind_bench: %s\n", what);
	exit(1);
}

static void regs_take(struct stack_copy *copy, const ucontext_t *context)
{
#if defined(__x86_64__)
	static const int order[KD_REGS] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
					    REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
					    REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP };

	for (int i = 0; i < KD_REGS; i++)
		copy->regs[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
#else
	memcpy(copy->regs, context->uc_mcontext.regs, sizeof(context->uc_mcontext.regs));
	copy->regs[KD_REG_SP] = context->uc_mcontext.sp;
	copy->regs[KD_REG_IP] = context->uc_mcontext.pc;
#endif
}

/* What the kernel's programs would have copied. */
static __attribute__((noinline)) void copy_take(struct copied *copied)
{
	struct stack_copy *copy = &copied->copy;
	uint64_t end = ((uintptr_t)__libc_stack_end | (KD_STACK_PAGE - 1)) + 1;
	ucontext_t context;

	memset(copy, 0, sizeof(*copy));
	if (getcontext(&context))
		fail("getcontext");
	regs_take(copy, &context);
	copy->start = copy->regs[KD_REG_SP] - RED_ZONE;
	copy->data = copied->data;
	copy->size = end - copy->start;
	if (copy->size > COPY)
		fail("the stack is too large");
	for (uint64_t at = copy->start; at < end; at = (at | (KD_STACK_PAGE - 1)) + 1)
		copy->pages[0] |= 1ULL << (at / KD_STACK_PAGE - copy->start / KD_STACK_PAGE);
	memcpy(copied->data, (const void *)copy->start, copy->size); /* NOLINT: our own stack */
}

typedef void step(struct walk *walk);
static step *const steps[64];

static __attribute__((always_inline)) inline void walk_on(struct walk *walk)
{
	uint64_t random = walk->random;

	walk->random = random * 6364136223846793005ULL + 1442695040888963407ULL;
	if (walk->left--)
		steps[random >> 58](walk);
	else
		copy_take(walk->copied);
}

/* The assembler keeps the room, and the call from being the function's last. */
#define STEP(n)                                                                                    \
	static __attribute__((noinline)) void step_##n(struct walk *walk)                          \
	{                                                                                          \
		volatile uint8_t capacity[ROOM];                                                   \
                                                                                                   \
		capacity[0] = walk->left & 7;                                                      \
		walk_on(walk);                                                                     \
		__asm__ volatile("# " #n : : "r"(capacity) : "memory");                            \
	}
#define ROW(what, n)                                                                               \
	what(n##0) what(n##1) what(n##2) what(n##3) what(n##4) what(n##5) what(n##6) what(n##7)
#define ALL(what)                                                                                  \
	ROW(what, 1)                                                                               \
	ROW(what, 2)                                                                               \
	ROW(what, 3) ROW(what, 4) ROW(what, 5) ROW(what, 6) ROW(what, 7) ROW(what, 8)
#define NAME(n) step_##n,

ALL(STEP)
static step *const steps[64] = { ALL(NAME) };

static struct walk *sorting;

/* For qsort(). The two are equal. */
static int compare(const void *a, const void *b)
{
	if (a != b && sorting) {
		struct walk *walk = sorting;

		sorting = NULL;
		walk_on(walk);
	}
	return 0;
}

/* Copies the stack of one way through the functions. */
static void walk_copy(struct copied *copied, uint64_t random, int frames)
{
	struct walk walk = { .random = random, .left = frames, .copied = copied };
	int items[2] = { 0 };

	sorting = &walk;
	qsort(items, 2, sizeof(*items), compare);
}

static struct stacks *target_open(void)
{
	struct stacks *stacks;

	if (stacks_open(&stacks, getpid(), STACKS, &(struct stacks_setup){ 0 }))
		exit(1);
	return stacks;
}

/* How many functions to go through, so that there are DEPTH frames. */
static int frames_find(void)
{
	static struct copied copied;
	struct stacks *stacks = target_open();
	const struct stack *stack;
	int frames = DEPTH / 2;

	walk_copy(&copied, 1, frames);
	stacks_submit(stacks, now(), &copied.copy, &stack);
	stacks_flush(stacks);
	if (!stack || stack->stop)
		fail(stack ? stack->stop : "no stack");
	frames += DEPTH - (int)stack->n;
	stacks_close(stacks);
	return frames;
}

/* Returns ns for each. All have to be complete. */
static double resolve(struct stacks *stacks, const struct copied *copied, int n)
{
	const struct stack **got = calloc((size_t)n, sizeof(*got));
	uint64_t begin = now(), took;

	if (!got)
		fail("no memory");
	for (int i = 0; i < n; i++)
		stacks_submit(stacks, begin, &copied[i].copy, &got[i]);
	stacks_flush(stacks);
	took = now() - begin;
	for (int i = 0; i < n; i++) {
		if (!got[i] || got[i]->stop || got[i]->n != DEPTH)
			fail(!got[i] ? "no stack" : got[i]->stop ?: "not as deep as expected");
	}
	free(got);
	return (double)took / n;
}

/* Batches of stacks that are new, or some of those that are not. */
static void warm(struct copied *copied, int batch, int rounds, int frames, bool known)
{
	struct stacks *stacks = target_open();
	uint64_t random = 1;

	for (int i = 0; i < KNOWN; i++) {
		walk_copy(copied, ++random << 40, frames);
		resolve(stacks, copied, 1);
	}
	for (int round = -1; round < rounds; round++) {
		double ns;

		for (int i = 0; i < batch; i++) {
			random = known ? random % KNOWN + 2 : random + 1;
			walk_copy(&copied[i], random << 40, frames);
		}
		ns = resolve(stacks, copied, batch);
		if (round >= 0)
			printf("%f\n", ns);
	}
	stacks_close(stacks);
}

static void cold(struct copied *copied, int batch, int rounds, int frames, bool only_open)
{
	for (int i = 0; i < batch; i++)
		walk_copy(&copied[i], (uint64_t)(i + 1) << 40, frames);
	for (int round = 0; round < rounds; round++) {
		uint64_t begin = now();
		struct stacks *stacks = target_open();
		double ns = (double)(now() - begin);

		if (!only_open)
			ns = resolve(stacks, copied, batch);
		printf("%f\n", ns);
		stacks_close(stacks);
	}
}

int main(int argc, char **argv)
{
	struct copied *copied;
	int batch, rounds, frames;

	if (argc > 1 && !strcmp(argv[1], STACKS_CHILD))
		return stacks_child_main(argc - 1, argv + 1);
	if (argc != 4)
		fail("usage: unwind_bench KIND BATCH ROUNDS");
	batch = (int)strtol(argv[2], NULL, 10);
	rounds = (int)strtol(argv[3], NULL, 10);
	copied = batch > 0 ? calloc((size_t)batch, sizeof(*copied)) : NULL;
	if (!copied)
		fail("no memory");
	frames = frames_find();
	if (!strcmp(argv[1], "first") || !strcmp(argv[1], "open"))
		cold(copied, batch, rounds, frames, !strcmp(argv[1], "open"));
	else
		warm(copied, batch, rounds, frames, !strcmp(argv[1], "seen"));
	free(copied);
	return 0;
}
