// SPDX-License-Identifier: Apache-2.0
/* Threads that are kept from running, those that do it, and those that see it.
 *
 * --- staged: ROLE[:ARG...]... ---
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
 *   flood:CPU:PORT:US:MORE  sends itself so much every so often that receiving it takes as long
 *                      as many datagrams do, and receives none; to so many more sockets, for
 *                      each of which that takes as long again
 *   filler             fills and drops a large piece of memory, in one call each
 *   read:CPU           reads $STAGED_FILE again and again
 *
 *   <- log             -> {"ROLE": {"tid": TID, "from": CLOCK_MONOTONIC, "steps": [ns, ...]}, ...}:
 *                         the last STEPS, from the first of them on
 *
 * CPU -1 is any. */
#include "stage.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <linux/perf_event.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#define STEP_NS 1000000LL
#define STEPS 60000
#define ROOM (2 * STEPS) /* those that are overwritten while the others are printed */
#define LEAST_GAP_NS 700
#define MOST_GAP_NS 200000 /* no interrupt takes longer: the machine stood still, or it waited */
#define MAX_ROLES 8
#define MAX_TICKS 64
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

static struct log *log_of(const struct worker *worker)
{
	return &logs[worker->number];
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
	long long before, now;

	pin(worker->args[0]);
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0))
		die("membarrier");
	for (before = log->from; !stage_over(worker->stage); before = now) {
		now = now_ns();
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
	char *start = small_pages_map(size);

	pin(worker->args[0]);
	while (!stage_over(worker->stage)) {
		long long before = now_ns(), longer;

		longer = pages_touch(start, pages);
		longer -= pages_touch(start, pages);
		memory_drop(start, size);
		log_add(log_of(worker), before, now_ns(), longer);
		spin_ns(REST_NS);
	}
}

static void role_slack(struct worker *worker)
{
	if (prctl(PR_SET_TIMERSLACK, worker->args[0] * MS))
		die("PR_SET_TIMERSLACK");
	while (!stage_over(worker->stage)) {
		long long before = now_ns(), now;

		sleep_ns(2 * MS);
		now = now_ns();
		log_add(log_of(worker), before, now, now - before - 2 * MS);
	}
}

static void role_mapper(struct worker *worker)
{
	while (!stage_over(worker->stage)) {
		long long before = now_ns(), now;
		long long ran = clock_ns(CLOCK_THREAD_CPUTIME_ID);

		munmap(memory_map(PAGE, MAP_PRIVATE), PAGE);
		ran = clock_ns(CLOCK_THREAD_CPUTIME_ID) - ran;
		now = now_ns();
		log_add(log_of(worker), before, now, now - before - ran);
	}
}

static void role_filler(struct worker *worker)
{
	char *start = small_pages_map(FILLED);

	while (!stage_over(worker->stage))
		if (madvise(start, FILLED, MADV_POPULATE_WRITE) ||
		    madvise(start, FILLED, MADV_DONTNEED))
			die("MADV_POPULATE_WRITE");
}

static void role_barrier(struct worker *worker)
{
	pin(worker->args[0]);
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

/* One that receives what goes to this port of this machine, or of all. */
static int flooded(const struct sockaddr_in *self)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0), on = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof(on)) ||
	    bind(fd, (const struct sockaddr *)self, sizeof(*self)))
		die("socket");
	return fd;
}

static void role_flood(struct worker *worker)
{
	struct sockaddr_in self = { .sin_family = AF_INET,
				    .sin_port = htons((uint16_t)worker->args[1]),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	long more = worker->args[3];
	int fd, each = SEGMENT;
	static char packet[SEGMENTS * SEGMENT];

	pin(worker->args[0]);
	if (more)
		self.sin_addr.s_addr = htonl(INADDR_ANY);
	fd = flooded(&self);
	for (long i = 0; i < more; i++)
		flooded(&self);
	if (more)
		self.sin_addr.s_addr = inet_addr("127.255.255.255"); /* all of them */
	if (connect(fd, (struct sockaddr *)&self, sizeof(self)) ||
	    setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &each, sizeof(each)))
		die("connect");
	while (!stage_over(worker->stage)) {
		send(fd, packet, sizeof(packet), MSG_DONTWAIT);
		sleep_ns(worker->args[2] * 1000);
	}
}

static void role_read(struct worker *worker)
{
	static char buffer[64 * PAGE];
	const char *path = getenv("STAGED_FILE");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	pin(worker->args[0]);
	if (fd < 0)
		die("STAGED_FILE");
	while (!stage_over(worker->stage))
		if (read(fd, buffer, sizeof(buffer)) <= 0 && lseek(fd, 0, SEEK_SET))
			die("lseek");
}

static void logs_print(const struct stage *stage)
{
	putchar('{');
	for (int i = 0; i < stage->count; i++) {
		int n = atomic_load(&logs[i].n), first = n > STEPS ? n - STEPS : 0;

		printf("%s\"%s\": {\"tid\": %d, \"from\": %lld, \"steps\": [", comma(i),
		       stage->workers[i]->role, stage->workers[i]->tid,
		       logs[i].from + first * STEP_NS);
		for (int k = first; k < n; k++)
			printf("%s%lld", comma(k > first), logs[i].steps[k % ROOM]);
		printf("]}");
	}
	say("}");
}

