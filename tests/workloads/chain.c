/* SPDX-License-Identifier: Apache-2.0 */
/* Known chains of calls that end in a slow system call:
 *
 *   cc -shared -fPIC -DLIBRARY=NAME chain.c -o libNAME.so    only a library's part
 *   cc -DLINKED=NAME chain.c libNAME.so                      which calls that library
 *   cc -DSTATIC -static-pie chain.c
 *   chain
 *
 *   -> ready
 *   <- SHAPE KIND MS [FILE]     -> {"tid": ..., "from": ns, "to": ns}: the chain was gone
 *                               through between these times, by this thread
 *   <- end                      the process ends
 *
 * SHAPE is a function of shapes[], the outermost of its chain but main() or
 * thread_main(); FILE its library or program. KIND is the system call, which takes
 * MS milliseconds. No function here is inlined, cloned or left by a jump, so each
 * one is a frame, in all compilers and at all levels of optimisation. */
#ifndef LIBRARY
#include "workload.h"

#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdalign.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <ucontext.h>
#else
#if defined(__clang__)
#define FRAME __attribute__((noinline))
#else
#define FRAME __attribute__((noipa))
#endif
#define RETURN_HERE() asm volatile("" ::: "memory")
#endif

typedef void visit_fn(void *arg);
typedef void enter_fn(visit_fn *visit, void *arg);

#define JOIN(a, b) a##b
#define NAMED(library, suffix) JOIN(library, suffix)

#ifdef LIBRARY
enter_fn NAMED(LIBRARY, _enter);

/* Not exported: only .symtab has its name. */
__attribute__((visibility("hidden"))) enter_fn NAMED(LIBRARY, _within);

FRAME void NAMED(LIBRARY, _within)(visit_fn *visit, void *arg)
{
	visit(arg);
	RETURN_HERE();
}

FRAME void NAMED(LIBRARY, _enter)(visit_fn *visit, void *arg)
{
	NAMED(LIBRARY, _within)(visit, arg);
	RETURN_HERE();
}

/* One name for dlsym(). */
extern enter_fn *const library_entry;
enter_fn *const library_entry = NAMED(LIBRARY, _enter);

#else

/* What the innermost function does. */
static struct {
	char kind[16];
	long ms;
	char file[4096];
	int timer;
} job;

/* All functions of the chains, in their order. */
void slow(void);
void deep_1(void), deep_2(void), deep_3(void), deep_4(void), deep_5(void), deep_6(void);
void deep_7(void), deep_8(void), deep_9(void), deep_10(void), deep_11(void), deep_12(void);
void with_alloca(void), alloca_user(size_t size);
void realigned(void), realigned_user(size_t size);
void with_recursion(void), recurse(int left);
void with_qsort(void), with_bsearch(void), with_once(void);
int compare(const void *a, const void *b);
void once(void);
void through_linked(void), through_opened(void), visited(void *arg);
void with_signal(void), on_alternate_stack(void), with_fault(void);
void faulting(void), handler(int number, siginfo_t *info, void *context);
void with_fork(void), with_thread(void), with_own_stack(void), with_exec(void);
void *thread_main(void *arg);
int main(int argc, char **argv);

FRAME void slow(void)
{
	struct timespec time = timespec_of(job.ms * MS);
	uint64_t expired;
	uint32_t word = 0;

	if (!strcmp(job.kind, "sleep")) {
		clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
	} else if (!strcmp(job.kind, "poll")) {
		poll(NULL, 0, job.ms);
	} else if (!strcmp(job.kind, "read")) {
		struct itimerspec timer = { .it_value = time };

		if (timerfd_settime(job.timer, 0, &timer, NULL) ||
		    read(job.timer, &expired, sizeof(expired)) != sizeof(expired))
			die("timerfd");
	} else if (!strcmp(job.kind, "futex")) {
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &time, NULL, 0);
	}
	RETURN_HERE();
}

