/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that are kept for as long as the test wants, and a window whose edges are calls: held
 *
 *   <- wait     -> FROM      a thread waits for a mutex, from about this time on
 *   <- read     -> FROM      a thread waits for a byte in a pipe
 *   <- spin CPU -> FROM      a thread computes on this CPU, until the end
 *   <- open     -> opened    main() makes a getppid call
 *   <- close    -> FROM TO   main() makes a getuid call between these times
 *   <- release  -> released  main() releases the mutex and writes the byte, and who waited has it
 */
#include "workload.h"

struct held {
	pthread_mutex_t mutex;
	int bytes[2], got[2]; /* pipes */
	long cpu;
	int waiting;
};

static _Noreturn void rest(void)
{
	for (;;)
		pause();
}

static _Noreturn void *want(void *arg)
{
	struct held *held = arg;

	prctl(PR_SET_NAME, "waiter");
	say("%lld", clock_ns(CLOCK_MONOTONIC));
	pthread_mutex_lock(&held->mutex);
	pass_bytes(held->got[1], 1);
	rest();
}

static _Noreturn void *take(void *arg)
{
	struct held *held = arg;

	prctl(PR_SET_NAME, "reader");
	say("%lld", clock_ns(CLOCK_MONOTONIC));
	take_bytes(held->bytes[0], 1);
	pass_bytes(held->got[1], 1);
	rest();
}

static _Noreturn void *spin(void *arg)
{
	struct held *held = arg;

	prctl(PR_SET_NAME, "spinner");
	pin(held->cpu);
	say("%lld", clock_ns(CLOCK_MONOTONIC));
	for (volatile unsigned int i = 0;; i = i + 1)
		;
}

static void begin(struct held *held, void *(*run)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, held))
		die("pthread_create");
	held->waiting += run != spin;
}

static void close_window(void)
{
	long long from = clock_ns(CLOCK_MONOTONIC);

	syscall(SYS_getuid);
	say("%lld %lld", from, clock_ns(CLOCK_MONOTONIC));
}

static void release(struct held *held)
{
	pthread_mutex_unlock(&held->mutex);
	pass_bytes(held->bytes[1], 1);
	take_bytes(held->got[0], held->waiting);
	say("released");
}

int main(void)
{
	static struct held held = { .mutex = PTHREAD_MUTEX_INITIALIZER };
	char line[64];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (pipe(held.bytes) || pipe(held.got))
		die("pipe");
	pthread_mutex_lock(&held.mutex);
	say("ready");
	for (;;) {
		read_line(line, sizeof(line));
		if (!strcmp(line, "wait")) {
			begin(&held, want);
		} else if (!strcmp(line, "read")) {
			begin(&held, take);
		} else if (!strncmp(line, "spin ", 5)) {
			held.cpu = strtol(line + 5, NULL, 10);
			begin(&held, spin);
		} else if (!strcmp(line, "open")) {
			syscall(SYS_getppid);
			say("opened");
		} else if (!strcmp(line, "close")) {
			close_window();
		} else if (!strcmp(line, "release")) {
			release(&held);
		} else {
			return 0;
		}
	}
}
