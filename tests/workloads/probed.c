/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that make calls which the tests count, compare and probe. */
#include "stage.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/uio.h>

#define MAX_WORKERS 16

/* --- everycall: some 300 different system calls ---
 *
 * With arguments that the kernel refuses, and one call that does not exist. The truth of its one
 * thread is the list of [number, count]. */

#define UNKNOWN_CALL 9999
#define UNKNOWN_COUNT 7

#ifdef __x86_64__
#define LAST_OLD 334 /* 335 and 336 belong to uprobes, up to 423 is a gap */
#define FIRST_NEW 424
#define LAST_NEW 449
/* Calls that end, copy, block, detach or signal whatever their arguments are. */
static const int skipped[] = {
	SYS_rt_sigreturn, SYS_pause,           SYS_clone,
	SYS_fork,         SYS_vfork,           SYS_exit,
	SYS_kill,         SYS_setsid,          SYS_vhangup,
	SYS_sync,         SYS_set_tid_address, SYS_restart_syscall,
	SYS_exit_group,   SYS_clone3,          SYS_close_range,
};
#else
#define LAST_OLD -1
#define FIRST_NEW 0
#define LAST_NEW -1
static const int skipped[] = { -1 };
#endif

static bool is_skipped(int number)
{
	for (size_t i = 0; i < COUNT(skipped); i++)
		if (skipped[i] == number)
			return true;
	return number > LAST_OLD && number < FIRST_NEW;
}

static void make_all(struct worker *worker)
{
	static char list[6000] = "[";
	size_t used = 1;

	for (int number = 0; number <= LAST_NEW; number++) {
		if (is_skipped(number))
			continue;
		for (int i = 0; i < 1 + number % 5; i++)
			syscall(number, -1L, -1L, -1L, -1L, -1L, -1L);
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s[%d, %d]",
					 comma(used > 1), number, 1 + number % 5);
	}
	for (int i = 0; i < UNKNOWN_COUNT; i++)
		syscall(UNKNOWN_CALL, 0);
	worker_note(worker, "unknown", UNKNOWN_COUNT);
	strcpy(list + used, "]");
	worker_note_text(worker, "calls", list);
}

VERB(everycall, 0, 0, "")
{
	static struct stage stage;

	stage_add(&stage, "everycall", make_all);
	stage_serve(&stage);
}

/* --- mix: a fixed mixture of system calls in three threads ---
 *
 * The calls depend on nothing but REPEATS, so that two runs can be compared. */

static void mix_once(int zero, int epoll)
{
	struct epoll_event event;
	struct stat status;
	char bytes[16];
	struct iovec part = { bytes, sizeof(bytes) };
	void *page;

	getppids(2);
	syscall(SYS_gettid);
	close(-1);
	if (readv(zero, &part, 1) < 0 || pread(zero, bytes, 1, 0) < 0)
		die("read");
	lseek(zero, 0, SEEK_SET);
	epoll_wait(epoll, &event, 1, 0);
	sleep_ns(1000);
	sched_yield();
	fcntl(zero, F_GETFD);
	if (stat("/dev/zero", &status))
		die("stat");
	page = memory_map(PAGE, MAP_PRIVATE);
	madvise(page, PAGE, MADV_DONTNEED);
	mprotect(page, PAGE, PROT_READ);
	munmap(page, PAGE);
	syscall(SYS_getpgid, 0);
}

static void mix(struct worker *worker)
{
	int zero = open("/dev/zero", O_RDONLY);
	int epoll = epoll_create1(0);

	if (zero < 0 || epoll < 0)
		die("open");
	for (long i = 0; i < worker->args[0]; i++)
		mix_once(zero, epoll);
}

VERB(mix, 1, 1, "REPEATS")
{
	static struct stage stage;

	for (int i = 1; i <= 3; i++)
		stage_add(&stage, "mix", mix)->args[0] = number(argv[1]) * i;
	stage_serve(&stage);
}

/* --- waiter: waits in vain in sigtimedwait, which hardly any program calls ---
 *
 * On "go" it makes CALLS such calls, the first of each EVERY for 20 ms, the others for no
 * time (all of them, if EVERY is 0), with a pause after each, and prints a list of
 * [ns before, ns after, whether it was a long one]. */

static void wait_in_vain(long ms)
{
	struct timespec wait = timespec_of(ms * MS);
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR2);
	sigtimedwait(&signals, NULL, &wait);
}