PASSES_ON(deep_12, slow)
PASSES_ON(deep_11, deep_12)
PASSES_ON(deep_10, deep_11)
PASSES_ON(deep_9, deep_10)
PASSES_ON(deep_8, deep_9)
PASSES_ON(deep_7, deep_8)
PASSES_ON(deep_6, deep_7)
PASSES_ON(deep_5, deep_6)
PASSES_ON(deep_4, deep_5)
PASSES_ON(deep_3, deep_4)
PASSES_ON(deep_2, deep_3)
PASSES_ON(deep_1, deep_2)

/* Frames whose size the compiler does not know, and that are no multiple of what
 * they were called with. */

FRAME void alloca_user(size_t size)
{
	volatile char *room = alloca(size);

	room[0] = room[size - 1] = 1;
	slow();
	room[0] = 2;
}

FRAME void with_alloca(void)
{
	for (size_t size = 1; size < 40000; size += 13331) {
		alloca_user(size);
		RETURN_HERE();
	}
}

FRAME void realigned_user(size_t size)
{
	alignas(64) volatile char aligned[64];
	volatile char *room = alloca(size);

	if ((uintptr_t)aligned % 64)
		die("the frame is not aligned");
	aligned[0] = room[0] = room[size - 1] = 1;
	slow();
	aligned[0] = room[0] = 2;
}

FRAME void realigned(void)
{
	for (size_t size = 1; size < 300; size += 97) {
		realigned_user(size);
		RETURN_HERE();
	}
}

FRAME void recurse(int left)
{
	if (left > 1)
		recurse(left - 1);
	else
		slow();
	RETURN_HERE();
}

FRAME void with_recursion(void)
{
	recurse(50);
	RETURN_HERE();
}

/* Functions that the C library calls. */

FRAME int compare(const void *a, const void *b)
{
	slow();
	RETURN_HERE();
	return *(const int *)a - *(const int *)b;
}

FRAME void with_qsort(void)
{
	int numbers[] = { 2, 1 };

	qsort(numbers, 2, sizeof(*numbers), compare);
	RETURN_HERE();
}

FRAME void with_bsearch(void)
{
	/* Not what the header would put here in its place. */
	void *(*volatile search)(const void *, const void *, size_t, size_t,
				 int (*)(const void *, const void *)) = bsearch;
	int number = 1;

	if (!search(&number, &number, 1, sizeof(number), compare))
		die("bsearch");
	RETURN_HERE();
}

FRAME void once(void)
{
	slow();
	RETURN_HERE();
}

FRAME void with_once(void)
{
	pthread_once_t control = PTHREAD_ONCE_INIT;

	pthread_once(&control, once);
	RETURN_HERE();
}

/* Into a library and back: one that it is linked with, or that is open for this time. */

FRAME void visited(void *arg)
{
	(void)arg;
	slow();
	RETURN_HERE();
}

#ifdef LINKED
enter_fn NAMED(LINKED, _enter);

FRAME void through_linked(void)
{
	NAMED(LINKED, _enter)(visited, NULL);
	RETURN_HERE();
}
#endif

#ifndef STATIC
FRAME void through_opened(void)
{
	void *library = dlopen(job.file, RTLD_NOW);
	enter_fn *const *entry = library ? dlsym(library, "library_entry") : NULL;

	if (!entry) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	(*entry)(visited, NULL);
	dlclose(library);
}
#endif

/* Signals that a thread sends to itself, and that the processor causes. */

FRAME void handler(int number, siginfo_t *info, void *context)
{
	(void)info;
	slow();
	RETURN_HERE();
	if (number == SIGILL) {
#if defined(__x86_64__)
		((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
#elif defined(__aarch64__)
		((ucontext_t *)context)->uc_mcontext.pc += 4;
#endif
	}
	(void)context;
}

static void handle(int number, int flags)
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags };

	if (sigaction(number, &action, NULL))
		die("sigaction");
}

FRAME void with_signal(void)
{
	handle(SIGUSR1, 0);
	syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1);
	RETURN_HERE();
}

