/* SPDX-License-Identifier: Apache-2.0 */
/* What the test workloads share: they talk to their test in lines on stdin and
 * stdout, and their threads wait in known places before and after their work.
 *
 *   -> ready            all threads are in place
 *   <- mark             -> {"from": ns, "cpu": {"TID": ns, ...}, "to": ns}: the run times
 *                       of the threads, read between these times of CLOCK_MONOTONIC
 *   <- go               -> {"pid": ..., "threads": [truths of each thread]}; "rests" are
 *                       those that have done their work and wait for the end, or are
 *                       about to: their last write may still have to return
 *   <- end              the process ends, as it does when stdin is closed
 *
 * Times are nanoseconds. Every failure ends the process with status 2. */
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
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct stage;

/* One thread of a workload. */
struct worker {
	const char *role;             /* printed in the truths */
	void (*run)(struct worker *); /* its work */
	bool throughout; /* works from before "ready" until stage_over(), not from "go" */
	long args[4];
	int in, out; /* pipe ends, for workers that talk to each other */

	/* Filled by the stage. */
	struct stage *stage;
	pthread_t thread;
	pid_t tid;
	char truths[16384]; /* ", "key": value" by worker_note() */
};

/* All workers of a process, and the pipes at which they wait. */
struct stage {
	struct worker *workers;
	int count;
	int go[2], done[2], end[2];
	atomic_bool over;
};

static inline void die(const char *what)
{
	perror(what);
	exit(2);
}

static inline long long clock_ns(clockid_t clock)
{
	struct timespec now;

	if (clock_gettime(clock, &now))
		die("clock_gettime");
	return now.tv_sec * 1000000000LL + now.tv_nsec;
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

static inline void wait_for(const char *word)
{
	char line[64];

	read_line(line, sizeof(line));
	if (!strcmp(line, "end"))
		_exit(0);
	if (strcmp(line, word)) {
		fprintf(stderr, "expected %s, got %s\n", word, line);
		_exit(2);
	}
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

/* Appends a member to the worker's truths; the value is JSON text. */
static inline void worker_note_text(struct worker *worker, const char *key, const char *value)
{
	size_t used = strlen(worker->truths);
	size_t room = sizeof(worker->truths) - used;
	int length = snprintf(worker->truths + used, room, ", \"%s\": %s", key, value);

	if (length < 0 || (size_t)length >= room)
		die("truths too long");
}

static inline void worker_note(struct worker *worker, const char *key, long long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", value);
	worker_note_text(worker, key, text);
}

static inline bool stage_over(const struct stage *stage)
{
	return atomic_load_explicit(&stage->over, memory_order_relaxed);
}

static inline void *worker_main(void *arg)
{
	struct worker *worker = arg;
	struct stage *stage = worker->stage;

	worker->tid = gettid();
	prctl(PR_SET_NAME, worker->role);
	pass_bytes(stage->done[1], 1);
	if (!worker->throughout)
		take_bytes(stage->go[0], 1);
	worker->run(worker);
	if (!worker->throughout)
		pass_bytes(stage->done[1], 1);
	take_bytes(stage->end[0], 1);
	return NULL;
}

static inline void stage_start(struct stage *stage)
{
	if (pipe(stage->go) || pipe(stage->done) || pipe(stage->end))
		die("pipe");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < stage->count; i++) {
		struct worker *worker = &stage->workers[i];

		worker->stage = stage;
		if (pthread_create(&worker->thread, NULL, worker_main, worker))
			die("pthread_create");
	}
	take_bytes(stage->done[0], stage->count);
}

static inline void stage_mark(struct stage *stage)
{
	printf("{\"from\": %lld, \"cpu\": {", clock_ns(CLOCK_MONOTONIC));
	for (int i = 0; i < stage->count; i++) {
		clockid_t clock;

		if (pthread_getcpuclockid(stage->workers[i].thread, &clock))
			die("pthread_getcpuclockid");
		printf("%s\"%d\": %lld", i ? ", " : "", stage->workers[i].tid, clock_ns(clock));
	}
	say("}, \"to\": %lld}", clock_ns(CLOCK_MONOTONIC));
}

/* Lets the workers do their work and prints their truths. */
static inline void stage_go(struct stage *stage)
{
	int waiting = 0;

	for (int i = 0; i < stage->count; i++)
		waiting += !stage->workers[i].throughout;
	pass_bytes(stage->go[1], waiting);
	take_bytes(stage->done[0], waiting);
	printf("{\"pid\": %d, \"threads\": [", getpid());
	for (int i = 0; i < stage->count; i++) {
		struct worker *worker = &stage->workers[i];

		printf("%s{\"tid\": %d, \"role\": \"%s\", \"rests\": %s%s}", i ? ", " : "",
		       worker->tid, worker->role, worker->throughout ? "false" : "true",
		       worker->truths);
	}
	say("]}");
}

static inline void stage_begin(struct stage *stage)
{
	stage_start(stage);
	say("ready");
}

/* Serves the test's commands that all stages have, until there is another one: that is in line. */
static inline void stage_await(struct stage *stage, char *line, size_t size)
{
	for (;;) {
		read_line(line, size);
		if (!strcmp(line, "mark"))
			stage_mark(stage);
		else if (!strcmp(line, "go"))
			stage_go(stage);
		else
			break;
	}
}

/* Serves a process whose threads work from its beginning and end with it: "mark", "go" and
 * "log", on which log_print() prints a line; anything else ends it. */
static inline _Noreturn void stage_serve_log(struct stage *stage,
					     void (*log_print)(const struct stage *stage))
{
	char line[64];

	stage_begin(stage);
	for (stage_await(stage, line, sizeof(line)); !strcmp(line, "log");
	     stage_await(stage, line, sizeof(line)))
		log_print(stage);
	fflush(stdout);
	_exit(0);
}

/* Starts the workers, serves the test's commands and ends the process. */
static inline int stage_serve(struct stage *stage)
{
	char line[64];

	stage_begin(stage);
	stage_await(stage, line, sizeof(line));
	if (strcmp(line, "end") != 0)
		die(line);
	atomic_store(&stage->over, true);
	pass_bytes(stage->end[1], stage->count);
	for (int i = 0; i < stage->count; i++)
		pthread_join(stage->workers[i].thread, NULL);
	return 0;
}

#endif
