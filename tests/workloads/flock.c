/* SPDX-License-Identifier: Apache-2.0 */
/* Many threads that begin at once and get another name later: flock COUNT
 *
 *   <- go       -> begun      there are COUNT threads named "early"
 *   <- rename   -> renamed    they are named "late"
 *   <- work     -> worked     each has made a getppid call
 */
#include "workload.h"

#define STACK 65536

struct flock {
	pthread_barrier_t steps; /* one of all threads, and main() */
};

static _Noreturn void *fly(void *arg)
{
	struct flock *flock = arg;

	prctl(PR_SET_NAME, "early");
	pthread_barrier_wait(&flock->steps);
	pthread_barrier_wait(&flock->steps);
	prctl(PR_SET_NAME, "late");
	pthread_barrier_wait(&flock->steps);
	pthread_barrier_wait(&flock->steps);
	syscall(SYS_getppid);
	pthread_barrier_wait(&flock->steps);
	for (;;)
		pause();
}

static void begin(struct flock *flock, long count)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (pthread_barrier_init(&flock->steps, NULL, (unsigned int)count + 1) ||
	    pthread_attr_init(&attributes) || pthread_attr_setstacksize(&attributes, STACK))
		die("threads");
	for (long i = 0; i < count; i++)
		if (pthread_create(&thread, &attributes, fly, flock))
			die("pthread_create");
	pthread_barrier_wait(&flock->steps);
}

int main(int argc, char **argv)
{
	static struct flock flock;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	say("ready");
	wait_for("go");
	begin(&flock, argc > 1 ? strtol(argv[1], NULL, 10) : 1);
	say("begun");
	wait_for("rename");
	pthread_barrier_wait(&flock.steps);
	pthread_barrier_wait(&flock.steps);
	say("renamed");
	wait_for("work");
	pthread_barrier_wait(&flock.steps);
	pthread_barrier_wait(&flock.steps);
	say("worked");
	wait_for("end");
	return 0;
}
