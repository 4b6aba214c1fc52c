/* SPDX-License-Identifier: Apache-2.0 */
/* Code in files that the test makes, and what else a process can do to whoever reads
 * its mappings and memory: mapper ROLE...
 *
 *   FILE     a copy of this program, or what is left of one: a thread of its name calls
 *            mapped_frame() in it, and from there sleeps for some ms, again and again
 *   +FILE    is only mapped, executable
 *   maps     a thread that maps and unmaps code as fast as it can
 *   calls    a thread that calls getppid() as fast as it can
 *   faults   a thread that sleeps without end, on a stack whose pages nobody provides
 *            (userfaultfd); ends the process with status 3 if that cannot be made
 *
 * Commands:
 *   <- start ROLE
 *   <- end */
#include "workload.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define SLEEP_MS 4
#define STACK_SIZE (1 << 20)
#define KEPT (64 << 10) /* at the top of that stack: what its thread has there for the kernel */

extern const char __ehdr_start[];

typedef void function(void);

/* Not static, so that it keeps its name; it needs nothing else of its file. */
void mapped_frame(function *next);

__attribute__((noinline)) void mapped_frame(function *next)
{
	next();
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void nap(void)
{
	struct timespec time = { .tv_nsec = SLEEP_MS * 1000000 };

	nanosleep(&time, NULL);
	__asm__ volatile("" ::: "memory");
}

/* As much of a file as this program has. */
static char *file_map(const char *path)
{
	struct stat self;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *start;

	if (fd < 0 || stat("/proc/self/exe", &self))
		die(path);
	start = mmap(NULL, (size_t)self.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (start == MAP_FAILED)
		die("mmap");
	close(fd);
	return start;
}

static void *file_thread(void *arg)
{
	const char *path = arg, *slash = strrchr(path, '/');
	size_t offset = (size_t)((const char *)(uintptr_t)mapped_frame - __ehdr_start);
	char *code = file_map(path) + offset;
	void (*frame)(function *) = (void (*)(function *))(uintptr_t)code;

	/* Linkers put code at the same place in the file and in memory. */
	if (memcmp(code, (const char *)(uintptr_t)mapped_frame, 16))
		die("mapped_frame is elsewhere");
	prctl(PR_SET_NAME, slash ? slash + 1 : path);
	for (;;)
		frame(nap);
	return NULL;
}

static void *maps_thread(void *arg)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)arg;
	for (;;) {
		void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

		if (code == MAP_FAILED)
			die("mmap");
		munmap(code, 4096);
	}
	return NULL;
}

static void *calls_thread(void *arg)
{
	(void)arg;
	for (;;)
		syscall(SYS_getppid);
	return NULL;
}

static void *faults_thread(void *arg)
{
	volatile char deep[2 * KEPT];

	deep[0] = 0;
	__asm__ volatile("" : : "r"(deep) : "memory");
	pass_bytes(*(int *)arg, 1);
	for (;;)
		pause();
	return NULL;
}

static void faults_start(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register region = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	char *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	int faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	pthread_attr_t attributes;
	pthread_t thread;
	int ready[2];

	if (faults < 0 || ioctl(faults, UFFDIO_API, &api))
		exit(3);
	if (stack == MAP_FAILED || pipe(ready) || pthread_attr_init(&attributes) ||
	    pthread_attr_setstack(&attributes, stack, STACK_SIZE) ||
	    pthread_create(&thread, &attributes, faults_thread, &ready[1]))
		die("pthread_create");
	take_bytes(ready[0], 1);
	usleep(100000); /* it is in pause() by then, and never returns */
	region.range.start = (uintptr_t)stack;
	region.range.len = STACK_SIZE - KEPT;
	if (ioctl(faults, UFFDIO_REGISTER, &region) ||
	    madvise(stack, STACK_SIZE - KEPT, MADV_DONTNEED))
		exit(3);
}

static void role_start(char *role)
{
	pthread_t thread;
	int err = 0;

	if (*role == '+')
		file_map(role + 1);
	else if (!strcmp(role, "maps"))
		err = pthread_create(&thread, NULL, maps_thread, NULL);
	else if (!strcmp(role, "calls"))
		err = pthread_create(&thread, NULL, calls_thread, NULL);
	else if (!strcmp(role, "faults"))
		faults_start();
	else
		err = pthread_create(&thread, NULL, file_thread, role);
	if (err)
		die("pthread_create");
}

int main(int argc, char **argv)
{
	static char line[4096]; /* a role that is started stays in it: one per process */

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 1; i < argc; i++)
		role_start(argv[i]);
	usleep(100000); /* the threads are at work by then */
	say("ready");
	read_line(line, sizeof(line));
	if (!strncmp(line, "start ", 6)) {
		role_start(line + 6);
		wait_for("end");
	}
	return 0;
}
