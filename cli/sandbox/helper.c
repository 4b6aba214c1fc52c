// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "helper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/clock.h"
#include "cli/base/escape.h"
#include "packet.h"

#define REAP_PATIENCE NSEC_PER_SEC

int helper_start(struct helper *helper, helper_main *run, void *context)
{
	pid_t parent = getpid();
	int sockets[2];
	int err = packet_connect(sockets);

	*helper = (struct helper){ .socket = -1 };
	if (err)
		return err;
	fflush(NULL); /* or both processes would write it */
	helper->pid = fork();
	if (!helper->pid) {
		run(context, sockets[1], parent);
		_exit(EXIT_SUCCESS);
	}
	err = helper->pid < 0 ? -errno : 0;
	close(sockets[1]);
	if (!err) {
		helper->socket = sockets[0];
		return 0;
	}
	close(sockets[0]);
	helper->pid = 0;
	return err;
}

static bool helper_reap(pid_t pid, int *status, uint64_t patience)
{
	const struct timespec pause = { .tv_nsec = NSEC_PER_MSEC };
	uint64_t until = clock_monotonic() + patience;
	pid_t ended;

	do {
		ended = waitpid(pid, status, WNOHANG);
		if (!ended)
			nanosleep(&pause, NULL);
	} while ((!ended || (ended < 0 && errno == EINTR)) && clock_monotonic() < until);
	return ended == pid;
}

static bool helper_stop(struct helper *helper, int *status, bool at_once)
{
	pid_t pid = helper->pid;
	bool ended = false;

	if (!pid)
		return true;
	helper->pid = 0;
	close(helper->socket);
	helper->socket = -1;
	if (!at_once)
		ended = helper_reap(pid, status, REAP_PATIENCE);
	if (ended)
		return true;
	kill(pid, SIGKILL);
	return helper_reap(pid, status, REAP_PATIENCE);
}

bool helper_end(struct helper *helper, int *status)
{
	return helper_stop(helper, status, true);
}

bool helper_await(struct helper *helper, int *status)
{
	return helper_stop(helper, status, false);
}

/* The kernel flushes what a descriptor was when it becomes another one; here the same again, so
 * that helper_file() still finds it. */
void helper_try_close(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (copy < 0)
		return;
	dup3(fd, copy, O_CLOEXEC);
	close(copy);
}

/* The number in "/proc/self/fd/NUMBER" at an address of it, see file_open(). */
static bool link_read(pid_t pid, unsigned long address, unsigned long *fd)
{
	char text[32] = "";
	struct iovec local = { text, sizeof(text) - 1 };
	struct iovec remote = { (void *)address, sizeof(text) - 1 };

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) > 0 &&
	       sscanf(text, "/proc/self/fd/%lu", fd) == 1;
}

/* Whether its first argument is the descriptor of a file that it reads, or asks about. */
static bool call_is_of_file(long call)
{
	static const long calls[] = { SYS_pread64, SYS_read, SYS_newfstatat, SYS_fstatfs,
				      SYS_dup3 };

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (call == calls[i])
			return true;
	return false;
}

/* The number of the call in progress and its arguments, see proc_pid_syscall(5). */
bool helper_file(const struct helper *helper, char *path, size_t size)
{
	char name[64], link[PATH_MAX];
	unsigned long fd = 0, second = 0;
	long call = -1;
	ssize_t length;
	FILE *file;
	int n;

	snprintf(name, sizeof(name), "/proc/%d/syscall", (int)helper->pid);
	file = fopen(name, "re");
	if (!file)
		return false;
	n = fscanf(file, "%ld %lx %lx", &call, &fd, &second);
	fclose(file);
	if (n != 3 ||
	    (call == SYS_openat ? !link_read(helper->pid, second, &fd) : !call_is_of_file(call)))
		return false;
	snprintf(name, sizeof(name), "/proc/%d/fd/%lu", (int)helper->pid, fd);
	length = readlink(name, link, sizeof(link) - 1);
	if (length <= 0 || *link != '/')
		return false;
	link[length] = '\0';
	escape_text(path, size, link, sizeof(link));
	return true;
}
