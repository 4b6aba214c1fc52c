/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that does nothing but read the clock, and notes when it was kept from that:
 * gaps CPU PRIORITY LEAST_NS
 *
 *   -> ready TID
 *   <- log      -> {"gaps": [[from, to], ...]}: of at least LEAST_NS, ns of CLOCK_MONOTONIC;
 *               and the thread ends
 *
 * SCHED_FIFO with that priority (0: not), on that CPU. */
#include "workload.h"

#define GAPS 100000

static struct gap {
	long long from, to;
} gaps[GAPS];
static int n_gaps;
static long least;
static atomic_int tid;
static atomic_bool over;

static void *spin(void *unused)
{
	long long now, last;

	tid = (int)syscall(SYS_gettid);
	for (last = clock_ns(CLOCK_MONOTONIC); !over; last = now) {
		now = clock_ns(CLOCK_MONOTONIC);
		if (now - last < least || n_gaps == GAPS)
			continue;
		gaps[n_gaps].from = last;
		gaps[n_gaps++].to = now;
	}
	return unused;
}

int main(int argc, char **argv)
{
	struct sched_param param = { 0 };
	pthread_t thread;
	char line[64];

	if (argc != 4)
		return 2;
	param.sched_priority = atoi(argv[2]);
	least = atol(argv[3]);
	memset(gaps, 1, sizeof(gaps)); /* no page faults later */
	if (pthread_create(&thread, NULL, spin, NULL))
		die("pthread_create");
	while (!tid)
		usleep(1000);
	if (param.sched_priority && pthread_setschedparam(thread, SCHED_FIFO, &param))
		die("SCHED_FIFO");
	{
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(atoi(argv[1]), &set);
		if (pthread_setaffinity_np(thread, sizeof(set), &set))
			die("affinity");
	}
	printf("ready %d\n", tid);
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) && strcmp(line, "log\n"))
		;
	over = true;
	pthread_join(thread, NULL);
	printf("{\"gaps\": [");
	for (int i = 0; i < n_gaps; i++)
		printf("%s[%lld, %lld]", i ? ", " : "", gaps[i].from, gaps[i].to);
	printf("]}\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		;
	return 0;
}
