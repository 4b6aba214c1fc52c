/* SPDX-License-Identifier: Apache-2.0 */
/* Functions to be unwound through, which note in shared memory where they return to:
 * by __builtin_return_address(), which is the compiler's word, not an unwinder's. */
#ifndef TESTS_UNIT_UNWIND_CHAIN_H
#define TESTS_UNIT_UNWIND_CHAIN_H

#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define TRAIL 512
#define GAP 0   /* in the trail: frames of other people's functions */
#define EXACT 1 /* the next entry was interrupted there */

/* What the process says of itself. */
struct shared {
	uint64_t trail[TRAIL]; /* outermost first */
	uint64_t slots[TRAIL]; /* where on the stack those are that are return addresses */
	unsigned int n;
	volatile pid_t ready; /* the thread that has stopped, in a system call */
};

static struct shared *shared;

#define NOTE(address) (shared->trail[shared->n++] = (uint64_t)(address))

#if defined(__x86_64__)
/* The canonical frame address is what the stack pointer was before the call. */
#define RETURN_SLOT() ((uint64_t)__builtin_dwarf_cfa() - 8)
#else
/* The frame record: x29, x30. */
#define RETURN_SLOT() ((uint64_t)__builtin_frame_address(0) + 8)
#endif
#define NOTE_CALLER() (shared->slots[shared->n] = RETURN_SLOT(), NOTE(__builtin_return_address(0)))

/* Functions that realign the stack may have a copy of their return address, which the
 * compiler means: the one that it returns to is above. */
__attribute__((no_sanitize("address"))) static void slot_correct(size_t alignment)
{
	uint64_t *slot = &shared->slots[shared->n - 1];
	const uint64_t *noted = (const uint64_t *)(uintptr_t)*slot;

	for (size_t i = 1; i <= alignment / sizeof(*noted); i++)
		if (noted[i] == *noted)
			*slot = (uint64_t)(uintptr_t)&noted[i];
}

#define FUNCTION __attribute__((noinline)) static

/* Keeps a variable in memory and, behind a call, that from becoming a jump. */
#define KEEP(variable) __asm__ volatile("" : : "r"(variable) : "memory")

/* --- The functions that are unwound through --- */

__attribute__((noinline, noreturn)) static void stop(void)
{
	NOTE_CALLER();
	shared->ready = (pid_t)syscall(SYS_gettid);
	for (;;) {
#if defined(__x86_64__)
		long number = SYS_pause;

		__asm__ volatile("syscall" : "+a"(number) : : "rcx", "r11", "memory");
#else
		register long number __asm__("x8") = SYS_ppoll, fds __asm__("x0") = 0,
				     n __asm__("x1") = 0, time __asm__("x2") = 0,
				     mask __asm__("x3") = 0;

		__asm__ volatile("svc #0"
				 : "+r"(fds)
				 : "r"(number), "r"(n), "r"(time), "r"(mask)
				 : "memory");
#endif
	}
}

typedef void body(void);

FUNCTION int plain(body *inner)
{
	int kept[3] = { 1, 2, 3 };

	NOTE_CALLER();
	KEEP(kept);
	inner();
	return kept[1];
}

FUNCTION int with_alloca(body *inner, size_t size)
{
	char *capacity = alloca(size);

	NOTE_CALLER();
	memset(capacity, 1, size);
	KEEP(capacity);
	plain(inner);
	return capacity[size / 2];
}

FUNCTION int realigned(body *inner, size_t size)
{
	alignas(64) char capacity[192];

	NOTE_CALLER();
	slot_correct(64);
	memset(capacity, 2, sizeof(capacity));
	KEEP(capacity);
	with_alloca(inner, size);
	return capacity[7];
}

FUNCTION int both(body *inner, size_t size)
{
	alignas(128) char capacity[256];
	char *more = alloca(size);

	NOTE_CALLER();
	slot_correct(128);
	memset(capacity, 3, sizeof(capacity));
	KEEP(capacity);
	KEEP(more);
	realigned(inner, size + 13);
	return capacity[9] + more[1];
}

FUNCTION int many_registers(body *inner, int a, int b, int c)
{
	int d = a * b, e = b * c, f = c * a;

	NOTE_CALLER();
	both(inner, (size_t)(a + b + c));
	return d + e + f + a + b + c;
}