VERB(waiter, 3, 3, "CALLS EVERY PAUSE_US")
{
	long calls = number(argv[1]), every = number(argv[2]), pause_us = number(argv[3]);

	say_ready();
	for (;;) {
		wait_for("go");
		putchar('[');
		for (long i = 0; i < calls; i++) {
			bool is_long = every && i % every == 0;
			long long before = now_ns();

			wait_in_vain(is_long ? 20 : 0);
			printf("%s[%lld, %lld, %s]", comma(i), before, now_ns(),
			       is_long ? "true" : "false");
			sleep_ns(pause_us * 1000);
		}
		say("]");
	}
	return 0;
}

/* --- caller: threads that call probed_call() at a steady rate, and how long each call was ---
 *
 * from "go" on:
 *   spins:CALLS:RATE:EVERY:LONG_US   CALLS calls, RATE a second (0: as many as it can);
 *                                    one in EVERY lasts LONG_US longer, spinning; with
 *                                    EVERY < 0 one in -EVERY, by a fixed random sequence
 *   sleeps:...                       the same, sleeping in the long calls and between calls
 *   varies:...                       as spins, but long calls last 1 to 50 times LONG_US, by
 *                                    a fixed random sequence
 *   watches:CALLS:0:AFTER:LONG_US    as many short calls as it can, and CALLS long ones: one
 *                                    each time that a probe came into probed_call(), and AFTER
 *                                    calls later (half as many where it left earlier); "certain":
 *                                    for how many of these it was still there when they had begun
 * throughout:
 *   sleeper                          one poll without end
 *   spinner                          burns a CPU
 *
 * With REPLACED=copy or writable in the environment the code is not what the file has mapped.
 *
 *   <- log     -> {"TID": {"calls": [[before, begin, end, after], ...],
 *                          "starts": [[before, begin, next before, next begin], ...]}}:
 *                 the calls, and the times from one call to the next, that took a
 *                 quarter of LONG_US or more. The function is entered between before and
 *                 begin, left between end and after. */

#define LOG_ROOM 32768
#define AHEAD_NS 1000000LL /* a thread that sleeps between its calls is this early or late */

struct call {
	long long before, begin, end, after;
	long long length; /* how long it should last beyond a short one */
	bool sleeps;
	bool was_probed; /* still, when it had begun */
};

/* What one thread logged. */
static struct log {
	long long calls[LOG_ROOM][4], starts[LOG_ROOM][4];
	int n_calls, n_starts, lost;
} logs[MAX_WORKERS];

/* What the tests probe: not static, so that it keeps its name. It saves a register first, as
 * functions do: see self_probe.c. */
FRAME void probed_call(void (*work)(void *), void *of)
{
	work(of);
	asm volatile("" ::"r"(of) : "memory");
}

/* The first instruction of probed_call(), which a probe changes. */
static unsigned char instruction(void)
{
	return *(volatile unsigned char *)probed_call;
}

static unsigned char unprobed; /* as it was when the program began */

