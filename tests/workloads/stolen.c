/* SPDX-License-Identifier: Apache-2.0 */
/* A thread for each CPU that never sleeps, and writes down every 10 ms what the kernel says the
 * hypervisor has taken from that CPU (/proc/stat):
 * stolen CPU...
 *
 *   -> ready TID...
 *   <- log      -> {"TID": [[from, to, ticks], ...], ...}: read between these times of
 *               CLOCK_MONOTONIC, ns */
#include "workload.h"

#include <fcntl.h>

#define READINGS 20000
#define PERIOD_NS 10000000
#define CPUS 64

static struct looker {
	int cpu;
	atomic_int tid;
	pthread_t thread;
	int n;
	struct {
		long long from, to;
		unsigned long long ticks;
	} readings[READINGS];
} * lookers;
static atomic_bool over;

/* The ticks stolen from a CPU. */
static unsigned long long stolen(int file, int cpu)
{
	char text[16384], name[16];
	unsigned long long ticks = 0;
	ssize_t length = pread(file, text, sizeof(text) - 1, 0);
	const char *line;

	if (length <= 0)
		die("/proc/stat");
	text[length] = '\0';
	snprintf(name, sizeof(name), "\ncpu%d ", cpu);
	line = strstr(text, name);
	if (!line || sscanf(line + strlen(name), "%*u %*u %*u %*u %*u %*u %*u %llu", &ticks) != 1)
		die("/proc/stat");
	return ticks;
}

static void *look(void *of)
{
	struct looker *looker = of;
	int file = open("/proc/stat", O_RDONLY);
	long long next = 0, now;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(looker->cpu, &set);
	if (file < 0 || sched_setaffinity(0, sizeof(set), &set))
		die("looker");
	looker->tid = (int)syscall(SYS_gettid);
	while (!over) {
		now = clock_ns(CLOCK_MONOTONIC);
		if (now < next || looker->n == READINGS)
			continue;
		looker->readings[looker->n].from = now;
		looker->readings[looker->n].ticks = stolen(file, looker->cpu);
		looker->readings[looker->n++].to = clock_ns(CLOCK_MONOTONIC);
		next = now + PERIOD_NS;
	}
	close(file);
	return NULL;
}

int main(int argc, char **argv)
{
	char line[64];

	if (argc < 2 || argc > CPUS)
		return 2;
	lookers = calloc((size_t)argc, sizeof(*lookers));
	if (!lookers)
		die("calloc");
	printf("ready");
	for (int i = 1; i < argc; i++) {
		lookers[i].cpu = atoi(argv[i]);
		if (pthread_create(&lookers[i].thread, NULL, look, &lookers[i]))
			die("pthread_create");
		while (!lookers[i].tid)
			usleep(1000);
		printf(" %d", lookers[i].tid);
	}
	printf("\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) && strcmp(line, "log\n"))
		;
	over = true;
	printf("{");
	for (int i = 1; i < argc; i++) {
		pthread_join(lookers[i].thread, NULL);
		printf("%s\"%d\": [", i > 1 ? ", " : "", lookers[i].tid);
		for (int j = 0; j < lookers[i].n; j++)
			printf("%s[%lld, %lld, %llu]", j ? ", " : "", lookers[i].readings[j].from,
			       lookers[i].readings[j].to, lookers[i].readings[j].ticks);
		printf("]");
	}
	printf("}\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		;
	return 0;
}
