/* SPDX-License-Identifier: Apache-2.0 */
/* Page faults of each kind: faulter ROLE:ARGUMENTS...
 *
 *   minor:PAGES:ROUNDS:CPU  touches fresh memory, and then the same again
 *   storm:PAGES:CPU_MS:CPU  the same as often as it can in so much CPU time, without the
 *                           second touch
 *   major:PAGES:0:CPU       touches a file of so many pages, $FAULTER_FILE, in no order, after
 *                           it was dropped from the page cache
 *   fail:COUNT:SPIN_US:CPU  touches what is not mapped, and leaves the signal's handler by
 *                           siglongjmp(), without a system call; then computes for so long
 *   read:PAGES:0:CPU        reads that file in large pieces
 *   calls:CALLS:PAGES:CPU   touches ten times so much fresh memory, without a switch between, and
 *                           then so many pages in faulting_call(), which lasts 1 ms longer
 *
 * Truths: pages touched, how long that took (first_ns), how long it took when they were
 * there (again_ns), CPU time (cpu_ns), the kernel's own counts (minor, major). */
#include "workload.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>

static __thread sigjmp_buf back;
static size_t page_size;

static char *pages_map(long pages, int fd)
{
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	char *start = mmap(NULL, (size_t)pages * page_size,
			   fd < 0 ? PROT_READ | PROT_WRITE : PROT_READ, flags, fd, 0);

	if (start == MAP_FAILED)
		die("mmap");
	/* One fault for each page. */
	if (fd < 0 && madvise(start, (size_t)pages * page_size, MADV_NOHUGEPAGE))
		die("madvise");
	return start;
}

static long long pages_touch(volatile char *start, long pages)
{
	long long before = clock_ns(CLOCK_MONOTONIC);

	for (long i = 0; i < pages; i++)
		start[(size_t)i * page_size] = 1;
	return clock_ns(CLOCK_MONOTONIC) - before;
}

/* Notes what getrusage() counts. before: NULL, or what it said then. */
static void usage_note(struct worker *worker, struct rusage *before)
{
	struct rusage usage;

	if (getrusage(RUSAGE_THREAD, &usage))
		die("getrusage");
	worker_note(worker, "minor", usage.ru_minflt - before->ru_minflt);
	worker_note(worker, "major", usage.ru_majflt - before->ru_majflt);
}

static void run_minor(struct worker *worker)
{
	long pages = worker->args[0], rounds = worker->args[1];
	long long first = 0, again = 0;
	volatile char *start;

	pin(worker->args[2]);
	start = pages_map(pages, -1);
	for (long i = 0; i < rounds; i++) {
		if (madvise((void *)(uintptr_t)start, (size_t)pages * page_size, MADV_DONTNEED))
			die("madvise");
		first += pages_touch(start, pages);
		again += pages_touch(start, pages);
	}
	worker_note(worker, "pages", pages * rounds);
	worker_note(worker, "first_ns", first);
	worker_note(worker, "again_ns", again);
}

/* Only the touching counts: dropping the pages is a system call. */
static void run_storm(struct worker *worker)
{
	long long cpu = 0, touched = 0, limit = worker->args[1] * 1000000LL;
	long pages = worker->args[0];
	volatile char *start;

	pin(worker->args[2]);
	start = pages_map(pages, -1);
	while (cpu < limit) {
		long long before = clock_ns(CLOCK_THREAD_CPUTIME_ID);

		pages_touch(start, pages);
		cpu += clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
		touched += pages;
		if (madvise((void *)(uintptr_t)start, (size_t)pages * page_size, MADV_DONTNEED))
			die("madvise");
	}
	worker_note(worker, "pages", touched);
	worker_note(worker, "cpu_ns", cpu);
}

static int file_open(void)
{
	const char *path = getenv("FAULTER_FILE");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0)
		die("FAULTER_FILE");
	return fd;
}

/* With a step that hits each page once, and no two neighbours one after the other. */
static long long file_touch(const volatile char *start, long pages)
{
	long long before = clock_ns(CLOCK_MONOTONIC);
	long step = pages / 2 - 1;

	for (long i = 0, at = 0; i < pages; i++, at = (at + step) % pages)
		(void)start[(size_t)at * page_size];
	return clock_ns(CLOCK_MONOTONIC) - before;
}

