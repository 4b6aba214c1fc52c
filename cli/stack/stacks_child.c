// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "stacks_child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/base/exit_status.h"
#include "cli/base/parse.h"
#include "cli/sandbox/sandbox.h"
#include "protocol.h"
#include "server.h"

#define SHARED_FD (SANDBOX_SOCKET + 1) /* what the program that is executed has besides */
#define NAME "kernel_delay"

int shared_new(void **mapped)
{
	int fd = memfd_create("stacks", MFD_CLOEXEC | MFD_ALLOW_SEALING), err;

	if (fd < 0)
		return -errno;
	*mapped = MAP_FAILED;
	if (!ftruncate(fd, PROTOCOL_SHARED))
		*mapped = mmap(NULL, PROTOCOL_SHARED, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*mapped != MAP_FAILED &&
	    !fcntl(fd, F_ADD_SEALS,
		   F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return fd;
	err = -errno;
	if (*mapped != MAP_FAILED)
		munmap(*mapped, PROTOCOL_SHARED);
	*mapped = NULL;
	close(fd);
	return err;
}

/* Says why the child cannot start. The socket may have its final place already. */
static void child_excuse(int socket, int err, const char *what)
{
	if (server_greet(socket, err, what))
		server_greet(SANDBOX_SOCKET, err, what);
}

/* libunwind opens a pipe when it is used first, for something else than this; so that is done
 * before. */
static _Noreturn void child_serve(const struct stacks_child *child, int socket, pid_t parent)
{
	const void *shared = mmap(NULL, PROTOCOL_SHARED, PROT_READ, MAP_SHARED, child->shared, 0);
	struct server *server = shared == MAP_FAILED ? NULL : server_new(SANDBOX_SOCKET, shared);
	const char *what = "starting";
	int err = server ? 0 : -ENOMEM;

	if (!err)
		err = sandbox_enter(socket, parent, child->without, &what);
	if (err)
		child_excuse(socket, err, what);
	else
		err = server_greet(SANDBOX_SOCKET, 0, "ready");
	if (!err)
		err = server_run(server);
	/* What it has is freed by the kernel sooner. */
	_exit(err ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* Gives both descriptors their places. Returns whether that was possible. */
static bool descriptors_place(int socket, int shared)
{
	/* Neither is to be closed by the other's. */
	socket = fcntl(socket, F_DUPFD_CLOEXEC, SHARED_FD + 1);
	shared = fcntl(shared, F_DUPFD_CLOEXEC, SHARED_FD + 1);
	return socket >= 0 && shared >= 0 && dup2(socket, SANDBOX_SOCKET) >= 0 &&
	       dup2(shared, SHARED_FD) >= 0;
}

void stacks_child_run(void *context, int socket, pid_t parent)
{
	struct stacks_child child = *(const struct stacks_child *)context;
	char parent_text[16], without_text[16];
	char *const words[] = { NAME, STACKS_CHILD, parent_text, without_text, NULL };
	char *const none[] = { NULL };

	snprintf(parent_text, sizeof(parent_text), "%d", (int)parent);
	snprintf(without_text, sizeof(without_text), "%u", child.without);
	if (descriptors_place(socket, child.shared)) {
		execve("/proc/self/exe", words, none);
		socket = SANDBOX_SOCKET;
		child.shared = SHARED_FD;
	}
	child_serve(&child, socket, parent);
}

int stacks_child_main(int argc, char **argv)
{
	struct stacks_child child = { .shared = SHARED_FD };
	uint64_t parent, without;

	if (argc != 3 || parse_u64(argv[1], 1, INT32_MAX, &parent) ||
	    parse_u64(argv[2], 0, UINT32_MAX, &without) || without & ~(uint64_t)SANDBOX_SANITIZED)
		return EX_USAGE;
	prctl(PR_SET_NAME, NAME); /* that of the link that was executed tells nothing */
	child.without = (unsigned int)without;
	child_serve(&child, SANDBOX_SOCKET, (pid_t)parent);
}
