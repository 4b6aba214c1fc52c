// SPDX-License-Identifier: Apache-2.0
/* Threads that are kept from running, and those that do it: staged ROLE[:ARG...]...
 *
 * Those that are kept from running log how long, in steps of STEP_NS:
 *   gaps:CPU           computes: the time for which its clock stood still
 *   minor:CPU:PAGES    touches so many fresh pages, and then computes for a while: what the first
 *                      touch takes longer than the second, by the thread's clock
 *   slack:MS           sleeps for 2 ms with so much timer slack: by how much that was too long
 *   mapper             maps and unmaps a page: how long that took, less its CPU time
 * and those that are to blame:
 *   barrier:CPU        makes other processes pass memory barriers, as fast as it can; to "gaps"
 *                      these are interrupts from that CPU
 *   ticks:CPU:US:HZ    timers on that CPU, in a process that sleeps
 *   flood:CPU:PORT:US  sends itself so much every so often that receiving it takes as long as many
 *                      datagrams do, and receives none
 *   filler             fills and drops a large piece of memory, in one call each
 *   read:CPU           reads $STAGED_FILE again and again
 *
 *   <- mark            -> as in workload.h
 *   <- log             -> {"ROLE": {"tid": TID, "from": CLOCK_MONOTONIC, "steps": [ns, ...]}, ...}:
 *                         the last STEPS, from the first of them on
 *
 * CPU -1 is any. */
#include "workload.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <linux/perf_event.h>
#include <netinet/udp.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define STEP_NS 1000000LL
#define STEPS 60000
#define ROOM (2 * STEPS) /* those that are overwritten while the others are printed */
#define LEAST_GAP_NS 700
#define MOST_GAP_NS 200000 /* no interrupt takes longer: the machine stood still, or it waited */
#define MAX_ROLES 8
#define MAX_TICKS 64
#define PAGE 4096
#define REST_NS 300000
#define FILLED (16 << 20)
#define SEGMENT 100
#define SEGMENTS 48

struct log {
	long long from;
	_Atomic(int) n; /* steps that are complete */
	long long steps[ROOM];
};

static struct log logs[MAX_ROLES];
static struct worker workers[MAX_ROLES];

static struct log *log_of(const struct worker *worker)
{
	return &logs[worker - workers];
}

/* All steps before this one are complete; it, and those that were left out, begin with nothing. */
static void log_reach(struct log *log, long long step)
{
	for (long long n = log->n; n < step; n++)
		log->steps[(n + 1) % ROOM] = 0;
	atomic_store(&log->n, (int)step);
}

/* What happened until now counts for the step in which it began: they are much shorter. */
static void log_add(struct log *log, long long before, long long now, long long ns)
{
	long long at = (before - log->from) / STEP_NS;

	log_reach(log, at);
	log->steps[at % ROOM] += ns;
	log_reach(log, (now - log->from) / STEP_NS);
}

static void role_gaps(struct worker *worker)
{
	struct log *log = log_of(worker);
	long long before = log->from, now;

	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0))
		die("membarrier");
	for (; !stage_over(worker->stage); before = now) {
		now = clock_ns(CLOCK_MONOTONIC);
		log_add(log, before, now,
			now - before >= LEAST_GAP_NS && now - before < MOST_GAP_NS ? now - before
										   : 0);
	}
}

static long long pages_touch(volatile char *start, long pages)
{
	long long before = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	for (long i = 0; i < pages; i++)
		start[i * PAGE] = 1;
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
}

static void role_minor(struct worker *worker)
{
	long pages = worker->args[1];
	size_t size = (size_t)pages * PAGE;
	char *start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (start == MAP_FAILED || madvise(start, size, MADV_NOHUGEPAGE))
		die("mmap");
	while (!stage_over(worker->stage)) {
		long long before = clock_ns(CLOCK_MONOTONIC), longer;

		longer = pages_touch(start, pages);
		longer -= pages_touch(start, pages);
		if (madvise(start, size, MADV_DONTNEED))
			die("madvise");
		log_add(log_of(worker), before, clock_ns(CLOCK_MONOTONIC), longer);
		before = clock_ns(CLOCK_MONOTONIC);
		while (clock_ns(CLOCK_MONOTONIC) - before < REST_NS)
			;
	}
}

static void role_slack(struct worker *worker)
{
	const struct timespec length = { .tv_nsec = 2000000 };

	if (prctl(PR_SET_TIMERSLACK, worker->args[0] * 1000000))
		die("PR_SET_TIMERSLACK");
	while (!stage_over(worker->stage)) {
		long long before = clock_ns(CLOCK_MONOTONIC), now;

		clock_nanosleep(CLOCK_MONOTONIC, 0, &length, NULL);
		now = clock_ns(CLOCK_MONOTONIC);
		log_add(log_of(worker), before, now, now - before - length.tv_nsec);
	}
}

