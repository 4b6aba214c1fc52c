/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that poll, work, and poll again, and how long they worked by their own
 * clock: poller ROLE:ROUNDS:EVERY:LONG_MS[:OFFSET]...
 *
 * Roles are named after the call: poll, ppoll, epoll_wait, epoll_pwait, select. The
 * thread waits for 1 ms in each of ROUNDS calls and works hardly at all between
 * them, but in one of EVERY rounds (the first after OFFSET) for LONG_MS.
 *
 * The truths of a thread have "long": [[before the return, after it, before the next
 * call, after it], ...] of the times between two calls of a quarter of LONG_MS or
 * more; it returned since its wait was over, or later. "last" is [before the last
 * return, after it]. */
#include "workload.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

#define MAX_WORKERS 16
#define LOG_TEXT 7000
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

/* Half of it asleep, half of it spinning. */
static void work(long ms)
{
	struct timespec half = { .tv_sec = ms / 2000, .tv_nsec = ms / 2 % 1000 * 1000000 };
	long long end = clock_ns(CLOCK_MONOTONIC) + ms * 1000000LL;

	nanosleep(&half, NULL);
	while (clock_ns(CLOCK_MONOTONIC) < end)
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
	int epoll = epoll_create1(0);
	char log[LOG_TEXT] = "[", last[64];
	size_t used = 1;

	if (epoll < 0)
		die("epoll_create1");
	for (long i = 0; i < rounds; i++) {
		before = clock_ns(CLOCK_MONOTONIC);
		wait_once(wait, epoll);
		if (after && before - after >= ms * 250000LL) {
			used += (size_t)snprintf(log + used, sizeof(log) - used,
						 "%s[%lld, %lld, %lld, %lld]", used > 1 ? ", " : "",
						 earlier + WAIT_NS, after, before,
						 clock_ns(CLOCK_MONOTONIC));
			if (used + 2 >= sizeof(log))
				die("too many long rounds");
		}
		after = clock_ns(CLOCK_MONOTONIC);
		earlier = before;
		if (every && i % every == worker->args[3])
			work(ms);
	}
	worker_note(worker, "rounds", rounds);
	snprintf(last, sizeof(last), "[%lld, %lld]", earlier + WAIT_NS, after);
	worker_note_text(worker, "last", last);
	log[used++] = ']';
	log[used] = '\0';
	worker_note_text(worker, "long", log);
	close(epoll);
}

int main(int argc, char **argv)
{
	static struct worker workers[MAX_WORKERS];
	struct stage stage = { .workers = workers };

	for (int i = 1; i < argc && stage.count < MAX_WORKERS; i++) {
		struct worker *worker = &workers[stage.count++];
		const char *arg;

		worker->role = names[wait_named(strtok(argv[i], ":"))];
		worker->run = role_poll;
		for (int j = 0; j < 4 && (arg = strtok(NULL, ":")); j++)
			worker->args[j] = strtol(arg, NULL, 10);
	}
	return stage_serve(&stage);
}
