/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that come and go, are named, and are kept. */
#include "stage.h"

/* --- churn: threads that come and go ---
 *
 * On "go" it creates COUNT threads named "churn" that make exactly 3 getppid calls each, and for
 * every ten of them one named "other" that makes exactly 2 getuid calls and no getppid. After each
 * ten it rests for PAUSE_US. */

#define BATCH 11 /* alive at once: ten of one kind and one of the other */

static void *churn(void *unused)
{
	prctl(PR_SET_NAME, "churn");
	getppids(3);
	return unused;
}

static void *other(void *unused)
{
	prctl(PR_SET_NAME, "other");
	for (int i = 0; i < 2; i++)
		syscall(SYS_getuid);
	return unused;
}

VERB(churn, 1, 2, "COUNT [PAUSE_US]")
{
	long batches = number(argv[1]) / (BATCH - 1), pause_us = number(argv[2]);
	pthread_t threads[BATCH];

	say_ready();
	wait_for("go");
	for (long batch = 0; batch < batches; batch++) {
		for (int i = 0; i < BATCH; i++)
			threads[i] = thread_begin(i ? churn : other, NULL);
		for (int i = 0; i < BATCH; i++)
			pthread_join(threads[i], NULL);
		if (pause_us)
			sleep_ns(pause_us * 1000);
	}
	say("{\"pid\": %d, \"churn\": %ld, \"other\": %ld}", getpid(), batches * (BATCH - 1),
	    batches);
	wait_for("end");
	return 0;
}

/* --- late: threads that are born late and stay ---
 *
 * On "go" it creates COUNT threads with different names that make different numbers of getppid
 * calls and then wait for the end of the process. */

#define MOST_LATE 4096

struct late {
	int index, done;
	pid_t tid;
};

static void *live(void *arg)
{
	struct late *self = arg;
	char name[16];

	snprintf(name, sizeof(name), "late-%d", self->index);
	prctl(PR_SET_NAME, name);
	self->tid = gettid();
	getppids(self->index + 1);
	pass_bytes(self->done, 1);
	pause();
	return NULL;
}

VERB(late, 1, 1, "COUNT")
{
	static struct late threads[MOST_LATE];
	int count = (int)number(argv[1]), done[2];

	if (count > MOST_LATE)
		return 2;
	pipe_make(done);
	say_ready();
	wait_for("go");
	for (int i = 0; i < count; i++) {
		threads[i] = (struct late){ .index = i, .done = done[1] };
		small_thread_begin(live, &threads[i]);
	}
	take_bytes(done[0], count);
	printf("{\"pid\": %d, \"threads\": [", getpid());
	for (int i = 0; i < count; i++)
		printf("%s{\"tid\": %d, \"name\": \"late-%d\", \"getppid\": %d}", comma(i),
		       threads[i].tid, i, i + 1);
	say("]}");
	wait_for("end");
	return 0;
}

/* --- names: threads with names made to break a terminal or a table ---
 *
 * And one that changes its name on "go". Each makes a different number of getppid calls. */

static const char *const names[] = {
	"two\nlines",
	"\033[31mred",
	"\033]0;title\a",
	"tab\tand\rreturn",
	"\"quoted\"'s",
	"back\\slash",
	"\xff\xfe\x80\xc3(",        /* no UTF-8 at all */
	"caf\xc3\xa9 \xe2\x82\xac", /* valid UTF-8 */
	"\xe2\x80\xae"
	"rtl", /* valid, turns the direction of writing */
	"\xc2\x9b"
	"31mC1", /* valid, a control character of C1 */
	"fifteen-bytes-x",
	"[THREAD TIME]",
	"# WARNING: 1 x",
	"  spaces  ",
	"\x7f\x01\x02",
	"%s%n%d",
	"12345678901234\xc3", /* cut in the middle of a character */
	"name-after",
};

static void take_name(struct worker *worker)
{
	const char *name = names[worker->number];
	char text[64] = "\"";
	size_t used = 1;

	prctl(PR_SET_NAME, name);
	getppids(10 + worker->number);
	for (; *name; name++)
		used += (size_t)sprintf(text + used, "%02x", (unsigned char)*name);
	strcpy(text + used, "\"");
	worker_note(worker, "getppid", 10 + worker->number);
	worker_note_text(worker, "name_hex", text);
}

VERB(names, 0, 0, "")
{
	static struct stage stage;

	for (size_t i = 0; i < COUNT(names); i++)
		stage_add(&stage, "name-before", take_name);
	stage_serve(&stage);
}

/* --- flock: many threads that begin at once and get another name later ---
 *
 *   <- go       -> begun      there are COUNT threads named "early"
 *   <- rename   -> renamed    they are named "late"
 *   <- work     -> worked     each has made a getppid call */

static pthread_barrier_t steps; /* one of all threads, and main() */

/* Both ends of one step, in which the others do something. */
static void step(void)
{
	pthread_barrier_wait(&steps);
	pthread_barrier_wait(&steps);
}

static _Noreturn void *fly(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "early");
	step();
	prctl(PR_SET_NAME, "late");
	step();
	getppids(1);
	pthread_barrier_wait(&steps);
	for (;;)
		pause();
}

