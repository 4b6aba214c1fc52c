/* SPDX-License-Identifier: Apache-2.0 */
/* Functions whose every instruction is known. */
#include "workload.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>

/* --- prologues: functions that begin with given instructions, and what calling them costs ---
 *
 *   <- call NAME N WORK   N calls of the function, with WORK steps of a loop after each,
 *                         and as many of a copy that nobody probes, in turns
 *   <- spend NAME MS WORK the same, until the thread has used MS of CPU time
 *   -> {"tid": ..., "calls": ..., "ns": ..., "bare_ns": ..., "longest_ns": ...}: the calls
 *                         of the function, the CPU time for them and for those of the copy,
 *                         and no call took longer than that
 * NAME: begins_push, begins_push_rex, begins_mov, begins_nop, begins_nop5, begins_jump,
 * begins_sub, or rand, which is the C library's. */

#define BATCH 128 /* calls between readings of the clock */

/* Not static, so that they keep their names. */
#define FUNCTION(name, instructions)                                                               \
	COPY(name, instructions)                                                                   \
	COPY(name##_bare, instructions)
#define COPY(name, instructions)                                                                   \
	void name(void);                                                                           \
	__asm__(".text\n.balign 64\n.globl " #name "\n.type " #name ", %function\n" #name          \
		":\n" instructions "\nret\n.size " #name ", . - " #name "\n");
#if defined(__x86_64__)
FUNCTION(begins_push, "push %rbx\nnop\npop %rbx")
FUNCTION(begins_push_rex, "push %r12\nnop\npop %r12")
FUNCTION(begins_mov, "mov %rdi, %rax\nnop")
FUNCTION(begins_nop, "nop\nnop")
FUNCTION(begins_nop5, ".byte 0x0f, 0x1f, 0x44, 0, 0\nnop")
FUNCTION(begins_jump, "jmp 1f\nnop\n1: nop")
FUNCTION(begins_sub, "sub $8, %rsp\nnop\nadd $8, %rsp")
#else
FUNCTION(begins_push, "stp x29, x30, [sp, #-16]!\nnop\nldp x29, x30, [sp], #16")
FUNCTION(begins_push_rex, "stp x19, x20, [sp, #-16]!\nnop\nldp x19, x20, [sp], #16")
FUNCTION(begins_mov, "mov x1, x0\nnop")
FUNCTION(begins_nop, "nop\nnop")
FUNCTION(begins_nop5, "nop\nnop")
FUNCTION(begins_jump, "b 1f\nnop\n1: nop")
FUNCTION(begins_sub, "sub sp, sp, #16\nnop\nadd sp, sp, #16")
#endif

static void call_rand(void)
{
	(void)rand();
}

static void call_random(void)
{
	(void)random();
}

static const struct function {
	const char *name;
	void (*call)(void), (*bare)(void);
} functions[] = {
	{ "begins_push", begins_push, begins_push_bare },
	{ "begins_push_rex", begins_push_rex, begins_push_rex_bare },
	{ "begins_mov", begins_mov, begins_mov_bare },
	{ "begins_nop", begins_nop, begins_nop_bare },
	{ "begins_nop5", begins_nop5, begins_nop5_bare },
	{ "begins_jump", begins_jump, begins_jump_bare },
	{ "begins_sub", begins_sub, begins_sub_bare },
	{ "rand", call_rand, call_random },
};

static const struct function *function_find(const char *name)
{
	for (size_t i = 0; i < COUNT(functions); i++)
		if (!strcmp(functions[i].name, name))
			return &functions[i];
	die(name);
	return NULL;
}

/* longest: of the batches so far, by the clock on the wall. */
static long long batch_ns(void (*call)(void), long work, long long *longest)
{
	long long started = now_ns();
	long long began = clock_ns(CLOCK_THREAD_CPUTIME_ID), used, took;

	for (int i = 0; i < BATCH; i++) {
		call();
		for (volatile long step = 0; step < work; step++)
			;
	}
	used = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began;
	took = now_ns() - started;
	*longest = took > *longest ? took : *longest;
	return used;
}

/* Until there were so many calls, or they took that long. */
static void calls_make(const struct function *function, long calls, long long ns, long work)
{
	long long with = 0, bare = 0, longest = 0, unused = 0;
	long made = 0;

	while (made < calls && with + bare < ns) {
		with += batch_ns(function->call, work, &longest);
		bare += batch_ns(function->bare, work, &unused);
		made += BATCH;
	}
	say("{\"tid\": %d, \"calls\": %ld, \"ns\": %lld, \"bare_ns\": %lld, \"longest_ns\": %lld}",
	    gettid(), made, with, bare, longest);
}

VERB(prologues, 0, 0, "")
{
	char name[32];
	long count, work;

	say_ready();
	for (;;) {
		const char *line = command();

		if (sscanf(line, "call %31s %ld %ld", name, &count, &work) == 3)
			calls_make(function_find(name), count, LLONG_MAX, work);
		else if (sscanf(line, "spend %31s %ld %ld", name, &count, &work) == 3)
			calls_make(function_find(name), LONG_MAX, count * MS, work);
		else
			unknown(line);
	}
}

/* --- jit: makes code at run time, as a just-in-time compiler does ---
 *
 * Functions with frame pointers, in memory of no file, each of which calls the next one; the last
 * calls slow().
 *
 *   -> ready PID SIZE ADDRESS...   its PID as it sees it, bytes of each function, and where they
 *                  are
 *   <- go MS       -> done: a thread has gone through all of them, to a nanosleep of MS ms
 *   <- map FILE    -> done: the file is mapped, as the writer of a jitdump does */

#define FUNCTIONS 4
#define ROOM 64 /* bytes for each */

/* void made(void **next): calls the first of them, and hands it the others. */
static const uint8_t made[] = {
#if defined(__x86_64__)
	0x55,                   /* push %rbp */
	0x48, 0x89, 0xe5,       /* mov %rsp, %rbp */
	0x48, 0x8b, 0x07,       /* mov (%rdi), %rax */
	0x48, 0x83, 0xc7, 0x08, /* add $8, %rdi */
	0xff, 0xd0,             /* call *%rax */
	0x5d,                   /* pop %rbp */
	0xc3,                   /* ret */
#else
	0xfd, 0x7b, 0xbf, 0xa9, /* stp x29, x30, [sp, #-16]! */
	0xfd, 0x03, 0x00, 0x91, /* mov x29, sp */
	0x01, 0x84, 0x40, 0xf8, /* ldr x1, [x0], #8 */
	0x20, 0x00, 0x3f, 0xd6, /* blr x1 */
	0xfd, 0x7b, 0xc1, 0xa8, /* ldp x29, x30, [sp], #16 */
	0xc0, 0x03, 0x5f, 0xd6, /* ret */
#endif
};

static long ms;

static void slow(void **next)
{
	struct timespec time = timespec_of(ms * MS);

	(void)next;
	nanosleep(&time, NULL);
}

static void map_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		die(path);
	close(fd);
}

VERB(jit, 0, 0, "")
{
	char *code = mmap(NULL, FUNCTIONS * ROOM, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *next[FUNCTIONS + 1];

	if (code == MAP_FAILED)
		die("mmap");
	for (int i = 0; i < FUNCTIONS; i++) {
		next[i] = code + i * ROOM;
		memcpy(next[i], made, sizeof(made));
	}
	next[FUNCTIONS] = (void *)slow;
	__builtin___clear_cache(code, code + FUNCTIONS * ROOM);
	say("ready %d %zu %lu %lu %lu %lu", (int)getpid(), sizeof(made), (unsigned long)next[0],
	    (unsigned long)next[1], (unsigned long)next[2], (unsigned long)next[3]);
	for (;;) {
		const char *line = command();

		if (sscanf(line, "go %ld", &ms) == 1)
			((void (*)(void **))next[0])(next + 1);
		else if (!strncmp(line, "map ", 4))
			map_file(line + 4);
		else
			unknown(line);
		say("done");
	}
}
