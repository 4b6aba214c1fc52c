/* SPDX-License-Identifier: Apache-2.0 */
/* --- deadlocks: threads that wait for mutexes which nobody will unlock ---
 *
 *   deadlocks KIND       ring: each of three waits for the mutex that the next one has; itself: one
 *                        waits for its own; gone: one waits for that of a thread that has ended;
 *                        shared: or of a process that has, with which it was shared
 *
 *   <- hang  -> {"tids": [those that wait, in the order of the ring], "gone": TID of the ended} */
#include "workload.h"

#include <sys/wait.h>

#define RING 3

static pthread_mutex_t *mutexes;
static pthread_barrier_t all_have_one;
static pid_t tids[RING], gone;
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
	if (!gone)
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

VERB(deadlocks, 1, 1, "ring|itself|gone|shared")
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
	say("], \"gone\": %d}", (int)gone);
	for (;;)
		pause(); /* for nothing that anybody might be blamed for */
}
