/* SPDX-License-Identifier: Apache-2.0 */
/* Page faults of each kind; code in files that the test makes. */
#include "stage.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <setjmp.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* --- faulter: page faults of each kind ---
 *
 *   minor:PAGES:ROUNDS:CPU  touches fresh memory, and then the same again
 *   storm:PAGES:CPU_MS:CPU  the same as often as it can in so much CPU time, without the
 *                           second touch
 *   major:PAGES:FRESH:CPU   touches a file of so many pages, $FAULTER_FILE, in no order, after
 *                           it was dropped from the page cache; and so many of fresh memory
 *   fail:COUNT:SPIN_US:CPU  touches what is not mapped, and leaves the signal's handler by
 *                           siglongjmp(), without a system call; then computes for so long
 *   signals:CPU_MS:0:CPU    sends signals to itself, which have a handler that does nothing
 *   read:PAGES:0:CPU        reads that file in large pieces
 *   calls:CALLS:PAGES:CPU   touches ten times so much fresh memory, without a switch between, and
 *                           then so many pages in faulting_call(), which lasts 1 ms longer
 *
 * Truths: pages touched, how long that took (first_ns; of fresh ones fresh_ns), how long it took
 * when they were there (again_ns), CPU time (cpu_ns), the kernel's own counts (minor, major, and
 * utime_us and stime_us by its ticks). */

static __thread sigjmp_buf back;

/* What getrusage() counts: plus (1) or minus (-1) what it says now. */
static void faults_add(struct rusage *sum, int sign)
{
	struct rusage usage;

	if (getrusage(RUSAGE_THREAD, &usage))
		die("getrusage");
	sum->ru_minflt += sign * usage.ru_minflt;
	sum->ru_majflt += sign * usage.ru_majflt;
	sum->ru_utime.tv_sec += sign * usage.ru_utime.tv_sec;
	sum->ru_utime.tv_usec += sign * usage.ru_utime.tv_usec;
	sum->ru_stime.tv_sec += sign * usage.ru_stime.tv_sec;
	sum->ru_stime.tv_usec += sign * usage.ru_stime.tv_usec;
}

static long long time_us(const struct timeval *time)
{
	return time->tv_sec * 1000000LL + time->tv_usec;
}

/* Its work between two looks at the kernel's own counts, on the CPU that its last argument is. */
static void counted(struct worker *worker, void (*run)(struct worker *worker))
{
	struct rusage usage = { 0 };

	faults_add(&usage, -1);
	pin(worker->args[2]);
	run(worker);
	faults_add(&usage, 1);
	worker_note(worker, "minor", usage.ru_minflt);
	worker_note(worker, "major", usage.ru_majflt);
	worker_note(worker, "utime_us", time_us(&usage.ru_utime));
	worker_note(worker, "stime_us", time_us(&usage.ru_stime));
}

static long long pages_touch(volatile char *start, long pages)
{
	long long before = now_ns();

	for (long i = 0; i < pages; i++)
		start[i * PAGE] = 1;
	return now_ns() - before;
}

static void minor(struct worker *worker)
{
	long pages = worker->args[0], rounds = worker->args[1];
	char *start = small_pages_map((size_t)pages * PAGE);
	long long first = 0, again = 0;

	for (long i = 0; i < rounds; i++) {
		memory_drop(start, (size_t)pages * PAGE);
		first += pages_touch(start, pages);
		again += pages_touch(start, pages);
	}
	worker_note(worker, "pages", pages * rounds);
	worker_note(worker, "first_ns", first);
	worker_note(worker, "again_ns", again);
}

/* Only the touching counts: dropping the pages is a system call. */
static void storm(struct worker *worker)
{
	long pages = worker->args[0];
	char *start = small_pages_map((size_t)pages * PAGE);
	long long cpu = 0, touched = 0;

	for (; cpu < worker->args[1] * MS; touched += pages) {
		long long before = clock_ns(CLOCK_THREAD_CPUTIME_ID);

		pages_touch(start, pages);
		cpu += clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
		memory_drop(start, (size_t)pages * PAGE);
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
	long long before = now_ns();
	long step = pages / 2 - 1;

	for (long i = 0, at = 0; i < pages; i++, at = (at + step) % pages)
		(void)start[at * PAGE];
	return now_ns() - before;
}

static void major(struct worker *worker)
{
	long pages = worker->args[0], fresh = worker->args[1];
	size_t size = (size_t)pages * PAGE;
	int fd = file_open();
	char *start = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	if (start == MAP_FAILED || posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM) ||
	    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) || madvise(start, size, MADV_RANDOM))
		die("dropping the file");
	worker_note(worker, "first_ns", file_touch(start, pages));
	worker_note(worker, "again_ns", file_touch(start, pages));
	worker_note(worker, "pages", pages);
	if (fresh)
		worker_note(worker, "fresh_ns",
			    pages_touch(small_pages_map((size_t)fresh * PAGE), fresh));
	close(fd);
}

