/* SPDX-License-Identifier: Apache-2.0 */
/* What the test workloads share. Each is a VERB() of main.c's program, or a program of its own,
 * that talks to its test in lines: it says "ready", obeys commands until "end" or until stdin is
 * closed, and answers in JSON. Times are nanoseconds of CLOCK_MONOTONIC. Every failure ends the
 * process with status 2.
 *
 * What is short is inline, so that it is no frame of its own in stacks. */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MAP_32BIT
#define MAP_32BIT 0 /* where there are no calls by int $0x80 */
#endif

#define MS 1000000LL /* in ns */
#define PAGE 4096
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* A function that is a frame of its own, under its own name, in all compilers and at all levels of
 * optimisation. */
#if defined(__clang__)
#define FRAME __attribute__((noinline))
#else
#define FRAME __attribute__((noipa))
#endif
/* Behind the call of the next function: it is no last one, so it is no jump. */
#define RETURN_HERE() asm volatile("" ::: "memory")
#define PASSES_ON(name, next)                                                                      \
	FRAME void name(void)                                                                      \
	{                                                                                          \
		next();                                                                            \
		RETURN_HERE();                                                                     \
	}

#define INLINE static inline __attribute__((always_inline))

/* What main.c runs with so many arguments, least to most: argv[0] is its name, or ends in it. */
struct verb {
	const char *name;
	int least, most;
	const char *usage;
	int (*run)(int argc, char **argv);
};
#define VERB(name, least, most, usage)                                                             \
	static int name##_main(int argc, char **argv);                                             \
	static const struct verb name##_verb = { #name, least, most, usage, name##_main };         \
	static const struct verb *const name##_entry                                               \
		__attribute__((used, section("verbs"))) = &name##_verb;                            \
	static int name##_main(int argc __attribute__((unused)),                                   \
			       char **argv __attribute__((unused)))
#define MANY 1000

/* Calls work(of): the function that tests probe, of several verbs. */
void probed_call(void (*work)(void *), void *of);

static inline _Noreturn void die(const char *what)
{
	perror(what);
	exit(2);
}

INLINE long long clock_ns(clockid_t clock)
{
	struct timespec time;

	if (clock_gettime(clock, &time))
		die("clock_gettime");
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

INLINE long long now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static inline struct timespec timespec_of(long long ns)
{
	return (struct timespec){ .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
}

INLINE void sleep_ns(long long ns)
{
	struct timespec time = timespec_of(ns);

	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

INLINE void sleep_until(long long ns)
{
	struct timespec time = timespec_of(ns);

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

/* Without a system call. */
INLINE void spin_until(long long ns)
{
	while (now_ns() < ns)
		;
}

INLINE void spin_ns(long long ns)
{
	spin_until(now_ns() + ns);
}

/* So many getppid calls. */
INLINE void getppids(long n)
{
	for (long i = 0; i < n; i++)
		syscall(SYS_getppid);
}

/* The calling thread on this CPU only; -1: wherever it likes. */
static inline void pin(long cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

static inline void be_fifo(int priority)
{
	struct sched_param param = { .sched_priority = priority };

	if (sched_setscheduler(0, SCHED_FIFO, &param))
		die("sched_setscheduler");
}

/* What an argument says; 0: there is none. */
static inline long number(const char *text)
{
	return text ? strtol(text, NULL, 10) : 0;
}

/* --- Talking to the test --- */

/* Reads one line, without its end, byte by byte so that nothing of the next
 * one is taken. Ends the process when stdin is closed: the test is gone. */
static inline void read_line(char *line, size_t size)
{
	size_t length = 0;
	char c;

	while (read(STDIN_FILENO, &c, 1) == 1) {
		if (c == '\n') {
			line[length] = '\0';
			return;
		}
		if (length + 1 < size)
			line[length++] = c;
	}
	_exit(0);
}

/* The test's next command. "end" ends the process. */
static inline const char *command(void)
{
	static char line[8192];

	read_line(line, sizeof(line));
	if (!strcmp(line, "end"))
		_exit(0);
	return line;
}

static inline _Noreturn void unknown(const char *line)
{
	fprintf(stderr, "unknown command: %s\n", line);
	_exit(2);
}

static inline void wait_for(const char *word)
{
	const char *line = command();

	if (strcmp(line, word))
		unknown(line);
}

/* Writes one line at once; printf's format. */
__attribute__((format(printf, 1, 2))) static inline void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

/* From now on it ends with its test. */
static inline void say_ready(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	say("ready");
}

/* Between the members of a list. */
static inline const char *comma(long i)
{
	return i ? ", " : "";
}

/* [a, b, ...] */
static inline void row_print(const long long *row, int columns)
{
	putchar('[');
	for (int i = 0; i < columns; i++)
		printf("%s%lld", comma(i), row[i]);
	putchar(']');
}

/* [[a, b, ...], ...] of rows that lie one behind the other. */
static inline void rows_print(const long long *rows, long n, int columns)
{
	putchar('[');
	for (long i = 0; i < n; i++) {
		printf("%s", comma(i));
		row_print(rows + i * columns, columns);
	}
	putchar(']');
}

/* The same of a ring of so many rows, of which n were written so far: the last ones, without the
 * oldest, which may be being overwritten. */
static inline void ring_print(const long long *rows, long n, long room, int columns)
{
	putchar('[');
	for (long i = n >= room ? n - room + 1 : 0, first = i; i < n; i++) {
		printf("%s", comma(i > first));
		row_print(rows + i % room * columns, columns);
	}
	putchar(']');
}

/* --- Memory, pipes, threads --- */

static inline void *memory_map(size_t size, int flags)
{
	void *start = mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	if (start == MAP_FAILED)
		die("mmap");
	return start;
}

/* One fault for each page. */
static inline void *small_pages_map(size_t size)
{
	void *start = memory_map(size, MAP_PRIVATE);

	if (madvise(start, size, MADV_NOHUGEPAGE))
		die("MADV_NOHUGEPAGE");
	return start;
}

static inline void memory_drop(void *start, size_t size)
{
	if (madvise(start, size, MADV_DONTNEED))
		die("MADV_DONTNEED");
}

static inline void pipe_make(int ends[2])
{
	if (pipe(ends))
		die("pipe");
}

static inline void pass_bytes(int fd, int count)
{
	for (int i = 0; i < count; i++)
		if (write(fd, "", 1) != 1)
			die("write to a pipe");
}

static inline void take_bytes(int fd, int count)
{
	char c;

	for (int i = 0; i < count; i++)
		if (read(fd, &c, 1) != 1)
			die("read from a pipe");
}

static inline pthread_t thread_begin(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, arg))
		die("pthread_create");
	return thread;
}

/* One of thousands. */
static inline pthread_t small_thread_begin(void *(*run)(void *), void *arg)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (pthread_attr_init(&attributes) || pthread_attr_setstacksize(&attributes, 65536) ||
	    pthread_create(&thread, &attributes, run, arg))
		die("pthread_create");
	pthread_attr_destroy(&attributes);
	return thread;
}

static inline bool is_asleep(pid_t tid)
{
	char path[64], state = '?';
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", tid, tid);
	file = fopen(path, "r");
	if (!file || fscanf(file, "%*d %*s %c", &state) != 1)
		die(path);
	fclose(file);
	return state == 'S';
}

/* Waits until a thread of any process sleeps. */
static inline void sleep_await(pid_t tid)
{
	while (!is_asleep(tid))
		sleep_ns(MS);
}

static inline pid_t child_fork(void)
{
	pid_t child = fork();

	if (child < 0)
		die("fork");
	if (!child)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return child;
}

#endif
