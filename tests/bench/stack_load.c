/* SPDX-License-Identifier: Apache-2.0 */
/* stack_load CPU [FILE...]: loads on CPU whose stack is as deep as wanted, one per
 * line of stdin, each answered by one line. The code of the FILEs is mapped, for
 * nothing.
 *   calls BYTES COUNT PERIOD   getppid() every PERIOD ns, the time between spent in
 *                              user mode: ns spent in most of them, their median
 *   waits BYTES COUNT PERIOD   clock_nanosleep() of PERIOD ns: as above
 *   slow BYTES MS              rounds of work in user mode and a slow getrandom():
 *                              CPU time of each in ns, and how many per second
 *   spin BYTES MS              readings of the clock per ms of CPU time, and the ns
 *                              per second that were lost between two of them, except
 *                              to other threads
 * BYTES is the size of the stack in use, of FRAMES and a few more functions. */
#define _GNU_SOURCE
#include <alloca.h>
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "tests/workloads/workload.h"

enum {
	FRAMES = 20,
	OVERHEAD = 48,       /* bytes of a frame besides its room */
	RANDOM = 64 << 10,   /* bytes of a slow call: some 100 us */
	WORK_NS = 300000,    /* between two of them */
	INTERRUPTED_NS = 500 /* between two readings of the clock */
};

extern void *__libc_stack_end; /* of the dynamic linker: where main()'s stack begins */

struct job {
	void (*run)(struct job *);
	long bytes, count, ns;
	long work; /* loops that take WORK_NS */
	char answer[64];
};

static long long now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static long long cpu_now(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static int order(const void *a, const void *b)
{
	long long left = *(const long long *)a, right = *(const long long *)b;

	return (left > right) - (left < right);
}

/* Of job->count durations. */
static void answer_median(struct job *job, long long *took)
{
	qsort(took, (size_t)job->count, sizeof(*took), order);
	snprintf(job->answer, sizeof(job->answer), "%lld", took[job->count / 2]);
	free(took);
}

static void run_calls(struct job *job)
{
	long long next = now(), *took = calloc((size_t)job->count, sizeof(*took));

	if (!took)
		die("calloc");
	for (long i = 0; i < job->count; i++, next += job->ns) {
		long long begin;

		while ((begin = now()) < next)
			;
		syscall(SYS_getppid);
		took[i] = now() - begin;
	}
	answer_median(job, took);
}

static void run_waits(struct job *job)
{
	const struct timespec period = { .tv_nsec = job->ns };
	long long *took = calloc((size_t)job->count, sizeof(*took));

	if (!took)
		die("calloc");
	for (long i = 0; i < job->count; i++) {
		long long begin = now();

		clock_nanosleep(CLOCK_MONOTONIC, 0, &period, NULL);
		took[i] = now() - begin;
	}
	answer_median(job, took);
}

static void work(long loops)
{
	for (volatile long i = 0; i < loops; i++)
		;
}

static void run_slow(struct job *job)
{
	static char data[RANDOM];
	long long begin = now(), end = begin + job->ns, cpu = cpu_now();
	long count = 0;

	while (now() < end) {
		work(job->work);
		if (getrandom(data, sizeof(data), 0) < 0)
			die("getrandom");
		count++;
	}
	cpu = cpu_now() - cpu;
	snprintf(job->answer, sizeof(job->answer), "%f %f", (double)cpu / (double)count,
		 (double)count * 1e9 / (double)(now() - begin));
}

static void run_spin(struct job *job)
{
	long long cpu = cpu_now(), begin = now(), last = begin, lost = 0;
	long count = 0;

	while (last < begin + job->ns) {
		long long t = now();

		if (t - last > INTERRUPTED_NS)
			lost += t - last;
		last = t;
		count++;
	}
	cpu = cpu_now() - cpu;
	lost -= last - begin - cpu;
	snprintf(job->answer, sizeof(job->answer), "%f %f", (double)count * 1e6 / (double)cpu,
		 (double)lost * 1e9 / (double)cpu);
}

/* What is left of the wanted bytes is shared by the frames that are left. */
static __attribute__((noinline)) void descend(struct job *job, int frames)
{
	uintptr_t top = ((uintptr_t)__libc_stack_end | 4095) + 1;
	long left = job->bytes - (long)(top - (uintptr_t)__builtin_frame_address(0));
	long size = left / (frames + 1) - OVERHEAD;
	char *capacity = alloca(size > 0 ? (size_t)size : 1);

	memset(capacity, 1, size > 0 ? (size_t)size : 1);
	if (frames)
		descend(job, frames - 1);
	else
		job->run(job);
	__asm__ volatile("" : : "r"(capacity) : "memory");
}

/* How many loops take WORK_NS, by the quickest of some tries. */
static long calibrate(void)
{
	enum { LOOPS = 100000 };
	long long best = INT64_MAX;

	for (int i = 0; i < 50; i++) {
		long long begin = now(), took;

		work(LOOPS);
		took = now() - begin;
		if (took < best)
			best = took;
	}
	return (long)(WORK_NS * (double)LOOPS / (double)best);
}

static void code_map(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	char *image;
	Elf64_Ehdr *header;
	Elf64_Phdr *segments;

	if (fd < 0 || fstat(fd, &status))
		die(path);
	image = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (image == MAP_FAILED)
		die(path);
	header = (void *)image;
	segments = (void *)(image + header->e_phoff);
	for (int i = 0; i < header->e_phnum; i++) {
		const Elf64_Phdr *code = &segments[i];
		size_t slack = code->p_offset % 4096;

		if (code->p_type == PT_LOAD && code->p_flags & PF_X &&
		    mmap(NULL, code->p_filesz + slack, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
			 (off_t)(code->p_offset - slack)) == MAP_FAILED)
			die(path);
	}
	munmap(image, (size_t)status.st_size);
	close(fd);
}

static bool job_read(struct job *job, const char *line)
{
	char kind[16];

	if (sscanf(line, "%15s %ld %ld %ld", kind, &job->bytes, &job->count, &job->ns) == 4 &&
	    job->count > 0) {
		job->run = strcmp(kind, "calls") ? run_waits : run_calls;
		return true;
	}
	job->run = strcmp(kind, "slow") ? run_spin : run_slow;
	job->ns = job->count * 1000000;
	return job->ns > 0;
}

int main(int argc, char **argv)
{
	struct job job = { 0 };
	char line[64];

	if (argc < 2)
		die("stack_load CPU [FILE...]");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pin(strtol(argv[1], NULL, 10));
	for (int i = 2; i < argc; i++)
		code_map(argv[i]);
	job.work = calibrate();
	say("ready");
	for (;;) {
		read_line(line, sizeof(line));
		if (!job_read(&job, line))
			die(line);
		descend(&job, FRAMES - 1);
		say("%s", job.answer);
	}
}
