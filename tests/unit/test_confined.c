// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "probes/confined.h"

#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

/* A process that is confined or not, and waits. */
static pid_t waiter(bool confined)
{
	int ready[2], wait[2]; /* pipes */
	char byte = 0;
	pid_t child;

	if (pipe(ready) || pipe(wait)) {
		perror("pipe");
		exit(1);
	}
	child = fork();
	if (!child) {
		if (confined)
			prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
		/* These two are what strict mode allows. */
		if (write(ready[1], &byte, 1) == 1)
			while (read(wait[0], &byte, 1) < 0)
				;
		_exit(0);
	}
	ok(child > 0 && read(ready[0], &byte, 1) == 1, "a process is ready");
	return child;
}

static void test_process(void)
{
	pid_t confined = waiter(true), open = waiter(false);

	ok(process_is_confined(confined), "a process in strict mode is confined");
	ok(!process_is_confined(open), "another one is not");
	kill(confined, SIGKILL);
	kill(open, SIGKILL);
	waitpid(confined, NULL, 0);
	waitpid(open, NULL, 0);
	ok(!process_is_confined(confined), "nor one that is gone");
}

static void test_calls(void)
{
	ok(call_is_filtered(SYS_getppid), "filters are asked about getppid");
	ok(!call_is_filtered(2000), "and not about a call that does not exist");
}

int main(void)
{
	test_process();
	test_calls();
	return done_testing();
}
