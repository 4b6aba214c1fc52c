/* SPDX-License-Identifier: Apache-2.0 */
/* A family of processes with known stacks: kin COUNT MS [exec]. On "go" it forks COUNT children.
 * Number i sleeps once, for MS, in kin_sleep_(i % 3)(), and ends at once. With exec each starts the
 * program anew first. The parent waits for them in kin_wait().
 *
 *   -> {"pid": ..., "children": [[PID, i % 3], ...]} */
#include "workload.h"

#include <sys/wait.h>

#define MOST 1000

/* A function of its own in stacks, with something behind its last call. */
#if defined(__clang__)
#define FRAME __attribute__((noinline))
#else
#define FRAME __attribute__((noipa))
#endif
#define BEHIND() asm volatile("" ::: "memory")

static void nap(long ms)
{
	const struct timespec length = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&length, NULL);
	BEHIND();
}

FRAME static void kin_sleep_0(long ms)
{
	nap(ms);
	BEHIND();
}

FRAME static void kin_sleep_1(long ms)
{
	nap(ms);
	BEHIND();
	BEHIND();
}

FRAME static void kin_sleep_2(long ms)
{
	BEHIND();
	nap(ms);
	BEHIND();
}

FRAME static void kin_run(long which, long ms)
{
	static void (*const all[])(long) = { kin_sleep_0, kin_sleep_1, kin_sleep_2 };

	all[which % 3](ms);
	BEHIND();
}

static pid_t kin_begin(long which, const char *ms, bool exec)
{
	char text[16];
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid)
		return pid;
	if (exec) {
		snprintf(text, sizeof(text), "%ld", which);
		execl("/proc/self/exe", "kin", "child", text, ms, (char *)NULL);
		die("execl");
	}
	kin_run(which, strtol(ms, NULL, 10));
	_exit(0);
}

FRAME static void kin_wait(void)
{
	while (wait(NULL) > 0)
		BEHIND();
}

int main(int argc, char **argv)
{
	static pid_t pids[MOST];
	long count;

	if (argc < 3)
		die("arguments");
	if (!strcmp(argv[1], "child")) {
		kin_run(strtol(argv[2], NULL, 10), strtol(argv[3], NULL, 10));
		return 0;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	count = strtol(argv[1], NULL, 10);
	say("ready");
	wait_for("go");
	for (long i = 0; i < count && i < MOST; i++)
		pids[i] = kin_begin(i, argv[2], argc > 3);
	kin_wait();
	printf("{\"pid\": %d, \"children\": [", getpid());
	for (long i = 0; i < count && i < MOST; i++)
		printf("%s[%d, %ld]", i ? ", " : "", pids[i], i % 3);
	printf("]}\n");
	fflush(stdout);
	wait_for("end");
	return 0;
}
