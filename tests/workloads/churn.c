/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that come and go: churn COUNT [PAUSE_US]. On "go" it creates COUNT threads named
 * "churn" that make exactly 3 getppid calls each, and for every ten of them one
 * named "other" that makes exactly 2 getuid calls and no getppid. After each ten it
 * rests for PAUSE_US. */
#include "workload.h"

#define BATCH 11 /* alive at once: ten of one kind and one of the other */

static void *churn(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "churn");
	for (int i = 0; i < 3; i++)
		syscall(SYS_getppid);
	return NULL;
}

static void *other(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "other");
	for (int i = 0; i < 2; i++)
		syscall(SYS_getuid);
	return NULL;
}

int main(int argc, char **argv)
{
	long batches = argc > 1 ? strtol(argv[1], NULL, 10) / (BATCH - 1) : 0;
	useconds_t pause = argc > 2 ? (useconds_t)strtoul(argv[2], NULL, 10) : 0;
	pthread_t threads[BATCH];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	say("ready");
	wait_for("go");
	for (long batch = 0; batch < batches; batch++) {
		for (int i = 0; i < BATCH; i++)
			if (pthread_create(&threads[i], NULL, i ? churn : other, NULL))
				die("pthread_create");
		for (int i = 0; i < BATCH; i++)
			pthread_join(threads[i], NULL);
		if (pause)
			usleep(pause);
	}
	say("{\"pid\": %d, \"churn\": %ld, \"other\": %ld}", getpid(), batches * (BATCH - 1),
	    batches);
	wait_for("end");
	return 0;
}
