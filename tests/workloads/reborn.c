/* SPDX-License-Identifier: Apache-2.0 */
/* A program that executes itself once more before its loader comes to its entry point, as those
 * with a sanitizer do to turn off the randomization of addresses: reborn SECONDS. The second one
 * prints "twice" and sleeps for that time. A program of its own, as it begins in the loader. */
#include "workload.h"

#define MARK "KDTEST_REBORN=1"

/* The libraries are not ready yet: no getenv(). */
static void begin(int argc, char **argv, char **envp)
{
	static char *marked[] = { MARK, NULL };

	(void)argc;
	for (; *envp; envp++)
		if (!strcmp(*envp, MARK))
			return;
	execve("/proc/self/exe", argv, marked);
	_exit(1);
}

/* Called before constructors, by the loader. */
__attribute__((section(".preinit_array"), used)) static void (*const preinit)(int, char **,
									      char **) = begin;

int main(int argc, char **argv)
{
	say("twice");
	sleep_ns(argc > 1 ? (long long)(strtod(argv[1], NULL) * 1e9) : 0);
	return 0;
}
