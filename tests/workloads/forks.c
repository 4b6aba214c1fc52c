/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that come and go: forks COUNT AT_ONCE [DEPTH [exec]]. On "go" it forks COUNT children,
 * so many at once, each of which has a child, and so on, to that DEPTH (default: 1, no more).
 * Number i makes i % 5 + 1 getppid calls, between two readings of the clock, and ends when its own
 * child has. With exec each starts the program anew first.
 *
 *   -> {"pid": ..., "children": [[PID, calls, from, to], ...]}, CLOCK_MONOTONIC
 */
#include "workload.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define MOST 20000

struct child {
	_Atomic(int) pid;
	long calls;
	long long from, to;
};

struct log {
	_Atomic(unsigned int) n;
	struct child children[MOST];
};

static struct log *log_map(int fd)
{
	struct log *log = mmap(NULL, sizeof(*log), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (log == MAP_FAILED)
		die("mmap");
	return log;
}

static void child_run(int fd, long depth, bool exec);

static pid_t child_begin(int fd, long depth, bool exec)
{
	char fd_text[16], depth_text[16];
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid)
		return pid;
	if (exec) {
		snprintf(fd_text, sizeof(fd_text), "%d", fd);
		snprintf(depth_text, sizeof(depth_text), "%ld", depth);
		execl("/proc/self/exe", "forks", "child", fd_text, depth_text, (char *)NULL);
		die("execl");
	}
	child_run(fd, depth, false);
	_exit(0);
}

static void child_run(int fd, long depth, bool exec)
{
	struct log *log = log_map(fd);
	unsigned int i = atomic_fetch_add(&log->n, 1);
	struct child *child = &log->children[i < MOST ? i : MOST - 1];
	pid_t below;

	child->calls = i % 5 + 1;
	child->from = clock_ns(CLOCK_MONOTONIC);
	for (long call = 0; call < child->calls; call++)
		syscall(SYS_getppid);
	if (depth > 1) {
		below = child_begin(fd, depth - 1, exec);
		waitpid(below, NULL, 0);
	}
	child->to = clock_ns(CLOCK_MONOTONIC);
	atomic_store(&child->pid, getpid());
}

static void log_print(const struct log *log)
{
	unsigned int n = log->n < MOST ? log->n : MOST;

	printf("{\"pid\": %d, \"children\": [", getpid());
	for (unsigned int i = 0; i < n; i++)
		printf("%s[%d, %ld, %lld, %lld]", i ? ", " : "", log->children[i].pid,
		       log->children[i].calls, log->children[i].from, log->children[i].to);
	printf("]}\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? strtol(argv[1], NULL, 10) : 0, alive = 0;
	long at_once = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
	long depth = argc > 3 ? strtol(argv[3], NULL, 10) : 1;
	bool exec = argc > 4;
	struct log *log;
	int fd;

	if (argc > 3 && !strcmp(argv[1], "child")) {
		child_run((int)strtol(argv[2], NULL, 10), depth, true);
		return 0;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = memfd_create("log", 0);
	if (fd < 0 || ftruncate(fd, sizeof(*log)))
		die("memfd_create");
	log = log_map(fd);
	say("ready");
	wait_for("go");
	for (long i = 0; i < count || alive;) {
		if (i < count && alive < at_once) {
			child_begin(fd, depth, exec);
			i++;
			alive++;
		} else if (wait(NULL) > 0) {
			alive--;
		} else if (errno != EINTR) {
			die("wait");
		}
	}
	log_print(log);
	wait_for("end");
	return 0;
}