static void call_last(void *of)
{
	struct call *call = of;

	call->begin = now_ns();
	call->was_probed = instruction() != unprobed;
	if (call->length && call->sleeps)
		sleep_until(call->begin + call->length);
	else if (call->length)
		spin_until(call->begin + call->length);
	call->end = now_ns();
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

static void calls_make(struct worker *worker, bool sleeps, unsigned int variety, bool watches)
{
	long count = worker->args[0], rate = worker->args[1], long_ns = worker->args[3] * 1000;
	long long begin = now_ns(), least = 0, most = 0;
	struct log *log = &logs[worker->number];
	struct call call = { .sleeps = sleeps }, last = { 0 };
	unsigned int seed = (unsigned int)worker->number + 1;
	long n_long = 0, n_probed = 0, n_certain = 0, after = worker->args[2];

	for (long i = 0; (watches ? n_long : i) < count; i++) {
		long long due = rate ? begin + i * 1000000000LL / rate : 0;

		if (sleeps && due > now_ns() + AHEAD_NS)
			sleep_until(due);
		if (!sleeps)
			spin_until(due);
		if (watches) {
			bool is_probed = instruction() != unprobed;

			if (!is_probed && n_probed && n_probed < after)
				after = after / 2 + 1;
			n_probed = is_probed ? n_probed + 1 : 0;
			call.length = n_probed == after;
		} else {
			call.length = is_long(i, worker->args[2], &seed);
		}
		n_long += call.length > 0;
		call.length *= long_ns;
		if (variety)
			call.length *= 1 + rand_r(&seed) % variety;
		call.before = now_ns();
		probed_call(call_last, &call);
		call.after = now_ns();
		n_certain += call.length && call.was_probed;
		log_call(log, &call, &last, long_ns / 4);
		last = call;
		if (!least || call.after - call.before < least)
			least = call.after - call.before;
		if (call.after - call.before > most)
			most = call.after - call.before;
	}
	worker_note(worker, "calls", count);
	worker_note(worker, "long", n_long);
	worker_note(worker, "certain", n_certain);
	worker_note(worker, "lost", log->lost);
	worker_note(worker, "min_ns", least);
	worker_note(worker, "max_ns", most);
	worker_note(worker, "from", begin);
	worker_note(worker, "to", now_ns());
}

static void spins(struct worker *worker)
{
	calls_make(worker, false, 0, false);
}

static void sleeps(struct worker *worker)
{
	calls_make(worker, true, 0, false);
}

static void varies(struct worker *worker)
{
	calls_make(worker, false, 50, false);
}

static void watches(struct worker *worker)
{
	calls_make(worker, false, 0, true);
}

static void sleeper(struct worker *worker)
{
	struct pollfd end = { .fd = worker->stage->end[0], .events = POLLIN };

	poll(&end, 1, -1);
}

static void spinner(struct worker *worker)
{
	while (!stage_over(worker->stage))
		;
}

static void logs_print(const struct stage *stage)
{
	putchar('{');
	for (int i = 0; i < stage->count; i++) {
		printf("%s\"%d\": {\"calls\": ", comma(i), stage->workers[i]->tid);
		rows_print(*logs[i].calls, logs[i].n_calls, 4);
		printf(", \"starts\": ");
		rows_print(*logs[i].starts, logs[i].n_starts, 4);
		putchar('}');
	}
	say("}");
}

/* The page that probed_call() begins in is a copy in memory of its own, as with large pages for
 * code, or may be written to. */
static void page_replace(const char *how)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *at = (char *)((uintptr_t)probed_call / page * page), *copy = at;
	int access = PROT_READ | PROT_EXEC;

	if (!strcmp(how, "writable")) {
		access |= PROT_WRITE;
	} else {
		copy = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (copy == MAP_FAILED)
			die("mmap");
		memcpy(copy, at, page);
		__builtin___clear_cache(copy, copy + page);
	}
	if (mprotect(copy, page, access) ||
	    (copy != at &&
	     mremap(copy, page, page, MREMAP_MAYMOVE | MREMAP_FIXED, at) == MAP_FAILED))
		die("mremap");
}

VERB(caller, 0, MAX_WORKERS, "ROLE[:ARG...]...")
{
	static const struct role roles[] = { { "spins", spins, false, false },
					     { "sleeps", sleeps, false, false },
					     { "varies", varies, false, false },
					     { "watches", watches, false, false },
					     { "sleeper", sleeper, true, false },
					     { "spinner", spinner, true, false },
					     { .name = NULL } };
	static struct stage stage = { .log = logs_print };

	if (getenv("REPLACED"))
		page_replace(getenv("REPLACED"));
	unprobed = instruction();
	stage_cast(&stage, argv + 1, roles, MAX_WORKERS);
	stage_serve(&stage);
}

/* --- poller: threads that poll, work, and poll again, and how long they worked ---
 *
 * Roles are named after the call: poll, ppoll, epoll_wait, epoll_pwait, select:
 * ROLE:ROUNDS:EVERY:LONG_MS[:OFFSET]. The thread waits for 1 ms in each of ROUNDS calls and works
 * hardly at all between them, but in one of EVERY rounds (the first after OFFSET) for LONG_MS.
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

#define WAIT_NS MS

/* One call that times out after WAIT_NS. */
static void wait_once(const char *call, int epoll)
{
	struct timespec timeout = timespec_of(WAIT_NS);
	struct timeval time = { .tv_usec = WAIT_NS / 1000 };
	struct epoll_event event;
	sigset_t none;
	int got = -1;

	sigemptyset(&none);
	if (!strcmp(call, "poll"))
		got = poll(NULL, 0, WAIT_NS / MS);
	else if (!strcmp(call, "ppoll"))
		got = ppoll(NULL, 0, &timeout, NULL);
	else if (!strcmp(call, "epoll_wait"))
		got = epoll_wait(epoll, &event, 1, WAIT_NS / MS);
	else if (!strcmp(call, "epoll_pwait"))
		got = epoll_pwait(epoll, &event, 1, WAIT_NS / MS, &none);
	else
		got = select(0, NULL, NULL, NULL, &time);
	if (got)
		die("a wait that should have timed out");
}