FRAME void on_alternate_stack(void)
{
	stack_t stack = { .ss_size = 256 * 1024 };

	stack.ss_sp = memory_map(stack.ss_size, MAP_PRIVATE);
	if (sigaltstack(&stack, NULL))
		die("sigaltstack");
	handle(SIGUSR1, SA_ONSTACK);
	syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1);
	stack.ss_flags = SS_DISABLE;
	if (sigaltstack(&stack, NULL) || munmap(stack.ss_sp, stack.ss_size))
		die("sigaltstack");
}

/* The first instruction faults: the one before it is another function's. */
asm(".text\n"
    ".globl faulting\n"
    ".type faulting, %function\n"
    "faulting:\n"
    ".cfi_startproc\n"
#if defined(__x86_64__)
    "ud2\n"
    "ret\n"
#else
    "udf #0\n"
    "ret\n"
#endif
    ".cfi_endproc\n"
    ".size faulting, . - faulting\n");

FRAME void with_fault(void)
{
	handle(SIGILL, 0);
	faulting();
	RETURN_HERE();
}

/* Other threads and processes. */

FRAME void with_fork(void)
{
	pid_t child = fork();

	if (child < 0)
		die("fork");
	if (!child) {
		sleep_await(getppid()); /* in waitpid() */
		deep_1();
		_exit(0);
	}
	if (waitpid(child, NULL, 0) != child)
		die("waitpid");
	RETURN_HERE();
}

static pid_t last_thread;

FRAME void *thread_main(void *arg)
{
	last_thread = gettid();
	deep_1();
	RETURN_HERE();
	return arg;
}

static void run_thread(const pthread_attr_t *attr)
{
	pthread_t thread;

	if (pthread_create(&thread, attr, thread_main, NULL) || pthread_join(thread, NULL))
		die("pthread_create");
}

FRAME void with_thread(void)
{
	run_thread(NULL);
	RETURN_HERE();
}

FRAME void with_own_stack(void)
{
	size_t size = 256 * 1024;
	void *stack = memory_map(size, MAP_PRIVATE);
	pthread_attr_t attr;

	if (pthread_attr_init(&attr) || pthread_attr_setstack(&attr, stack, size))
		die("pthread_attr_setstack");
	run_thread(&attr);
	pthread_attr_destroy(&attr);
	munmap(stack, size);
}

FRAME void with_exec(void)
{
	slow();
	execl(job.file, "chain", NULL);
	die(job.file);
}

#define SHAPE(function)                                                                            \
	{                                                                                          \
		.name = #function, .run = function                                                 \
	}

static const struct {
	const char *name;
	void (*run)(void);
} shapes[] = {
	SHAPE(deep_1),         SHAPE(with_alloca), SHAPE(realigned),
	SHAPE(with_recursion), SHAPE(with_qsort),  SHAPE(with_bsearch),
	SHAPE(with_once),      SHAPE(with_signal), SHAPE(on_alternate_stack),
	SHAPE(with_fault),     SHAPE(with_fork),   SHAPE(with_thread),
	SHAPE(with_own_stack), SHAPE(with_exec),
#ifdef LINKED
	SHAPE(through_linked),
#endif
#ifndef STATIC
	SHAPE(through_opened),
#endif
};

int main(int argc, char **argv)
{
	char line[4200], shape[32];
	long long from;

	(void)argc;
	(void)argv;
	job.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (job.timer < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL))
		die("timerfd_create");
	say("ready");
	for (;;) {
		size_t i = 0;

		read_line(line, sizeof(line));
		job.file[0] = '\0';
		if (sscanf(line, "%31s %15s %ld %4095s", shape, job.kind, &job.ms, job.file) < 3)
			break;
		while (i < COUNT(shapes) && strcmp(shapes[i].name, shape))
			i++;
		if (i == COUNT(shapes))
			break;
		last_thread = gettid();
		from = now_ns();
		shapes[i].run();
		say("{\"tid\": %d, \"from\": %lld, \"to\": %lld}", last_thread, from, now_ns());
	}
	_exit(strcmp(line, "end") ? 2 : 0);
}
#endif
