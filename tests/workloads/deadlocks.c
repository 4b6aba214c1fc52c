/* SPDX-License-Identifier: Apache-2.0 */
/* --- deadlocks: threads that wait for mutexes which nobody will unlock ---
 *
 *   deadlocks KIND       ring: each of three waits for the mutex that the next one has; itself: one
 *                        waits for its own; gone: one waits for that of a thread that has ended;
 *                        shared: or of a process that has, with which it was shared; passed: one
 *                        waits for that of a thread which passes it on, to one that keeps it
 *
 *   <- hang  -> {"tids": [those that wait, in the order of the ring], "gone": TID of the ended,
 *               "keeps": TID of the one that keeps it} */
#include "workload.h"

#include <sys/wait.h>

#define RING 3

static pthread_mutex_t *mutexes;
static pthread_barrier_t all_have_one;
static pid_t tids[RING], gone, keeps;
static int count;

static void lock(int which)
{
	if (pthread_mutex_lock(&mutexes[which]))
		die("pthread_mutex_lock");
}

static void *locker(void *arg)
{
	int own = *(int *)arg;

	tids[own] = (pid_t)syscall(SYS_gettid);
	prctl(PR_SET_NAME, "locker");
	if (!gone && !keeps)
		lock(own);
	pthread_barrier_wait(&all_have_one);
	lock((own + 1) % count);
	return NULL;
}

static void *ended(void *arg)
{
	gone = (pid_t)syscall(SYS_gettid);
	lock(0);
	return arg;
}

static void *keeper(void *arg)
{
	keeps = (pid_t)syscall(SYS_gettid);
	pthread_barrier_wait(arg);
	lock(0);
	for (;;)
		pause();
	return NULL;
}

/* Whoever waits for longest gets it. */
static void keeper_begin(void)
{
	static pthread_barrier_t begun;
	pthread_t thread;

	lock(0);
	if (pthread_barrier_init(&begun, NULL, 2) || pthread_create(&thread, NULL, keeper, &begun))
		die("pthread_create");
	pthread_barrier_wait(&begun);
	sleep_ns(50 * MS);
}

static void process_end(void)
{
	gone = fork();
	if (!gone) {
		lock(0);
		_exit(0);
	}
	if (waitpid(gone, NULL, 0) != gone)
		die("fork");
}

static void mutexes_make(int shared)
{
	pthread_mutexattr_t attributes;

	mutexes = memory_map(PAGE, MAP_SHARED);
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, shared);
	for (int i = 0; i < RING; i++)
		if (pthread_mutex_init(&mutexes[i], &attributes))
			die("pthread_mutex_init");
}

VERB(deadlocks, 1, 1, "ring|itself|gone|shared|passed")
{
	static int own[RING] = { 0, 1, 2 };
	const bool shared = !strcmp(argv[1], "shared");
	pthread_t thread;

	count = strcmp(argv[1], "ring") ? 1 : RING;
	mutexes_make(shared ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE);
	if (pthread_barrier_init(&all_have_one, NULL, (unsigned int)count + 1))
		die("pthread_barrier_init");
	say_ready();
	wait_for("hang");
	if (shared)
		process_end();
	else if (!strcmp(argv[1], "passed"))
		keeper_begin();
	else if (!strcmp(argv[1], "gone") &&
		 (pthread_create(&thread, NULL, ended, NULL) || pthread_join(thread, NULL)))
		die("pthread_create");
	for (int i = 0; i < count; i++)
		if (pthread_create(&thread, NULL, locker, &own[i]))
			die("pthread_create");
	pthread_barrier_wait(&all_have_one);
	printf("{\"tids\": [");
	for (int i = 0; i < count; i++)
		printf("%s%d", comma(i), (int)tids[i]);
	say("], \"gone\": %d, \"keeps\": %d}", (int)gone, (int)keeps);
	if (keeps) {
		sleep_ns(50 * MS); /* until the last one waits, too */
		pthread_mutex_unlock(&mutexes[0]);
	}
	for (;;)
		pause(); /* for nothing that anybody might be blamed for */
}
