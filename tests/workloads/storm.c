/* SPDX-License-Identifier: Apache-2.0 */
/* A process that does one thing again and again, so that whatever looks at it meets that in each
 * of its phases: storm exec|fork|thread
 *   exec     executes itself
 *   fork     has a child, which ends at once
 *   thread   has a thread, which ends at once
 *
 *   -> ready            when it begins
 *   <- quiet            -> quiet: it has stopped
 *   <- go               -> {"getppid": CALLS}: made since then, by the main thread */
#include "workload.h"

#include <poll.h>
#include <sys/wait.h>

#define CALLS 1000
#define PAUSE_US 300

static bool is_asked(void)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&in, 1, 0) != 0;
}

static void exec_again(char **argv)
{
	char *again[] = { argv[0], argv[1], "again", NULL };

	usleep(PAUSE_US);
	execv(argv[0], again);
	die("execv");
}

static void fork_one(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		die("fork");
	usleep(PAUSE_US);
}

static void *nothing(void *unused)
{
	return unused;
}

static void thread_one(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL))
		die("pthread_create");
	usleep(PAUSE_US);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	if (argc == 2)
		say("ready");
	while (!is_asked()) {
		if (!strcmp(argv[1], "exec"))
			exec_again(argv);
		else if (!strcmp(argv[1], "fork"))
			fork_one();
		else
			thread_one();
	}
	wait_for("quiet");
	say("quiet");
	wait_for("go");
	for (int i = 0; i < CALLS; i++)
		syscall(SYS_getppid);
	say("{\"getppid\": %d}", CALLS);
	wait_for("end");
	return 0;
}
