/* SPDX-License-Identifier: Apache-2.0 */
/* A token goes through eight threads, a pipe, a lock, a fsync and another process: relay MS DIR
 *
 * The main thread has it first and last, and waits for it in between. Who has it keeps it for MS:
 * running in user or kernel mode, asleep, writing to a file in DIR and waiting for the disk, or in
 * a lock that the next one waits for. Then each wakes the next one, in a way of its own.
 *
 *   -> ready PID             PID: of the other process
 *   <- go                    one round, a call of relay_round() ->
 *                            {"legs": [{"role", "tid", "what", "from", "to", "ran"}, ...]}: who had
 *                            it from when to when (CLOCK_MONOTONIC ns), and how long it ran then
 *   <- end                   ends it */
#include "workload.h"

#include <fcntl.h>
#include <semaphore.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define NS_PER_MS 1000000LL
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

static void run_until(long long cpu)
{
	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < cpu)
		;
}

static void work(enum who who)
{
	struct leg *leg = &relay.legs[who];
	long long ran = clock_ns(CLOCK_THREAD_CPUTIME_ID), until;
	const struct timespec pause = { .tv_sec = relay.ns / 1000000000,
					.tv_nsec = relay.ns % 1000000000 };
	static char block[BLOCK];

	leg->tid = gettid();
	leg->from = clock_ns(CLOCK_MONOTONIC);
	until = leg->from + relay.ns;
	if (!strcmp(is[who].what, "sleep"))
		nanosleep(&pause, NULL);
	else if (!strcmp(is[who].what, "user"))
		run_until(ran + relay.ns);
	while (!strcmp(is[who].what, "kernel") && clock_ns(CLOCK_MONOTONIC) < until)
		if (pread(relay.file, block, sizeof(block), 0) < 0)
			die("pread");
	while (!strcmp(is[who].what, "fsync") && clock_ns(CLOCK_MONOTONIC) < until)
		if (pwrite(relay.file, block, sizeof(block), 0) < 0 || fsync(relay.file))
			die("fsync");
	leg->ran = clock_ns(CLOCK_THREAD_CPUTIME_ID) - ran;
	leg->to = clock_ns(CLOCK_MONOTONIC);
}

static void sem_take(sem_t *sem)
{
	while (sem_wait(sem))
		;
}

static bool is_asleep(pid_t tid)
{
	char path[64], text[512];
	const char *end;
	FILE *file;
	size_t length;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "r");
	if (!file)
		die(path);
	length = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[length] = '\0';
	end = strrchr(text, ')');
	return end && end[2] == 'S';
}

static void sleep_await(pid_t tid)
{
	const struct timespec moment = { .tv_nsec = NS_PER_MS };

	while (!is_asleep(tid))
		nanosleep(&moment, NULL);
}

/* --- The threads, each with how it gets the token and passes it on --- */

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
#define THREADS (sizeof(threads) / sizeof(*threads))

static void *thread_main(void *arg)
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

	relay.process = fork();
	if (relay.process < 0)
		die("fork");
	if (relay.process)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
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
	const struct timespec moment = { .tv_nsec = NS_PER_MS };

	atomic_store(&relay.blocks_tid, 0);
	sem_post(&relay.holds);
	while (!atomic_load(&relay.blocks_tid))
		nanosleep(&moment, NULL);
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
		       i ? ", " : "", is[i].role, relay.legs[i].tid, is[i].what, relay.legs[i].from,
		       relay.legs[i].to, relay.legs[i].ran);
	say("]}");
}

int main(int argc, char **argv)
{
	char path[4096];

	if (argc != 3)
		return 64;
	relay.ns = strtoll(argv[1], NULL, 10) * NS_PER_MS;
	snprintf(path, sizeof(path), "%s/relay.%d", argv[2], getpid());
	relay.file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (relay.file < 0 || unlink(path) || ftruncate(relay.file, BLOCK))
		die(path);
	relay.legs = mmap(NULL, LEGS * sizeof(*relay.legs), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	relay.event = eventfd(0, 0);
	if (relay.legs == MAP_FAILED || relay.event < 0 || pipe(relay.pipe) || pipe(relay.end) ||
	    pipe(relay.there) || pipe(relay.back) || sem_init(&relay.user, 0, 0) ||
	    sem_init(&relay.asker, 0, 0) || sem_init(&relay.holds, 0, 0) ||
	    sem_init(&relay.blocks, 0, 0) || sem_init(&relay.begin, 0, 0) ||
	    pthread_mutex_init(&relay.lock, NULL) || pthread_mutex_init(&relay.bell_lock, NULL) ||
	    pthread_cond_init(&relay.bell, NULL))
		die("relay");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	process_start();
	for (size_t i = 0; i < THREADS; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, thread_main, (void *)i))
			die("pthread_create");
	}
	say("ready %d", relay.process);
	for (;;) {
		wait_for("go");
		prepare();
		relay_round();
		round_print();
	}
}