VERB(staged, 1, MAX_ROLES, "ROLE[:ARG...]...")
{
	static const struct role roles[] = {
		{ "gaps", role_gaps, true, false },     { "minor", role_minor, true, false },
		{ "slack", role_slack, true, false },   { "barrier", role_barrier, true, false },
		{ "ticks", role_ticks, true, false },   { "flood", role_flood, true, false },
		{ "read", role_read, true, false },     { "mapper", role_mapper, true, false },
		{ "filler", role_filler, true, false }, { .name = NULL }
	};
	static struct stage stage = { .log = logs_print };

	stage_cast(&stage, argv + 1, roles, MAX_ROLES);
	for (int i = 0; i < stage.count; i++)
		logs[i].from = now_ns();
	stage_serve(&stage);
}

/* --- gaps: a thread that only reads the clock, and notes when it was kept from that ---
 *
 *   -> ready TID
 *   <- log      -> {"gaps": [[from, to], ...]}: of at least LEAST_NS; and the thread ends
 *
 * SCHED_FIFO with that priority (0: not), on that CPU. */

#define GAPS 100000

static long long gaps[GAPS][2];
static int n_gaps;
static long least;
static atomic_int tid;
static atomic_bool over;

static void *look_for_gaps(void *arg)
{
	char **argv = arg;
	long long now, last;
	bool ended = false;

	pin(number(argv[1]));
	if (number(argv[2]))
		be_fifo((int)number(argv[2]));
	tid = gettid();
	for (last = now_ns(); !ended; last = now) {
		ended = over; /* before the clock: notes the gap in which that was set */
		now = now_ns();
		if (now - last < least || n_gaps == GAPS)
			continue;
		gaps[n_gaps][0] = last;
		gaps[n_gaps++][1] = now;
	}
	return NULL;
}

VERB(gaps, 3, 3, "CPU PRIORITY LEAST_NS")
{
	pthread_t thread;
	char line[64];

	least = number(argv[3]);
	memset(gaps, 1, sizeof(gaps)); /* no page faults later */
	thread = thread_begin(look_for_gaps, argv);
	while (!tid)
		sleep_ns(MS);
	say("ready %d", tid);
	do /* other lines only wake this thread */
		read_line(line, sizeof(line));
	while (strcmp(line, "log"));
	over = true;
	pthread_join(thread, NULL);
	printf("{\"gaps\": ");
	rows_print(*gaps, n_gaps, 2);
	say("}");
	do
		read_line(line, sizeof(line));
	while (strcmp(line, "end"));
	return 0;
}

/* --- stolen: threads that look at what the hypervisor takes from their CPU ---
 *
 * A thread for each CPU that never sleeps, and writes down every 10 ms what the kernel says the
 * hypervisor has taken from that CPU (/proc/stat).
 *
 *   -> ready TID...
 *   <- log      -> {"TID": [[from, to, ticks], ...], ...}: read between these times; the last two
 *                  after it was asked for */

#define READINGS 20000
#define CPUS 64

static struct looker {
	long cpu;
	atomic_int tid;
	pthread_t thread;
	atomic_int n;
	long long readings[READINGS][3];
} * lookers;

/* The ticks stolen from a CPU. */
static long long stolen(int file, long cpu)
{
	char text[16384], name[16];
	long long ticks = 0;
	ssize_t length = pread(file, text, sizeof(text) - 1, 0);
	const char *line;

	if (length <= 0)
		die("/proc/stat");
	text[length] = '\0';
	snprintf(name, sizeof(name), "\ncpu%ld ", cpu);
	line = strstr(text, name);
	if (!line || sscanf(line + strlen(name), "%*u %*u %*u %*u %*u %*u %*u %lld", &ticks) != 1)
		die("/proc/stat");
	return ticks;
}

static void *look(void *of)
{
	struct looker *looker = of;
	int file = open("/proc/stat", O_RDONLY);
	long long next = 0;

	if (file < 0)
		die("/proc/stat");
	pin(looker->cpu);
	looker->tid = gettid();
	while (!over) {
		long long *reading = looker->readings[looker->n], now = now_ns();

		if (now < next || looker->n == READINGS)
			continue;
		reading[0] = now;
		reading[2] = stolen(file, looker->cpu);
		reading[1] = now_ns();
		looker->n++;
		next = now + 10 * MS;
	}
	close(file);
	return NULL;
}

/* Three more: the first may have begun before. */
static void looker_await(struct looker *looker)
{
	int n = looker->n + 3;

	while (looker->n < n && looker->n < READINGS)
		sleep_ns(MS);
}

VERB(stolen, 1, CPUS, "CPU...")
{
	lookers = calloc((size_t)argc, sizeof(*lookers));
	if (!lookers)
		die("calloc");
	printf("ready");
	for (int i = 1; i < argc; i++) {
		lookers[i].cpu = number(argv[i]);
		lookers[i].thread = thread_begin(look, &lookers[i]);
		while (!lookers[i].tid)
			sleep_ns(MS);
		printf(" %d", lookers[i].tid);
	}
	say("%s", "");
	wait_for("log");
	for (int i = 1; i < argc; i++)
		looker_await(&lookers[i]);
	over = true;
	putchar('{');
	for (int i = 1; i < argc; i++) {
		pthread_join(lookers[i].thread, NULL);
		printf("%s\"%d\": ", comma(i > 1), lookers[i].tid);
		rows_print(*lookers[i].readings, lookers[i].n, 3);
	}
	say("}");
	wait_for("end");
	return 0;
}
