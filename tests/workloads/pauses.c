/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that wait for a byte in a pipe, or for a mutex, and log how long: pauses ROUNDS
 *
 * Every second wait is as short as its partner can make it, the others last PAUSE_NS.
 *
 * Truths of "taker" (pipe) and "locker" (mutex): calls: how many; slept: in how many it slept;
 * least: how many may have been a sleep of LEAST_NS, as they took so long; long: how many slept
 * for LONG_NS, without the time for which the thread waited for a CPU; long_ns: how long these
 * took. */
#include "stage.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>

#define PAUSE_NS 250000
#define LEAST_NS 20000
#define LONG_NS 200000

struct log {
	long calls, slept, least, longer, before_slept;
	long long long_ns, before, before_delay;
	int schedstat;
};

static long rounds;
static int to_taker[2], to_teller[2], to_locker[2], to_holder[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static long sleeps(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_THREAD, &usage))
		die("getrusage");
	return usage.ru_nvcsw;
}

/* Its time without a CPU although it was runnable: run_delay,
 * Documentation/scheduler/sched-stats.rst */
static long long delay_ns(const struct log *log)
{
	long long delay;
	char text[64];
	ssize_t got = pread(log->schedstat, text, sizeof(text) - 1, 0);

	text[got < 0 ? 0 : got] = '\0';
	if (sscanf(text, "%*s %lld", &delay) != 1)
		die("schedstat");
	return delay;
}

static struct log log_open(void)
{
	struct log log = { .schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC) };

	return log;
}

static void log_begin(struct log *log)
{
	log->before_delay = delay_ns(log);
	log->before_slept = sleeps();
	log->before = now_ns();
}

static void log_add(struct log *log)
{
	long long ns = now_ns() - log->before;
	long slept = sleeps() - log->before_slept;

	log->calls++;
	log->slept += slept > 0;
	log->least += slept > 0 && ns >= LEAST_NS;
	if (slept && ns - (delay_ns(log) - log->before_delay) >= LONG_NS) {
		log->longer++;
		log->long_ns += ns;
	}
}

static void log_note(const struct log *log, struct worker *worker)
{
	worker_note(worker, "calls", log->calls);
	worker_note(worker, "slept", log->slept);
	worker_note(worker, "least", log->least);
	worker_note(worker, "long", log->longer);
	worker_note(worker, "long_ns", log->long_ns);
}

static void taker(struct worker *worker)
{
	struct log log = log_open();

	worker_note(worker, "fd", to_taker[0]);
	for (long i = 0; i < rounds; i++) {
		log_begin(&log);
		take_bytes(to_taker[0], 1);
		log_add(&log);
		pass_bytes(to_teller[1], 1);
	}
	log_note(&log, worker);
}

static void teller(struct worker *worker)
{
	(void)worker;
	for (long i = 0; i < rounds; i++) {
		if (i % 2)
			sleep_ns(PAUSE_NS);
		pass_bytes(to_taker[1], 1);
		take_bytes(to_teller[0], 1);
	}
}

static void locker(struct worker *worker)
{
	struct log log = log_open();

	for (long i = 0; i < rounds; i++) {
		take_bytes(to_locker[0], 1);
		log_begin(&log);
		pthread_mutex_lock(&mutex);
		log_add(&log);
		pthread_mutex_unlock(&mutex);
		pass_bytes(to_holder[1], 1);
	}
	log_note(&log, worker);
}

static void holder(struct worker *worker)
{
	(void)worker;
	for (long i = 0; i < rounds; i++) {
		pthread_mutex_lock(&mutex);
		pass_bytes(to_locker[1], 1);
		if (i % 2)
			sleep_ns(PAUSE_NS);
		pthread_mutex_unlock(&mutex);
		take_bytes(to_holder[0], 1);
	}
}

VERB(pauses, 1, 1, "ROUNDS")
{
	static struct stage stage;

	rounds = number(argv[1]);
	pipe_make(to_taker);
	pipe_make(to_teller);
	pipe_make(to_locker);
	pipe_make(to_holder);
	stage_add(&stage, "taker", taker);
	stage_add(&stage, "teller", teller);
	stage_add(&stage, "locker", locker);
	stage_add(&stage, "holder", holder);
	stage_serve(&stage);
}