static void role_mapper(struct worker *worker)
{
	while (!stage_over(worker->stage)) {
		long long before = clock_ns(CLOCK_MONOTONIC), now;
		long long ran = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		void *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (page == MAP_FAILED || munmap(page, PAGE))
			die("mmap");
		ran = clock_ns(CLOCK_THREAD_CPUTIME_ID) - ran;
		now = clock_ns(CLOCK_MONOTONIC);
		log_add(log_of(worker), before, now, now - before - ran);
	}
}

static void role_filler(struct worker *worker)
{
	char *start = mmap(NULL, FILLED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			   0);

	if (start == MAP_FAILED || madvise(start, FILLED, MADV_NOHUGEPAGE))
		die("mmap");
	while (!stage_over(worker->stage))
		if (madvise(start, FILLED, MADV_POPULATE_WRITE) ||
		    madvise(start, FILLED, MADV_DONTNEED))
			die("MADV_POPULATE_WRITE");
}

static void role_barrier(struct worker *worker)
{
	while (!stage_over(worker->stage))
		syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

/* The kernel measures a CPU's clock with timers of its own. */
static void role_ticks(struct worker *worker)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = (uint64_t)worker->args[1] * 1000,
		.sample_type = PERF_SAMPLE_IP,
	};

	for (long i = 0; i < worker->args[2] && i < MAX_TICKS; i++)
		if (syscall(SYS_perf_event_open, &attr, -1, worker->args[0], -1, 0) < 0)
			die("perf_event_open");
}

static void role_flood(struct worker *worker)
{
	struct sockaddr_in self = { .sin_family = AF_INET,
				    .sin_port = htons((uint16_t)worker->args[1]),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), each = SEGMENT;
	const struct timespec pause = { .tv_nsec = worker->args[2] * 1000 };
	static char packet[SEGMENTS * SEGMENT];

	if (fd < 0 || bind(fd, (struct sockaddr *)&self, sizeof(self)) ||
	    connect(fd, (struct sockaddr *)&self, sizeof(self)) ||
	    setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &each, sizeof(each)))
		die("socket");
	while (!stage_over(worker->stage)) {
		send(fd, packet, sizeof(packet), MSG_DONTWAIT);
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	}
}

static void role_read(struct worker *worker)
{
	static char buffer[64 * PAGE];
	const char *path = getenv("STAGED_FILE");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0)
		die("STAGED_FILE");
	while (!stage_over(worker->stage))
		if (read(fd, buffer, sizeof(buffer)) <= 0 && lseek(fd, 0, SEEK_SET))
			die("lseek");
}

static const struct {
	const char *name;
	void (*run)(struct worker *);
	bool pinned; /* to its first argument */
} roles[] = {
	{ "gaps", role_gaps, true },      { "minor", role_minor, true },
	{ "slack", role_slack, false },   { "barrier", role_barrier, true },
	{ "ticks", role_ticks, false },   { "flood", role_flood, true },
	{ "read", role_read, true },      { "mapper", role_mapper, false },
	{ "filler", role_filler, false },
};

static void run_role(struct worker *worker)
{
	log_of(worker)->from = clock_ns(CLOCK_MONOTONIC);
	for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++) {
		if (strcmp(worker->role, roles[i].name))
			continue;
		if (roles[i].pinned)
			pin(worker->args[0]);
		roles[i].run(worker);
		return;
	}
	die(worker->role);
}

static void logs_print(const struct stage *stage)
{
	putchar('{');
	for (int i = 0; i < stage->count; i++) {
		int n = atomic_load(&logs[i].n), first = n > STEPS ? n - STEPS : 0;

		printf("%s\"%s\": {\"tid\": %d, \"from\": %lld, \"steps\": [", i ? ", " : "",
		       workers[i].role, workers[i].tid, logs[i].from + first * STEP_NS);
		for (int k = first; k < n; k++)
			printf("%s%lld", k > first ? ", " : "", logs[i].steps[k % ROOM]);
		printf("]}");
	}
	say("}");
}

int main(int argc, char **argv)
{
	struct stage stage = { .workers = workers };

	for (int i = 1; i < argc && stage.count < MAX_ROLES; i++) {
		struct worker *worker = &workers[stage.count++];

		worker->role = strtok(argv[i], ":");
		worker->run = run_role;
		worker->throughout = true;
		for (int arg = 0; arg < 3; arg++) {
			char *text = strtok(NULL, ":");

			worker->args[arg] = text ? strtol(text, NULL, 10) : 0;
		}
	}
	stage_serve_log(&stage, logs_print);
}
