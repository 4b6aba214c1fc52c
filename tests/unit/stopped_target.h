/* SPDX-License-Identifier: Apache-2.0 */
/* A process that is stopped in known functions, and a directory for its files. */
#ifndef TESTS_UNIT_STOPPED_TARGET_H
#define TESTS_UNIT_STOPPED_TARGET_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHAIN(name, inner)                                                                         \
	__attribute__((noinline)) int name(int n)                                                  \
	{                                                                                          \
		volatile char capacity[100];                                                       \
		capacity[0] = (char)n;                                                             \
		return inner(n + 1) + capacity[0];                                                 \
	}

__attribute__((noinline)) static int chain_stop(int n)
{
	raise(SIGSTOP);
	return n;
}

int chain_1(int n), chain_2(int n), chain_3(int n), chain_4(int n), chain_5(int n);
CHAIN(chain_1, chain_stop)
CHAIN(chain_2, chain_1)
CHAIN(chain_3, chain_2)
CHAIN(chain_4, chain_3)
CHAIN(chain_5, chain_4)

/* Starts it. It does `first` before, if that is not NULL, and again at each SIGCONT. */
__attribute__((noinline)) static pid_t target_start(void (*first)(void))
{
	volatile int zero = 0; /* of a constant the compiler makes other functions */
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;) {
			if (first)
				first();
			chain_5(zero);
		}
	}
	waitpid(pid, NULL, WUNTRACED);
	return pid;
}

static void target_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static char directory[] = "/tmp/stopped_target.XXXXXX";

__attribute__((unused)) static char *path_of(const char *name)
{
	static char path[4][256];
	static unsigned int next;

	next = (next + 1) % 4;
	snprintf(path[next], sizeof(path[next]), "%s/%s", directory, name);
	return path[next];
}

/* Removes the directory. */
static void directory_remove(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", directory);
	if (system(command))
		printf("# %s is left\n", directory);
}

#endif