static void leave(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

static void ignore(int number)
{
	(void)number;
}

static void fail(struct worker *worker)
{
	struct sigaction action = { .sa_handler = leave, .sa_flags = SA_NODEFER };
	volatile char *start = memory_map(PAGE, MAP_PRIVATE);
	volatile long long spun = 0;

	if (munmap((void *)(uintptr_t)start, PAGE) || sigaction(SIGSEGV, &action, NULL))
		die("a handler for faults that fail");
	for (volatile long i = 0; i < worker->args[0]; i++) {
		long long from;

		if (!sigsetjmp(back, 0))
			*start = 1;
		from = now_ns();
		spin_until(from + worker->args[1] * 1000LL);
		spun += now_ns() - from;
	}
	worker_note(worker, "spun_ns", spun);
}

/* Signals to itself, for so many ms of CPU time. */
static void signals(struct worker *worker)
{
	struct sigaction action = { .sa_handler = ignore };

	if (sigaction(SIGUSR1, &action, NULL))
		die("a handler for signals");
	for (long long end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + worker->args[0] * MS;
	     clock_ns(CLOCK_THREAD_CPUTIME_ID) < end;)
		for (int i = 0; i < 1000; i++)
			raise(SIGUSR1);
}

static void read_file(struct worker *worker)
{
	static char buffer[256 * PAGE];
	int fd = file_open();
	long long all = 0, got;

	while ((got = read(fd, buffer, sizeof(buffer))) > 0)
		all += got;
	worker_note(worker, "read", all);
	close(fd);
}

/* What the tests probe: not static, so that it keeps its name. */
void faulting_call(volatile char *start, long pages);

__attribute__((noinline)) void faulting_call(volatile char *start, long pages)
{
	pages_touch(start, pages);
	spin_ns(1 * MS);
}

static void calls(struct worker *worker)
{
	long pages = worker->args[1], others = pages;
	size_t size = (size_t)(pages + others) * PAGE;
	char *start = small_pages_map(size);

	for (long i = 0; i < worker->args[0]; i++) {
		pages_touch(start + pages * PAGE, others);
		faulting_call(start, pages);
		memory_drop(start, size);
	}
	worker_note(worker, "pages", pages);
}

#define COUNTED(name)                                                                              \
	static void run_##name(struct worker *worker)                                              \
	{                                                                                          \
		counted(worker, name);                                                             \
	}
COUNTED(minor)
COUNTED(storm)
COUNTED(major)
COUNTED(fail)
COUNTED(signals)
COUNTED(read_file)
COUNTED(calls)

VERB(faulter, 1, 8, "ROLE:ARGUMENTS...")
{
	static const struct role roles[] = {
		{ .name = "minor", .run = run_minor },     { .name = "storm", .run = run_storm },
		{ .name = "major", .run = run_major },     { .name = "fail", .run = run_fail },
		{ .name = "signals", .run = run_signals }, { .name = "read", .run = run_read_file },
		{ .name = "calls", .run = run_calls },     { .name = NULL }
	};
	static struct stage stage;

	stage_cast(&stage, argv + 1, roles, MANY);
	stage_serve(&stage);
}

/* --- mapper: what a process can do to whoever reads its mappings and memory ---
 *
 *   FILE     a copy of this program, or what is left of one: a thread of its name calls
 *            mapped_frame() in it, and from there sleeps for some ms, again and again
 *   +FILE    is only mapped, executable
 *   maps     a thread that maps and unmaps code as fast as it can
 *   calls    a thread that calls getppid() as fast as it can
 *   faults   a thread that sleeps without end, on a stack whose pages nobody provides
 *            (userfaultfd); ends the process with status 3 if that cannot be made
 *
 *   <- start ROLE */

#define STACK_SIZE (1 << 20)
#define KEPT (64 << 10) /* at the top of that stack: what its thread has there for the kernel */

extern const char __ehdr_start[];

typedef void function(void);

/* Not static, so that it keeps its name; it needs nothing else of its file. */
void mapped_frame(function *next);

__attribute__((noinline)) void mapped_frame(function *next)
{
	next();
	RETURN_HERE();
}

__attribute__((noinline)) static void nap(void)
{
	struct timespec time = { .tv_nsec = 4 * MS };

	nanosleep(&time, NULL);
	RETURN_HERE();
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

static void *maps_thread(void *unused)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	for (;;) {
		void *code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

		if (code == MAP_FAILED)
			die("mmap");
		munmap(code, PAGE);
	}
	return unused;
}

static void *calls_thread(void *unused)
{
	for (;;)
		getppids(1);
	return unused;
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
	struct uffdio_register region = { .mode = UFFDIO_REGISTER_MODE_MISSING,
					  .range.len = STACK_SIZE - KEPT };
	char *stack = memory_map(STACK_SIZE, MAP_PRIVATE);
	int faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC), ready[2];
	pthread_attr_t attributes;
	pthread_t thread;

	if (faults < 0 || ioctl(faults, UFFDIO_API, &api))
		exit(3);
	pipe_make(ready);
	if (pthread_attr_init(&attributes) ||
	    pthread_attr_setstack(&attributes, stack, STACK_SIZE) ||
	    pthread_create(&thread, &attributes, faults_thread, &ready[1]))
		die("pthread_create");
	take_bytes(ready[0], 1);
	sleep_ns(100 * MS); /* it is in pause() by then, and never returns */
	region.range.start = (uintptr_t)stack;
	if (ioctl(faults, UFFDIO_REGISTER, &region) ||
	    madvise(stack, STACK_SIZE - KEPT, MADV_DONTNEED))
		exit(3);
}

static void role_start(const char *role)
{
	if (*role == '+')
		file_map(role + 1);
	else if (!strcmp(role, "maps"))
		thread_begin(maps_thread, NULL);
	else if (!strcmp(role, "calls"))
		thread_begin(calls_thread, NULL);
	else if (!strcmp(role, "faults"))
		faults_start();
	else
		thread_begin(file_thread, strdup(role));
}

VERB(mapper, 0, MANY, "ROLE...")
{
	for (int i = 1; i < argc; i++)
		role_start(argv[i]);
	sleep_ns(100 * MS); /* the threads are at work by then */
	say_ready();
	for (;;) {
		const char *line = command();

		if (strncmp(line, "start ", 6))
			unknown(line);
		role_start(line + 6);
	}
}
