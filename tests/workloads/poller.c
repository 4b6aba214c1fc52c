/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that poll, work, and poll again, and how long they worked by their own
 * clock: poller ROLE:ROUNDS:EVERY:LONG_MS[:OFFSET]...
 *
 * Roles are named after the call: poll, ppoll, epoll_wait, epoll_pwait, select. The
 * thread waits for 1 ms in each of ROUNDS calls and works hardly at all between
 * them, but in one of EVERY rounds (the first after OFFSET) for LONG_MS.
 *
 * brief:BRIEF_MS:LONG_MS is a thread that lets another one return from a poll, work for
 * BRIEF_MS and end, and meanwhile begins one such long time of its own between two: the other
 * one does not end before that.
 *
 * The truths of a thread have "long": [[before the return, after it, before the next
 * call, after it], ...] of the times between two calls that may have been three quarters of
 * LONG_MS or more: it returned when its wait was over, or later. "last" is [before the last
 * return, after it], "slept" is [[before, after], ...] of the sleeps in the long times that
 * were wanted; others are long because the thread had no CPU. */
#include "workload.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

#define MAX_WORKERS 16
#define LOG_TEXT 13500 /* all of 200 rounds */
#define WAIT_NS 1000000L

enum wait { WAIT_POLL, WAIT_PPOLL, WAIT_EPOLL, WAIT_EPOLL_PWAIT, WAIT_SELECT, WAITS };

static const char *const names[WAITS] = { "poll", "ppoll", "epoll_wait", "epoll_pwait", "select" };

/* One call that times out after WAIT_NS. */
static void wait_once(enum wait wait, int epoll)
{
	struct timespec timeout = { .tv_nsec = WAIT_NS };
	struct timeval time = { .tv_usec = WAIT_NS / 1000 };
	struct epoll_event event;
	sigset_t none;
	int got = -1;

	sigemptyset(&none);
	switch (wait) {
	case WAIT_POLL:
		got = poll(NULL, 0, WAIT_NS / 1000000);
		break;
	case WAIT_PPOLL:
		got = ppoll(NULL, 0, &timeout, NULL);
		break;
	case WAIT_EPOLL:
		got = epoll_wait(epoll, &event, 1, WAIT_NS / 1000000);
		break;
	case WAIT_EPOLL_PWAIT:
		got = epoll_pwait(epoll, &event, 1, WAIT_NS / 1000000, &none);
		break;
	default:
		got = select(0, NULL, NULL, NULL, &time);
	}
	if (got)
		die("a wait that should have timed out");
}

/* What a thread notes of its rounds: a list of JSON. */
struct log {
	char text[LOG_TEXT];
	size_t used;
};

__attribute__((format(printf, 2, 3))) static void log_add(struct log *log, const char *format, ...)
{
	va_list args;

	log->used += (size_t)snprintf(log->text + log->used, sizeof(log->text) - log->used,
				      log->used ? ", " : "[");
	va_start(args, format);
	log->used += (size_t)vsnprintf(log->text + log->used, sizeof(log->text) - log->used, format,
				       args);
	va_end(args);
	if (log->used + 2 >= sizeof(log->text))
		die("too many long rounds");
}

static void log_note(struct log *log, struct worker *worker, const char *key)
{
	strcpy(log->text + log->used, log->used ? "]" : "[]");
	worker_note_text(worker, key, log->text);
}

/* Half of it asleep, half of it spinning. */
static void work(long ms, struct log *slept)
{
	struct timespec half = { .tv_sec = ms / 2000, .tv_nsec = ms / 2 % 1000 * 1000000 };
	long long from = clock_ns(CLOCK_MONOTONIC);

	nanosleep(&half, NULL);
	if (slept)
		log_add(slept, "[%lld, %lld]", from, clock_ns(CLOCK_MONOTONIC));
	while (clock_ns(CLOCK_MONOTONIC) < from + ms * 1000000LL)
		;
}

