/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that call probed_call() at a steady rate, and how long each long call
 * was by their own clock: caller ROLE[:ARG...]...
 *
 * from "go" on:
 *   spins:CALLS:RATE:EVERY:LONG_US   CALLS calls, RATE a second (0: as many as it can);
 *                                    one in EVERY lasts LONG_US longer, spinning; with
 *                                    EVERY < 0 one in -EVERY, by a fixed random sequence
 *   sleeps:...                       the same, sleeping in the long calls and between calls
 *   varies:...                       as spins, but long calls last 1 to 50 times LONG_US, by
 *                                    a fixed random sequence
 * throughout:
 *   sleeper                          one poll without end
 *   spinner                          burns a CPU
 *
 * Commands besides the stage's:
 *   <- log     -> {"TID": {"calls": [[before, begin, end, after], ...],
 *                          "starts": [[before, begin, next before, next begin], ...]}}:
 *                 the calls, and the times from one call to the next, that took a
 *                 quarter of LONG_US or more. The function is entered between before and
 *                 begin, left between end and after. */
#include "workload.h"

#include <poll.h>

#define MAX_WORKERS 16
#define LOG_ROOM 32768
#define AHEAD_NS 1000000LL /* a thread that sleeps between its calls is this early or late */

struct call {
	long long before, begin, end, after;
	long long length; /* how long it should last beyond a short one */
	bool sleeps;
};

/* What one thread logged. */
struct log {
	long long calls[LOG_ROOM][4], starts[LOG_ROOM][4];
	int n_calls, n_starts, lost;
};

static struct log logs[MAX_WORKERS];

static void sleep_until(long long time)
{
	struct timespec until = { .tv_sec = time / 1000000000, .tv_nsec = time % 1000000000 };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

/* What the tests probe: not static, so that it keeps its name. */
void probed_call(struct call *call);

__attribute__((noinline)) void probed_call(struct call *call)
{
	call->begin = clock_ns(CLOCK_MONOTONIC);
	if (call->length && call->sleeps)
		sleep_until(call->begin + call->length);
	else if (call->length)
		while (clock_ns(CLOCK_MONOTONIC) < call->begin + call->length)
			;
	call->end = clock_ns(CLOCK_MONOTONIC);
}

static void log_add(struct log *log, long long (*list)[4], int *count, const long long entry[4])
{
	if (*count == LOG_ROOM)
		log->lost++;
	else
		memcpy(list[(*count)++], entry, sizeof(*list));
}

static void log_call(struct log *log, const struct call *call, const struct call *last,
		     long long least)
{
	const long long whole[4] = { call->before, call->begin, call->end, call->after };
	const long long since[4] = { last->before, last->begin, call->before, call->begin };

	if (call->after - call->before >= least)
		log_add(log, log->calls, &log->n_calls, whole);
	if (last->before && call->begin - last->before >= least)
		log_add(log, log->starts, &log->n_starts, since);
}

/* Whether the call of this number is a long one. */
static bool is_long(long number, long every, unsigned int *seed)
{
	if (every < 0)
		return !(rand_r(seed) % -every);
	return every && number % every == every - 1;
}

static void calls_make(struct worker *worker, bool sleeps, unsigned int variety)
{
	long count = worker->args[0], rate = worker->args[1], long_ns = worker->args[3] * 1000;
	long long begin = clock_ns(CLOCK_MONOTONIC), least = 0, most = 0, due;
	struct log *log = &logs[worker - worker->stage->workers];
	struct call call = { .sleeps = sleeps }, last = { 0 };
	unsigned int seed = (unsigned int)(worker - worker->stage->workers + 1);
	long n_long = 0;

	for (long i = 0; i < count; i++) {
		due = rate ? begin + i * 1000000000LL / rate : 0;
		if (sleeps && due > clock_ns(CLOCK_MONOTONIC) + AHEAD_NS)
			sleep_until(due);
		while (!sleeps && due > clock_ns(CLOCK_MONOTONIC))
			;
		call.length = is_long(i, worker->args[2], &seed) ? long_ns : 0;
		n_long += call.length > 0;
		if (variety)
			call.length *= 1 + rand_r(&seed) % variety;
		call.before = clock_ns(CLOCK_MONOTONIC);
		probed_call(&call);
		call.after = clock_ns(CLOCK_MONOTONIC);
		log_call(log, &call, &last, long_ns / 4);
		last = call;
		if (!least || call.after - call.before < least)
			least = call.after - call.before;
		if (call.after - call.before > most)
			most = call.after - call.before;
	}
	worker_note(worker, "calls", count);
	worker_note(worker, "long", n_long);
	worker_note(worker, "lost", log->lost);
	worker_note(worker, "min_ns", least);
	worker_note(worker, "max_ns", most);
	worker_note(worker, "from", begin);
	worker_note(worker, "to", clock_ns(CLOCK_MONOTONIC));
}

static void role_spins(struct worker *worker)
{
	calls_make(worker, false, 0);
}

static void role_sleeps(struct worker *worker)
{
	calls_make(worker, true, 0);
}

static void role_varies(struct worker *worker)
{
	calls_make(worker, false, 50);
}

static void role_sleeper(struct worker *worker)
{
	struct pollfd end = { .fd = worker->stage->end[0], .events = POLLIN };

	poll(&end, 1, -1);
}

static void role_spinner(struct worker *worker)
{
	while (!stage_over(worker->stage))
		;
}

static const struct role {
	const char *name;
	void (*run)(struct worker *);
	bool throughout;
} roles[] = {
	{ "spins", role_spins, false },    { "sleeps", role_sleeps, false },
	{ "varies", role_varies, false },  { "sleeper", role_sleeper, true },
	{ "spinner", role_spinner, true },
};

static void worker_set(struct worker *worker, char *text)
{
	const char *name = strtok(text, ":"), *arg;

	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
		if (name && !strcmp(roles[i].name, name)) {
			worker->role = roles[i].name;
			worker->run = roles[i].run;
			worker->throughout = roles[i].throughout;
		}
	}
	if (!worker->run)
		die(text);
	for (int i = 0; i < 4 && (arg = strtok(NULL, ":")); i++)
		worker->args[i] = strtol(arg, NULL, 10);
}

static void list_print(const char *key, const long long (*list)[4], int count)
{
	printf("\"%s\": [", key);
	for (int i = 0; i < count; i++)
		printf("%s[%lld, %lld, %lld, %lld]", i ? ", " : "", list[i][0], list[i][1],
		       list[i][2], list[i][3]);
	printf("]");
}

static void logs_print(const struct stage *stage)
{
	putchar('{');
	for (int i = 0; i < stage->count; i++) {
		printf("%s\"%d\": {", i ? ", " : "", stage->workers[i].tid);
		list_print("calls", (const long long(*)[4])logs[i].calls, logs[i].n_calls);
		printf(", ");
		list_print("starts", (const long long(*)[4])logs[i].starts, logs[i].n_starts);
		putchar('}');
	}
	say("}");
}

int main(int argc, char **argv)
{
	static struct worker workers[MAX_WORKERS];
	struct stage stage = { .workers = workers };

	for (int i = 1; i < argc && stage.count < MAX_WORKERS; i++)
		worker_set(&workers[stage.count++], argv[i]);
	stage_serve_log(&stage, logs_print);
}
