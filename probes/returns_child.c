// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "returns_child.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/clock.h"
#include "cli/stack/sandbox.h"
#include "instructions.h"

/* A megabyte of code takes some 0.2 s. */
#define PATIENCE_MS 20000

/* Sanitizers make calls of their own. */
#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define WITHOUT (SANDBOX_WITHOUT_FILTER | SANDBOX_WITHOUT_MEMORY_LIMIT | SANDBOX_WITHOUT_SILENCE)
#else
#define WITHOUT 0
#endif

static _Noreturn void child_run(int socket, pid_t parent, struct returns *returns,
				const struct function_code *functions, size_t n)
{
	const char *what;

	if (sandbox_enter(socket, parent, WITHOUT, &what))
		_exit(EXIT_FAILURE);
	for (size_t i = 0; i < n; i++)
		returns_search(&returns[i], &functions[i]);
	_exit(EXIT_SUCCESS);
}

/* The child sends nothing; its end of the connection closes when it ends. */
static int child_await(pid_t child, int socket)
{
	struct pollfd closed = { .fd = socket, .events = POLLIN };
	uint64_t until = clock_monotonic() + PATIENCE_MS * NSEC_PER_MSEC;
	int status = 0, ready;

	do
		ready = poll(&closed, 1, PATIENCE_MS);
	while (ready < 0 && errno == EINTR && clock_monotonic() < until);
	if (ready <= 0)
		kill(child, SIGKILL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (ready <= 0)
		return -ETIMEDOUT;
	return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS ? 0 : -EPIPE;
}

/* The child inherits the decoder: it can open nothing. */
static int child_start(struct returns *returns, const struct function_code *functions, size_t n)
{
	void *library = instructions_library();
	pid_t parent = getpid(), child;
	int sockets[2], error;

	if (!library)
		return -ENOPKG;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets)) {
		error = -errno;
		dlclose(library);
		return error;
	}
	fflush(NULL); /* or both processes would write it */
	child = fork();
	if (!child)
		child_run(sockets[1], parent, returns, functions, n);
	error = child < 0 ? -errno : 0;
	dlclose(library);
	close(sockets[1]);
	if (!error)
		error = child_await(child, sockets[0]);
	close(sockets[0]);
	return error;
}

int returns_child_search(struct returns **out, const struct function_code *functions, size_t n)
{
	struct returns *returns = mmap(NULL, n * sizeof(*returns), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	*out = returns == MAP_FAILED ? NULL : returns;
	return *out ? child_start(returns, functions, n) : -errno;
}

void returns_child_free(struct returns *returns, size_t n)
{
	if (returns)
		munmap(returns, n * sizeof(*returns));
}