static enum wait wait_named(const char *name)
{
	for (int i = 0; i < WAITS; i++)
		if (!strcmp(names[i], name))
			return (enum wait)i;
	fprintf(stderr, "no role %s\n", name);
	exit(2);
}

static void role_poll(struct worker *worker)
{
	long rounds = worker->args[0], every = worker->args[1], ms = worker->args[2];
	long long before, after = 0, earlier = 0;
	enum wait wait = wait_named(worker->role);
	struct log log = { .used = 0 }, slept = { .used = 0 };
	int epoll = epoll_create1(0);
	char last[64];

	if (epoll < 0)
		die("epoll_create1");
	for (long i = 0; i < rounds; i++) {
		long long now;

		before = clock_ns(CLOCK_MONOTONIC);
		wait_once(wait, epoll);
		now = clock_ns(CLOCK_MONOTONIC);
		if (after && now - earlier - WAIT_NS >= ms * 750000LL)
			log_add(&log, "[%lld, %lld, %lld, %lld]", earlier + WAIT_NS, after, before,
				now);
		after = now;
		earlier = before;
		if (every && i % every == worker->args[3])
			work(ms, &slept);
	}
	worker_note(worker, "rounds", rounds);
	snprintf(last, sizeof(last), "[%lld, %lld]", earlier + WAIT_NS, after);
	worker_note_text(worker, "last", last);
	log_note(&log, worker, "long");
	log_note(&slept, worker, "slept");
	close(epoll);
}

/* Another thread that ends. */
struct brief {
	long ms;
	atomic_bool works, returned;
	long long from, to;
};

static void *brief_main(void *arg)
{
	struct brief *brief = arg;

	prctl(PR_SET_NAME, "brief");
	wait_once(WAIT_POLL, -1);
	brief->from = clock_ns(CLOCK_MONOTONIC);
	atomic_store(&brief->works, true);
	do
		work(brief->ms, NULL);
	while (!atomic_load(&brief->returned));
	brief->to = clock_ns(CLOCK_MONOTONIC);
	return NULL;
}

static void role_brief(struct worker *worker)
{
	struct brief brief = { .ms = worker->args[0] };
	long long earlier, after, before;
	pthread_t thread;
	char log[128];

	if (pthread_create(&thread, NULL, brief_main, &brief))
		die("pthread_create");
	while (!atomic_load(&brief.works))
		;
	earlier = clock_ns(CLOCK_MONOTONIC);
	wait_once(WAIT_POLL, -1);
	after = clock_ns(CLOCK_MONOTONIC);
	atomic_store(&brief.returned, true);
	pthread_join(thread, NULL);
	work(worker->args[1], NULL);
	before = clock_ns(CLOCK_MONOTONIC);
	wait_once(WAIT_POLL, -1);
	snprintf(log, sizeof(log), "[[%lld, %lld, %lld, %lld]]", earlier + WAIT_NS, after, before,
		 clock_ns(CLOCK_MONOTONIC));
	worker_note_text(worker, "long", log);
	snprintf(log, sizeof(log), "[%lld, %lld]", brief.from, brief.to);
	worker_note_text(worker, "brief", log);
	snprintf(log, sizeof(log), "[%lld, %lld]", before + WAIT_NS, clock_ns(CLOCK_MONOTONIC));
	worker_note_text(worker, "last", log);
}

int main(int argc, char **argv)
{
	static struct worker workers[MAX_WORKERS];
	struct stage stage = { .workers = workers };

	for (int i = 1; i < argc && stage.count < MAX_WORKERS; i++) {
		struct worker *worker = &workers[stage.count++];
		const char *arg;

		worker->role = strtok(argv[i], ":");
		worker->run = strcmp(worker->role, "brief") ? role_poll : role_brief;
		if (worker->run == role_poll)
			wait_named(worker->role);
		for (int j = 0; j < 4 && (arg = strtok(NULL, ":")); j++)
			worker->args[j] = strtol(arg, NULL, 10);
	}
	return stage_serve(&stage);
}
