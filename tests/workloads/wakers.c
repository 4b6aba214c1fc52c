// SPDX-License-Identifier: Apache-2.0
/* Threads that wake each other.
 *
 * --- wakers: threads that log who woke them ---
 *
 * Each round ring0 sleeps for PERIOD_US and then hands out a token, to which each that gets it
 * adds its TID:
 *
 *   ring0 -pipe-> ring1 -pipe-> ring2 -pipe-> ring3
 *   ring0 -UDP--> near
 *   ring0 -pipe-> relay, another process -pipe-> back
 *                                        -UDP--> far
 *   ring0 -pipe-> after, and once more when it has computed for 7 ms
 *
 * Others wait as often and as long for a time-out: sleeper in nanosleep, timeout in recv. With
 * FILE all that is left out, and reader reads a piece of it from the disk each round; it logs those
 * for which it slept.
 *
 * Truths: "waits": [[before, after, [TIDs that had the token, the last one first]], ...] */
#include "stage.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <semaphore.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define MOST 4
#define PIECE (1 << 20)
#define BUSY_NS 7000000

struct token {
	int n;
	pid_t had[MOST];
};

struct line {
	int from, to; /* descriptors */
};

static long rounds, period;
static struct line ring[3], to_relay, to_back, to_near, to_far, to_after;
static const char *read_from;

static struct line pipe_line(void)
{
	int ends[2];

	pipe_make(ends);
	return (struct line){ ends[0], ends[1] };
}

static struct line udp_line(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t size = sizeof(at);
	struct line line = { socket(AF_INET, SOCK_DGRAM, 0), socket(AF_INET, SOCK_DGRAM, 0) };

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(line.from, (struct sockaddr *)&at, size) ||
	    getsockname(line.from, (struct sockaddr *)&at, &size) ||
	    connect(line.to, (struct sockaddr *)&at, size))
		die("UDP");
	return line;
}

static struct token token_take(int from)
{
	struct token token;

	if (read(from, &token, sizeof(token)) != sizeof(token))
		die("no token");
	return token;
}

static void token_give(int to, struct token token)
{
	token.had[token.n++] = gettid();
	if (write(to, &token, sizeof(token)) != sizeof(token))
		die("token");
}

/* The log of one thread. */
struct log {
	char text[8000];
	size_t used;
};

__attribute__((format(printf, 2, 3))) static void log_add(struct log *log, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log->used += (size_t)vsnprintf(log->text + log->used, sizeof(log->text) - log->used, format,
				       args);
	va_end(args);
	if (log->used >= sizeof(log->text))
		die("log too long");
}

static void log_wait(struct log *log, long long before, struct token token)
{
	log_add(log, "%s[%lld, %lld, [", log->used ? ", " : "[", before, now_ns());
	while (token.n--)
		log_add(log, "%d%s", token.had[token.n], comma(token.n));
	log_add(log, "]]");
}

static void log_end(struct log *log, struct worker *worker)
{
	log_add(log, log->used ? "]" : "[]");
	worker_note_text(worker, "waits", log->text);
}

static void first(struct worker *worker)
{
	struct log log = { .used = 0 };

	for (long i = 0; i < rounds; i++) {
		long long before = now_ns();

		sleep_ns(period * 1000);
		log_wait(&log, before, (struct token){ 0 });
		token_give(ring[0].to, (struct token){ 0 });
		token_give(to_relay.to, (struct token){ 0 });
		token_give(to_near.to, (struct token){ 0 });
		token_give(to_after.to, (struct token){ 0 });
		spin_ns(BUSY_NS);
		token_give(to_after.to, (struct token){ 0 });
	}
	log_end(&log, worker);
}

/* Waits for the token so many times a round, and passes it on if there is somewhere to. */
static void next(struct worker *worker)
{
	struct log log = { .used = 0 };

	for (long i = 0; i < rounds * worker->args[0]; i++) {
		long long before = now_ns();
		struct token token = token_take(worker->in);

		log_wait(&log, before, token);
		if (worker->out)
			token_give(worker->out, token);
	}
	log_end(&log, worker);
}