VERB(flock, 1, 1, "COUNT")
{
	long count = number(argv[1]);

	if (pthread_barrier_init(&steps, NULL, (unsigned int)count + 1))
		die("pthread_barrier_init");
	say_ready();
	wait_for("go");
	for (long i = 0; i < count; i++)
		small_thread_begin(fly, NULL);
	pthread_barrier_wait(&steps);
	say("begun");
	wait_for("rename");
	step();
	say("renamed");
	wait_for("work");
	step();
	say("worked");
	wait_for("end");
	return 0;
}

/* --- held: threads that are kept for as long as the test wants, and a window of calls ---
 *
 *   <- wait     -> FROM      a thread waits for a mutex, from about this time on
 *   <- read     -> FROM      a thread waits for a byte in a pipe
 *   <- spin CPU -> FROM      a thread computes on this CPU, until the end
 *   <- open     -> opened    main() makes a getppid call
 *   <- close    -> FROM TO   main() makes a getuid call between these times
 *   <- release  -> released  main() releases the mutex and writes the byte, and who waited has it
 */

static struct {
	pthread_mutex_t mutex;
	int bytes[2], got[2]; /* pipes */
	long cpu;
	int waiting;
} held = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static _Noreturn void got_it(void)
{
	pass_bytes(held.got[1], 1);
	for (;;)
		pause();
}

static _Noreturn void *want(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "waiter");
	say("%lld", now_ns());
	pthread_mutex_lock(&held.mutex);
	got_it();
}

static _Noreturn void *take(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "reader");
	say("%lld", now_ns());
	take_bytes(held.bytes[0], 1);
	got_it();
}

static _Noreturn void *spin(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "spinner");
	pin(held.cpu);
	say("%lld", now_ns());
	for (volatile unsigned int i = 0;; i = i + 1)
		;
}

static void window_close(void)
{
	long long from = now_ns();

	syscall(SYS_getuid);
	say("%lld %lld", from, now_ns());
}

static void release(void)
{
	pthread_mutex_unlock(&held.mutex);
	pass_bytes(held.bytes[1], 1);
	take_bytes(held.got[0], held.waiting);
	say("released");
}

VERB(held, 0, 0, "")
{
	pipe_make(held.bytes);
	pipe_make(held.got);
	pthread_mutex_lock(&held.mutex);
	say_ready();
	for (;;) {
		const char *line = command();

		if (!strcmp(line, "wait") || !strcmp(line, "read")) {
			held.waiting++;
			thread_begin(*line == 'w' ? want : take, NULL);
		} else if (sscanf(line, "spin %ld", &held.cpu) == 1) {
			thread_begin(spin, NULL);
		} else if (!strcmp(line, "open")) {
			getppids(1);
			say("opened");
		} else if (!strcmp(line, "close")) {
			window_close();
		} else if (!strcmp(line, "release")) {
			release();
		} else {
			unknown(line);
		}
	}
}

/* --- crowd: many threads that wait in a few functions, and how often in which ---
 *
 * Each of THREADS sleeps WAITS times for NS, by turns called by red(), green() and, from two of its
 * lines, blue(). Their frames are alike: the instruction and the stack pointer of a sleep are the
 * same for all of them; only a word further up tells who called. The truths of a thread have the
 * number of sleeps of each function. */

static __attribute__((noinline)) void sleep_once(long ns)
{
	const struct timespec time = { .tv_nsec = ns };
	/* The callers' return addresses are not next to the stack pointer. */
	volatile char room[2000] = { 0 };

	if (clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL))
		die("clock_nanosleep");
	(void)room[0];
}

static __attribute__((noinline)) void red(long ns)
{
	sleep_once(ns);
	__asm__ volatile("" ::: "memory"); /* so that it is no jump */
}

static __attribute__((noinline)) void green(long ns)
{
	sleep_once(ns);
	__asm__ volatile("nop" ::: "memory");
}

static __attribute__((noinline)) void blue(long ns, bool other)
{
	if (other) {
		sleep_once(ns);
		__asm__ volatile("nop" ::: "memory");
	} else {
		sleep_once(ns);
		__asm__ volatile("nop; nop" ::: "memory");
	}
}

static void crowd(struct worker *worker)
{
	long long reds = 0, greens = 0, blues = 0;

	for (long i = 0; i < worker->args[0]; i++) {
		switch (i % 4) {
		case 0:
			red(worker->args[1]);
			reds++;
			break;
		case 1:
			green(worker->args[1]);
			greens++;
			break;
		default:
			blue(worker->args[1], i % 4 == 3);
			blues++;
		}
	}
	worker_note(worker, "red", reds);
	worker_note(worker, "green", greens);
	worker_note(worker, "blue", blues);
}

VERB(crowd, 3, 3, "THREADS WAITS NS")
{
	static struct stage stage;

	for (long i = 0; i < number(argv[1]); i++) {
		struct worker *worker = stage_add(&stage, "crowd", crowd);

		worker->args[0] = number(argv[2]);
		worker->args[1] = number(argv[3]);
	}
	stage_serve(&stage);
}