/* Half of it asleep, half of it spinning. Returns when the sleep was over. */
static long long work(long ms)
{
	struct timespec half = timespec_of(ms * MS / 2);
	long long from = now_ns(), slept;

	nanosleep(&half, NULL);
	slept = now_ns();
	spin_until(from + ms * MS);
	return slept;
}

/* What a thread notes of its rounds: a list of JSON. */
struct list {
	char text[13500]; /* all of 200 rounds */
	size_t used;
};

static void list_add(struct list *list, const long long *row, int columns)
{
	for (int i = 0; i < columns; i++)
		list->used += (size_t)snprintf(list->text + list->used,
					       sizeof(list->text) - list->used, "%s%lld",
					       i ? ", " : (list->used ? "], [" : "[["), row[i]);
	if (list->used + 3 >= sizeof(list->text))
		die("too many long rounds");
}

static void list_note(struct list *list, struct worker *worker, const char *key)
{
	strcpy(list->text + list->used, list->used ? "]]" : "[]");
	worker_note_text(worker, key, list->text);
}

static void pair_note(struct worker *worker, const char *key, long long from, long long to)
{
	char text[64];

	snprintf(text, sizeof(text), "[%lld, %lld]", from, to);
	worker_note_text(worker, key, text);
}

static void polls(struct worker *worker)
{
	long rounds = worker->args[0], every = worker->args[1], ms = worker->args[2];
	struct list longs = { .used = 0 }, slept = { .used = 0 };
	long long before, after = 0, earlier = 0;
	int epoll = epoll_create1(0);

	if (epoll < 0)
		die("epoll_create1");
	for (long i = 0; i < rounds; i++) {
		long long now;

		before = now_ns();
		wait_once(worker->role, epoll);
		now = now_ns();
		if (after && now - earlier - WAIT_NS >= ms * 750000LL)
			list_add(&longs, (long long[]){ earlier + WAIT_NS, after, before, now }, 4);
		after = now;
		earlier = before;
		if (every && i % every == worker->args[3]) {
			long long from = now_ns();

			list_add(&slept, (long long[]){ from, work(ms) }, 2);
		}
	}
	worker_note(worker, "rounds", rounds);
	pair_note(worker, "last", earlier + WAIT_NS, after);
	list_note(&longs, worker, "long");
	list_note(&slept, worker, "slept");
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
	wait_once("poll", -1);
	brief->from = now_ns();
	atomic_store(&brief->works, true);
	do
		work(brief->ms);
	while (!atomic_load(&brief->returned));
	brief->to = now_ns();
	return NULL;
}

static void brief(struct worker *worker)
{
	struct brief other = { .ms = worker->args[0] };
	struct list longs = { .used = 0 };
	long long earlier, after, before, now;
	pthread_t thread = thread_begin(brief_main, &other);

	while (!atomic_load(&other.works))
		;
	earlier = now_ns();
	wait_once("poll", -1);
	after = now_ns();
	atomic_store(&other.returned, true);
	pthread_join(thread, NULL);
	work(worker->args[1]);
	before = now_ns();
	wait_once("poll", -1);
	now = now_ns();
	list_add(&longs, (long long[]){ earlier + WAIT_NS, after, before, now }, 4);
	list_note(&longs, worker, "long");
	pair_note(worker, "brief", other.from, other.to);
	pair_note(worker, "last", before + WAIT_NS, now);
}

VERB(poller, 0, MAX_WORKERS, "ROLE:ROUNDS:EVERY:LONG_MS[:OFFSET]...")
{
	static const struct role roles[] = { { .name = "poll", .run = polls },
					     { .name = "ppoll", .run = polls },
					     { .name = "epoll_wait", .run = polls },
					     { .name = "epoll_pwait", .run = polls },
					     { .name = "select", .run = polls },
					     { .name = "brief", .run = brief },
					     { .name = NULL } };
	static struct stage stage;

	stage_cast(&stage, argv + 1, roles, MAX_WORKERS);
	stage_serve(&stage);
}