/* NOLINTNEXTLINE: recursion is the point */
FUNCTION int recursive(body *inner, int depth)
{
	int kept = depth;

	NOTE_CALLER();
	KEEP(&kept);
	if (depth)
		recursive(inner, depth - 1);
	else
		many_registers(inner, kept + 100, kept + 200, kept + 300);
	return kept;
}

static body *callback_body;

FUNCTION int compare(const void *left, const void *right)
{
	int difference = *(const int *)left - *(const int *)right;

	NOTE_CALLER();
	KEEP(&difference);
	callback_body();
	return difference;
}

FUNCTION int sorts(body *inner)
{
	int numbers[] = { 3, 1, 2, 5, 4 };

	NOTE_CALLER();
	callback_body = inner;
	NOTE(GAP);
	qsort(numbers, 5, sizeof(*numbers), compare);
	return numbers[2];
}

FUNCTION int searches(body *inner)
{
	static const int numbers[] = { 1, 2, 3, 4, 5 };
	int key = 4;

	NOTE_CALLER();
	callback_body = inner;
	NOTE(GAP);
	return bsearch(&key, numbers, 5, sizeof(*numbers), compare) != NULL;
}

/* Code whose information is not what a compiler would write. */
void leaf_without_cfi(void);
void pushes_without_cfi(void);
void calls_last(void);
void traps_first(void);
extern const char calls_last_end[];

#if defined(__x86_64__)
__asm__(".text\n"
	".type leaf_without_cfi, @function\n"
	"leaf_without_cfi:\n"
	"	mov $34, %eax\n" /* pause */
	"	syscall\n"
	"	jmp leaf_without_cfi\n"
	".size leaf_without_cfi, . - leaf_without_cfi\n"
	".skip 16, 0x90\n"
	".type pushes_without_cfi, @function\n"
	"pushes_without_cfi:\n"
	"	push %rbp\n"
	"1:	mov $34, %eax\n"
	"	syscall\n"
	"	jmp 1b\n"
	".size pushes_without_cfi, . - pushes_without_cfi\n"
	".skip 16, 0x90\n"
	/* Its last instruction is a call, so that the return address is that of the
	 * next function, which has no frame yet. */
	".type calls_last, @function\n"
	"calls_last:\n"
	"	.cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %rbx, 0\n"
	"	sub $64, %rsp\n"
	"	.cfi_adjust_cfa_offset 64\n"
	"	call stop_here\n"
	"	.cfi_endproc\n"
	".size calls_last, . - calls_last\n"
	"calls_last_end:\n"
	".type traps_first, @function\n"
	"traps_first:\n"
	"	.cfi_startproc\n"
	"	ud2\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size traps_first, . - traps_first\n");
#else
#define WAIT_FOR_EVER                                                                              \
	"	mov x0, 0\n" /* ppoll(NULL, 0, NULL, NULL) */                                      \
	"	mov x1, 0\n"                                                                             \
	"	mov x2, 0\n"                                                                             \
	"	mov x3, 0\n"                                                                             \
	"	mov x8, 73\n"                                                                            \
	"	svc 0\n"

/* Global, as one entry of the GOT serves all local names of a section (binutils 2.40). */
__asm__(".text\n"
	".globl leaf_without_cfi\n"
	".type leaf_without_cfi, %function\n"
	"leaf_without_cfi:\n" WAIT_FOR_EVER "	b leaf_without_cfi\n"
	".size leaf_without_cfi, . - leaf_without_cfi\n"
	".skip 16\n"
	".globl pushes_without_cfi\n"
	".type pushes_without_cfi, %function\n"
	"pushes_without_cfi:\n"
	"	stp x29, x30, [sp, -16]!\n"
	"1:\n" WAIT_FOR_EVER "	b 1b\n"
	".size pushes_without_cfi, . - pushes_without_cfi\n"
	".skip 16\n"
	".globl calls_last\n"
	".type calls_last, %function\n"
	"calls_last:\n"
	"	.cfi_startproc\n"
	"	stp x29, x30, [sp, -80]!\n"
	"	.cfi_adjust_cfa_offset 80\n"
	"	.cfi_rel_offset x29, 0\n"
	"	.cfi_rel_offset x30, 8\n"
	"	bl stop_here\n"
	"	.cfi_endproc\n"
	".size calls_last, . - calls_last\n"
	"calls_last_end:\n"
	".globl traps_first\n"
	".type traps_first, %function\n"
	"traps_first:\n"
	"	.cfi_startproc\n"
	"	udf 0\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size traps_first, . - traps_first\n");