static void run_major(struct worker *worker)
{
	long pages = worker->args[0];
	const volatile char *start;
	int fd = file_open();

	pin(worker->args[2]);
	start = pages_map(pages, fd);
	if (posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM) ||
	    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) ||
	    madvise((void *)(uintptr_t)start, (size_t)pages * page_size, MADV_RANDOM))
		die("dropping the file");
	worker_note(worker, "first_ns", file_touch(start, pages));
	worker_note(worker, "again_ns", file_touch(start, pages));
	worker_note(worker, "pages", pages);
	close(fd);
}

static void leave(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

static void run_fail(struct worker *worker)
{
	struct sigaction action = { .sa_handler = leave, .sa_flags = SA_NODEFER };
	volatile char *start;
	volatile long long spun = 0;

	pin(worker->args[2]);
	start = pages_map(1, -1);
	if (munmap((void *)(uintptr_t)start, page_size) || sigaction(SIGSEGV, &action, NULL))
		die("a handler for faults that fail");
	for (volatile long i = 0; i < worker->args[0]; i++) {
		long long from;

		if (!sigsetjmp(back, 0))
			*start = 1;
		from = clock_ns(CLOCK_MONOTONIC);
		while (clock_ns(CLOCK_MONOTONIC) - from < worker->args[1] * 1000LL)
			;
		spun += clock_ns(CLOCK_MONOTONIC) - from;
	}
	worker_note(worker, "spun_ns", spun);
}

static void run_read(struct worker *worker)
{
	size_t size = 256 * page_size;
	char *buffer = malloc(size);
	int fd = file_open();
	long long all = 0, got;

	if (!buffer)
		die("malloc");
	pin(worker->args[2]);
	while ((got = read(fd, buffer, size)) > 0)
		all += got;
	worker_note(worker, "read", all);
	close(fd);
	free(buffer);
}

/* What the tests probe: not static, so that it keeps its name. */
void faulting_call(volatile char *start, long pages);

__attribute__((noinline)) void faulting_call(volatile char *start, long pages)
{
	long long until;

	pages_touch(start, pages);
	until = clock_ns(CLOCK_MONOTONIC) + 1000000;
	while (clock_ns(CLOCK_MONOTONIC) < until)
		;
}

static void run_calls(struct worker *worker)
{
	long calls = worker->args[0], pages = worker->args[1], others = 10 * pages;
	volatile char *start;

	pin(worker->args[2]);
	start = pages_map(pages + others, -1);
	for (long i = 0; i < calls; i++) {
		pages_touch(start + (size_t)pages * page_size, others);
		faulting_call(start, pages);
		if (madvise((void *)(uintptr_t)start, (size_t)(pages + others) * page_size,
			    MADV_DONTNEED))
			die("madvise");
	}
	worker_note(worker, "pages", pages);
}

static const struct {
	const char *name;
	void (*run)(struct worker *);
} roles[] = {
	{ "minor", run_minor }, { "storm", run_storm }, { "major", run_major },
	{ "fail", run_fail },   { "read", run_read },   { "calls", run_calls },
};

static void run_role(struct worker *worker)
{
	struct rusage before;

	if (getrusage(RUSAGE_THREAD, &before))
		die("getrusage");
	for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++)
		if (!strcmp(worker->role, roles[i].name))
			roles[i].run(worker);
	usage_note(worker, &before);
}

int main(int argc, char **argv)
{
	struct worker workers[8] = { 0 };
	struct stage stage = { .workers = workers, .count = argc - 1 };

	page_size = (size_t)sysconf(_SC_PAGESIZE);
	if (argc < 2 || argc > 9)
		return 2;
	for (int i = 1; i < argc; i++) {
		struct worker *worker = &workers[i - 1];

		worker->role = strtok(argv[i], ":");
		worker->run = run_role;
		for (int arg = 0; arg < 3; arg++) {
			char *text = strtok(NULL, ":");

			worker->args[arg] = text ? strtol(text, NULL, 10) : 0;
		}
	}
	return stage_serve(&stage);
}