static void sleeper(struct worker *worker)
{
	struct log log = { .used = 0 };

	for (long i = 0; i < rounds; i++) {
		long long before = now_ns();

		sleep_ns(period * 1000);
		log_wait(&log, before, (struct token){ 0 });
	}
	log_end(&log, worker);
}

/* These time-outs are kept in the timer wheel, the others are high-resolution timers. */
static void timeout(struct worker *worker)
{
	struct timeval wait = { period / 1000000, period % 1000000 };
	struct line line = udp_line();
	struct log log = { .used = 0 };
	char byte;

	if (setsockopt(line.from, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)))
		die("SO_RCVTIMEO");
	for (long i = 0; i < rounds; i++) {
		long long before = now_ns();

		if (recv(line.from, &byte, 1, 0) >= 0)
			die("a packet from nowhere");
		log_wait(&log, before, (struct token){ 0 });
	}
	log_end(&log, worker);
}

/* How often this thread has gone to sleep. */
static long sleeps(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

static void reader(struct worker *worker)
{
	int fd = open(read_from, O_RDONLY | O_DIRECT);
	void *piece = aligned_alloc(PAGE, PIECE);
	struct log log = { .used = 0 };

	if (fd < 0 || !piece)
		die(read_from);
	for (long i = 0; i < rounds; i++) {
		long long before;
		long slept;

		sleep_ns(period * 1000);
		slept = sleeps();
		before = now_ns();
		if (pread(fd, piece, PIECE, i * PIECE) != PIECE)
			die("pread");
		if (sleeps() > slept)
			log_wait(&log, before, (struct token){ 0 });
	}
	log_end(&log, worker);
	free(piece);
	close(fd);
}

/* The other process. */
static void relay_begin(void)
{
	if (child_fork())
		return;
	prctl(PR_SET_NAME, "relay");
	for (;;) {
		struct token token = token_take(to_relay.from);

		token_give(to_back.to, token);
		token_give(to_far.to, token);
	}
}

static struct worker *waker(struct stage *stage, const char *role, struct line line)
{
	struct worker *worker = stage_add(stage, role, next);

	worker->in = line.from;
	worker->args[0] = 1;
	return worker;
}

VERB(wakers, 2, 3, "ROUNDS PERIOD_US [FILE]")
{
	static const char *const rings[] = { "ring1", "ring2", "ring3" };
	static struct stage stage;

	rounds = number(argv[1]);
	period = number(argv[2]);
	read_from = argv[3];
	if (read_from) {
		stage_add(&stage, "reader", reader);
		stage_serve(&stage);
	}
	to_relay = pipe_line(), to_back = pipe_line(), to_after = pipe_line();
	to_near = udp_line(), to_far = udp_line();
	stage_add(&stage, "ring0", first);
	for (int i = 0; i < 3; i++) {
		ring[i] = pipe_line();
		waker(&stage, rings[i], ring[i]);
		stage.workers[i]->out = ring[i].to;
	}
	waker(&stage, "near", to_near);
	waker(&stage, "back", to_back);
	waker(&stage, "far", to_far);
	stage_add(&stage, "sleeper", sleeper);
	stage_add(&stage, "timeout", timeout);
	waker(&stage, "after", to_after)->args[0] = 2;
	relay_begin();
	stage_serve(&stage);
}

/* --- relay: a token goes through eight threads, a pipe, a lock, a fsync and another process ---
 *
 * The main thread has it first and last, and waits for it in between. Who has it keeps it for MS:
 * running in user or kernel mode, asleep, writing to a file in DIR and waiting for the disk, or in
 * a lock that the next one waits for. Then each wakes the next one, in a way of its own.
 *
 *   -> ready PID             PID: of the other process
 *   <- go                    one round, a call of relay_round() ->
 *                            {"legs": [{"role", "tid", "what", "from", "to", "ran"}, ...]}: who had
 *                            it from when to when (CLOCK_MONOTONIC ns), and how long it ran then */
#define BLOCK 65536

enum who { FIRST, USER, SLEEP, KERNEL, HOLDER, WRITER, ASKER, PROCESS, ANSWERED, LATE, LAST, LEGS };

static const struct {
	const char *role, *what;
} is[LEGS] = {
	[FIRST] = { "first", "user" },        [USER] = { "user", "user" },
	[SLEEP] = { "sleep", "sleep" },       [KERNEL] = { "kernel", "kernel" },
	[HOLDER] = { "holder", "user" },      [WRITER] = { "writer", "fsync" },
	[ASKER] = { "asker", "user" },        [PROCESS] = { "process", "user" },
	[ANSWERED] = { "answered", "sleep" }, [LATE] = { "late", "user" },
	[LAST] = { "last", "user" },
};

struct leg {
	pid_t tid;
	long long from, to, ran;
};

static struct {
	long long ns;
	struct leg *legs; /* shared with the other process */
	sem_t user, asker, holds, blocks, begin;
	pthread_mutex_t lock, bell_lock;
	pthread_cond_t bell;
	bool rung;
	int pipe[2], there[2], back[2], event, end[2], file;
	pid_t process;
	atomic_int blocks_tid;
} relay;

static void work(enum who who)
{
	struct leg *leg = &relay.legs[who];
	const char *what = is[who].what;
	long long ran = clock_ns(CLOCK_THREAD_CPUTIME_ID), until;
	static char block[BLOCK];

	leg->tid = gettid();
	leg->from = now_ns();
	until = leg->from + relay.ns;
	if (!strcmp(what, "sleep"))
		sleep_ns(relay.ns);
	while (!strcmp(what, "user") && clock_ns(CLOCK_THREAD_CPUTIME_ID) < ran + relay.ns)
		;
	while (!strcmp(what, "kernel") && now_ns() < until)
		if (pread(relay.file, block, sizeof(block), 0) < 0)
			die("pread");
	while (!strcmp(what, "fsync") && now_ns() < until)
		if (pwrite(relay.file, block, sizeof(block), 0) < 0 || fsync(relay.file))
			die("fsync");
	leg->ran = clock_ns(CLOCK_THREAD_CPUTIME_ID) - ran;
	leg->to = now_ns();
}

static void sem_take(sem_t *sem)
{
	while (sem_wait(sem))
		;
}

/* The threads, each with how it gets the token and passes it on. */

/* Until the main thread waits for the token, that is on the path. */
static void user_turn(void)
{
	sem_take(&relay.user);
	sleep_await(getpid());
	work(USER);
	pthread_mutex_lock(&relay.bell_lock);
	relay.rung = true;
	pthread_mutex_unlock(&relay.bell_lock);
	pthread_cond_signal(&relay.bell);
}

static void sleep_turn(void)
{
	pthread_mutex_lock(&relay.bell_lock);
	while (!relay.rung)
		pthread_cond_wait(&relay.bell, &relay.bell_lock);
	relay.rung = false;
	pthread_mutex_unlock(&relay.bell_lock);
	work(SLEEP);
	pass_bytes(relay.pipe[1], 1);
}

static void kernel_turn(void)
{
	take_bytes(relay.pipe[0], 1);
	work(KERNEL);
	if (eventfd_write(relay.event, 1))
		die("eventfd");
}

/* Has the lock before the round begins. */
static void holder_turn(void)
{
	eventfd_t value;

	sem_take(&relay.holds);
	pthread_mutex_lock(&relay.lock);
	sem_post(&relay.blocks);
	if (eventfd_read(relay.event, &value))
		die("eventfd");
	work(HOLDER);
	pthread_mutex_unlock(&relay.lock);
}

static void writer_turn(void)
{
	sem_take(&relay.blocks);
	atomic_store(&relay.blocks_tid, gettid());
	pthread_mutex_lock(&relay.lock);
	work(WRITER);
	pthread_mutex_unlock(&relay.lock);
	sem_post(&relay.asker);
}

static void asker_turn(void)
{
	sem_take(&relay.asker);
	work(ASKER);
	pass_bytes(relay.there[1], 1);
}

static void answered_turn(void)
{
	take_bytes(relay.back[0], 1);
	work(ANSWERED);
	sem_post(&relay.begin);
}

static void late_turn(void)
{
	sem_take(&relay.begin);
	work(LATE);
	pass_bytes(relay.end[1], 1);
}

static const struct {
	const char *name;
	void (*turn)(void);
} threads[] = {
	{ "user", user_turn },         { "sleep", sleep_turn },   { "kernel", kernel_turn },
	{ "holder", holder_turn },     { "writer", writer_turn }, { "asker", asker_turn },
	{ "answered", answered_turn }, { "late", late_turn },
};

static void *take_turns(void *arg)
{
	size_t i = (size_t)arg;

	prctl(PR_SET_NAME, threads[i].name);
	for (;;)
		threads[i].turn();
	return NULL;
}

static void process_start(void)
{
	char c;

	relay.process = child_fork();
	if (relay.process)
		return;
	prctl(PR_SET_NAME, "process");
	while (read(relay.there[0], &c, 1) == 1) {
		work(PROCESS);
		pass_bytes(relay.back[1], 1);
	}
	_exit(0);
}

/* A round is possible: the one has the lock, the other waits for it. */
static void prepare(void)
{
	atomic_store(&relay.blocks_tid, 0);
	sem_post(&relay.holds);
	while (!atomic_load(&relay.blocks_tid))
		sleep_ns(MS);
	sleep_await(atomic_load(&relay.blocks_tid));
}

/* The token's whole way. */
__attribute__((noinline)) void relay_round(void)
{
	work(FIRST);
	sem_post(&relay.user);
	take_bytes(relay.end[0], 1);
	work(LAST);
}

static void round_print(void)
{
	printf("{\"legs\": [");
	for (int i = 0; i < LEGS; i++)
		printf("%s{\"role\": \"%s\", \"tid\": %d, \"what\": \"%s\", \"from\": %lld, "
		       "\"to\": %lld, \"ran\": %lld}",
		       comma(i), is[i].role, relay.legs[i].tid, is[i].what, relay.legs[i].from,
		       relay.legs[i].to, relay.legs[i].ran);
	say("]}");
}

VERB(relay, 2, 2, "MS DIR")
{
	int *const pipes[] = { relay.pipe, relay.end, relay.there, relay.back };
	sem_t *const sems[] = { &relay.user, &relay.asker, &relay.holds, &relay.blocks,
				&relay.begin };
	char path[4096];

	relay.ns = number(argv[1]) * MS;
	snprintf(path, sizeof(path), "%s/relay.%d", argv[2], getpid());
	relay.file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (relay.file < 0 || unlink(path) || ftruncate(relay.file, BLOCK))
		die(path);
	relay.legs = memory_map(LEGS * sizeof(*relay.legs), MAP_SHARED);
	relay.event = eventfd(0, 0);
	for (size_t i = 0; i < COUNT(pipes); i++)
		pipe_make(pipes[i]);
	for (size_t i = 0; i < COUNT(sems); i++)
		sem_init(sems[i], 0, 0);
	pthread_mutex_init(&relay.lock, NULL);
	pthread_mutex_init(&relay.bell_lock, NULL);
	pthread_cond_init(&relay.bell, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	process_start();
	for (size_t i = 0; i < COUNT(threads); i++)
		thread_begin(take_turns, (void *)i);
	say("ready %d", relay.process);
	for (;;) {
		wait_for("go");
		prepare();
		relay_round();
		round_print();
	}
	return 0;
}
