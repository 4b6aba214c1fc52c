/* SPDX-License-Identifier: Apache-2.0 */
/* Many processes of many threads each: herd PROCESSES THREADS. They are there at "ready"; on "go"
 * thread number i makes i % 7 + 1 getppid calls and as many sleeps of a microsecond, by turns.
 *
 *   -> {"pid": ..., "threads": [[PID, TID, calls], ...]}
 */
#include "workload.h"

#include <sys/mman.h>
#include <sys/wait.h>

#define MOST 20000

struct member {
	struct herd *herd;
	pid_t pid, tid;
	long calls;
};

struct herd {
	int go[2], done[2], end[2];
	struct member members[MOST];
};

static void *member_main(void *arg)
{
	static const struct timespec moment = { .tv_nsec = 1000 };
	struct member *member = arg;
	struct herd *herd = member->herd;

	member->pid = getpid();
	member->tid = gettid();
	pass_bytes(herd->done[1], 1);
	take_bytes(herd->go[0], 1);
	for (long call = 0; call < member->calls; call++) {
		syscall(SYS_getppid);
		clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
	}
	pass_bytes(herd->done[1], 1);
	take_bytes(herd->end[0], 1);
	return NULL;
}

static _Noreturn void process_run(struct member *members, int threads)
{
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 1; i < threads; i++)
		if (pthread_create(&thread, NULL, member_main, &members[i]))
			die("pthread_create");
	member_main(members);
	_exit(0);
}

static void herd_print(const struct herd *herd, int count)
{
	printf("{\"pid\": %d, \"threads\": [", getpid());
	for (int i = 0; i < count; i++)
		printf("%s[%d, %d, %ld]", i ? ", " : "", herd->members[i].pid, herd->members[i].tid,
		       herd->members[i].calls);
	say("]}");
}

int main(int argc, char **argv)
{
	int processes = argc == 3 ? atoi(argv[1]) : 0, threads = argc == 3 ? atoi(argv[2]) : 0;
	int count = processes * threads;
	struct herd *herd;
	pid_t child;

	if (processes < 1 || threads < 1 || processes > MOST || threads > MOST / processes)
		die("herd PROCESSES THREADS");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	herd = mmap(NULL, sizeof(*herd), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (herd == MAP_FAILED || pipe(herd->go) || pipe(herd->done) || pipe(herd->end))
		die("herd");
	for (int i = 0; i < count; i++)
		herd->members[i] = (struct member){ .herd = herd, .calls = i % 7 + 1 };
	for (int i = 0; i < processes; i++) {
		child = fork();
		if (child < 0)
			die("fork");
		if (!child)
			process_run(&herd->members[i * threads], threads);
	}
	take_bytes(herd->done[0], count);
	say("ready");
	wait_for("go");
	pass_bytes(herd->go[1], count);
	take_bytes(herd->done[0], count);
	herd_print(herd, count);
	wait_for("end");
	return 0;
}
