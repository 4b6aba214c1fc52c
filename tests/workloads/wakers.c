// SPDX-License-Identifier: Apache-2.0
/* Threads that wake each other, and log who did: wakers ROUNDS PERIOD_US [FILE]
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
#include "workload.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define MOST 4
#define PAGE 4096
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
static const char *file;

static struct line pipe_line(void)
{
	int ends[2];

	if (pipe(ends))
		die("pipe");
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

static void sleep_for(long us)
{
	struct timespec wait = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&wait, NULL);
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

static void log_wait(struct log *log, long long before, struct token token)
{
	size_t room = sizeof(log->text) - 8;

	log->used += (size_t)snprintf(log->text + log->used, room - log->used, "%s[%lld, %lld, [",
				      log->used ? ", " : "[", before, clock_ns(CLOCK_MONOTONIC));
	while (token.n-- && log->used < room)
		log->used += (size_t)snprintf(log->text + log->used, room - log->used, "%d%s",
					      token.had[token.n], token.n ? ", " : "");
	if (log->used >= room)
		die("log too long");
	strcpy(log->text + log->used, "]]");
	log->used += 2;
}

static void log_end(struct log *log, struct worker *worker)
{
	strcpy(log->text + log->used, log->used ? "]" : "[]");
	worker_note_text(worker, "waits", log->text);
}

static void first(struct worker *worker)
{
	struct log log = { .used = 0 };

	for (long i = 0; i < rounds; i++) {
		long long before = clock_ns(CLOCK_MONOTONIC);

		sleep_for(period);
		log_wait(&log, before, (struct token){ 0 });
		token_give(ring[0].to, (struct token){ 0 });
		token_give(to_relay.to, (struct token){ 0 });
		token_give(to_near.to, (struct token){ 0 });
		token_give(to_after.to, (struct token){ 0 });
		before = clock_ns(CLOCK_MONOTONIC);
		while (clock_ns(CLOCK_MONOTONIC) < before + BUSY_NS)
			;
		token_give(to_after.to, (struct token){ 0 });
	}
	log_end(&log, worker);
}

/* Waits for the token so many times a round, and passes it on if there is somewhere to. */
static void next(struct worker *worker)
{
	struct log log = { .used = 0 };

	for (long i = 0; i < rounds * worker->args[0]; i++) {
		long long before = clock_ns(CLOCK_MONOTONIC);
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
		long long before = clock_ns(CLOCK_MONOTONIC);

		sleep_for(period);
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
		long long before = clock_ns(CLOCK_MONOTONIC);

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
	int fd = open(file, O_RDONLY | O_DIRECT);
	void *piece = aligned_alloc(PAGE, PIECE);
	struct log log = { .used = 0 };

	if (fd < 0 || !piece)
		die(file);
	for (long i = 0; i < rounds; i++) {
		long long before;
		long slept;

		sleep_for(period);
		slept = sleeps();
		before = clock_ns(CLOCK_MONOTONIC);
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
static pid_t relay(void)
{
	pid_t child = fork();

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "relay");
	for (;;) {
		struct token token = token_take(to_relay.from);

		token_give(to_back.to, token);
		token_give(to_far.to, token);
	}
}

int main(int argc, char **argv)
{
	static struct worker ring_workers[] = {
		{ .role = "ring0", .run = first },
		{ .role = "ring1", .run = next, .args = { 1 } },
		{ .role = "ring2", .run = next, .args = { 1 } },
		{ .role = "ring3", .run = next, .args = { 1 } },
		{ .role = "near", .run = next, .args = { 1 } },
		{ .role = "back", .run = next, .args = { 1 } },
		{ .role = "far", .run = next, .args = { 1 } },
		{ .role = "sleeper", .run = sleeper },
		{ .role = "timeout", .run = timeout },
		{ .role = "after", .run = next, .args = { 2 } },
	};
	static struct worker read_worker = { .role = "reader", .run = reader };
	struct stage stage = { .workers = ring_workers, .count = 10 };

	if (argc < 3)
		return 2;
	rounds = strtol(argv[1], NULL, 10);
	period = strtol(argv[2], NULL, 10);
	file = argv[3];
	if (file) {
		stage.workers = &read_worker;
		stage.count = 1;
		return stage_serve(&stage);
	}
	for (int i = 0; i < 3; i++) {
		ring[i] = pipe_line();
		ring_workers[i + 1].in = ring[i].from;
		ring_workers[i].out = ring[i].to;
	}
	to_relay = pipe_line(), to_back = pipe_line();
	to_near = udp_line(), to_far = udp_line();
	ring_workers[4].in = to_near.from;
	ring_workers[5].in = to_back.from;
	ring_workers[6].in = to_far.from;
	to_after = pipe_line();
	ring_workers[9].in = to_after.from;
	if (relay() < 0)
		die("fork");
	return stage_serve(&stage);
}
