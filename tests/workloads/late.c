/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that are born late and stay: late COUNT. On "go" it creates COUNT
 * threads with different names that make different numbers of getppid calls and
 * then wait for the end of the process. */
#include "workload.h"

#define MAX_THREADS 4096
#define STACK_SIZE (64 << 10)

struct late {
	pthread_t thread;
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
	for (int i = 0; i <= self->index; i++)
		syscall(SYS_getppid);
	pass_bytes(self->done, 1);
	pause();
	return NULL;
}

int main(int argc, char **argv)
{
	static struct late threads[MAX_THREADS];
	pthread_attr_t small;
	long count = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
	int done[2];

	if (count > MAX_THREADS || pipe(done) || pthread_attr_init(&small) ||
	    pthread_attr_setstacksize(&small, STACK_SIZE))
		return 2;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	say("ready");
	wait_for("go");
	for (int i = 0; i < count; i++) {
		threads[i] = (struct late){ .index = i, .done = done[1] };
		if (pthread_create(&threads[i].thread, &small, live, &threads[i]))
			die("pthread_create");
	}
	take_bytes(done[0], (int)count);
	printf("{\"pid\": %d, \"threads\": [", getpid());
	for (int i = 0; i < count; i++)
		printf("%s{\"tid\": %d, \"name\": \"late-%d\", \"getppid\": %d}", i ? ", " : "",
		       threads[i].tid, i, i + 1);
	say("]}");
	wait_for("end");
	return 0;
}
