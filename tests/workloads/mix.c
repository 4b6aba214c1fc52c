/* SPDX-License-Identifier: Apache-2.0 */
/* A fixed mixture of system calls in three threads: mix REPEATS. The calls
 * depend on nothing but REPEATS, so that two runs can be compared. */
#include "workload.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

#define WORKERS 3

static void mix_once(int zero, int epoll)
{
	struct timespec moment = { .tv_nsec = 1000 };
	struct epoll_event event;
	struct stat status;
	char bytes[16];
	struct iovec part = { bytes, sizeof(bytes) };
	void *page;

	syscall(SYS_getppid);
	syscall(SYS_getppid);
	syscall(SYS_gettid);
	close(-1);
	if (readv(zero, &part, 1) < 0 || pread(zero, bytes, 1, 0) < 0)
		die("read");
	lseek(zero, 0, SEEK_SET);
	epoll_wait(epoll, &event, 1, 0);
	clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
	sched_yield();
	fcntl(zero, F_GETFD);
	if (stat("/dev/zero", &status))
		die("stat");
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(page, 4096, MADV_DONTNEED);
	mprotect(page, 4096, PROT_READ);
	munmap(page, 4096);
	syscall(SYS_getpgid, 0);
}

static void mix(struct worker *worker)
{
	int zero = open("/dev/zero", O_RDONLY);
	int epoll = epoll_create1(0);

	if (zero < 0 || epoll < 0)
		die("open");
	for (long i = 0; i < worker->args[0] * (worker->args[1] + 1); i++)
		mix_once(zero, epoll);
}

int main(int argc, char **argv)
{
	static struct worker workers[WORKERS];
	struct stage stage = { .workers = workers, .count = WORKERS };

	for (int i = 0; i < WORKERS; i++) {
		workers[i].role = "mix";
		workers[i].run = mix;
		workers[i].args[0] = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
		workers[i].args[1] = i;
	}
	return stage_serve(&stage);
}