#endif

__attribute__((used, noreturn)) void stop_here(void);
void stop_here(void)
{
	NOTE_CALLER();
	stop(); /* does not return: no jump, so that debuggers see it */
}

FUNCTION int enters(body *inner)
{
	int kept = 1;

	NOTE_CALLER();
	NOTE(GAP); /* what is entered here notes nothing */
	KEEP(&kept);
	inner();
	return kept;
}

static body *handler_body;

FUNCTION void handle(int number)
{
	(void)number;
	NOTE_CALLER();
	handler_body();
	KEEP(shared);
}

FUNCTION int trapped(body *inner, bool elsewhere)
{
	static char capacity[65536];
	stack_t stack = { .ss_sp = capacity, .ss_size = sizeof(capacity) };
	struct sigaction action = { .sa_handler = handle };

	NOTE_CALLER();
	if (elsewhere) {
		sigaltstack(&stack, NULL);
		action.sa_flags = SA_ONSTACK;
	}
	handler_body = inner;
	sigaction(SIGILL, &action, NULL);
	/* traps_first() notes nothing, but is called from here and interrupted. */
	NOTE(GAP);
	NOTE(EXACT);
	NOTE(traps_first);
	traps_first();
	return 1;
}

FUNCTION int waits(body *inner)
{
	struct timespec day = { .tv_sec = 86400 };

	(void)inner;
	NOTE_CALLER();
	NOTE(GAP);
	shared->ready = (pid_t)syscall(SYS_gettid);
	return nanosleep(&day, NULL);
}

/* --- Ways in --- */

#define WAY(name, ...)                                                                             \
	FUNCTION void way_##name(void)                                                             \
	{                                                                                          \
		NOTE_CALLER();                                                                     \
		__VA_ARGS__;                                                                       \
		KEEP(shared);                                                                      \
	}
#define READY() (shared->ready = (pid_t)syscall(SYS_gettid))

WAY(plain, recursive(stop, 50))
WAY(pages, recursive(stop, 150)) /* a stack of some pages */
WAY(deep, recursive(stop, 250))
WAY(sorts, sorts(stop))
WAY(searches, searches(stop))
WAY(trapped, trapped(stop, false))
WAY(trapped_elsewhere, trapped(stop, true))
WAY(calls_last, enters(calls_last))
WAY(waits, waits(stop))
WAY(leaf, READY(), enters(leaf_without_cfi))
WAY(pushes, READY(), enters(pushes_without_cfi))

FUNCTION void *thread_main(void *unused)
{
	NOTE_CALLER();
	recursive(stop, 3);
	return unused;
}

FUNCTION void way_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, thread_main, NULL))
		_exit(1);
	for (;;)
		pause();
}

/* All instructions of all of these are stepped through. None has its frame realigned:
 * behind the "leave" of such a function GCC's information on rbp is wrong. */
FUNCTION int step_compare(const void *left, const void *right)
{
	return *(const int *)left - *(const int *)right;
}

FUNCTION int step_body(int depth)
{
	char *capacity = alloca((size_t)depth * 17 + 1);
	int numbers[8] = { 5, 3, 8, 1 };
	char text[64];

	KEEP(capacity);
	if (depth)
		return step_body(depth - 1) + numbers[0];
	qsort(numbers, 4, sizeof(*numbers), step_compare);
	snprintf(text, sizeof(text), "%d %s", numbers[1], "text");
	return numbers[0] + text[0];
}

FUNCTION int steps(body *inner)
{
	int sum = 0;

	(void)inner;
	NOTE_CALLER();
	NOTE(GAP);
	shared->ready = (pid_t)syscall(SYS_gettid);
	for (;;) {
		sum += step_body(2);
		KEEP(&sum);
	}
	return sum;
}

WAY(steps, steps(stop))

#endif
