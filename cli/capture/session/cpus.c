// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "cpus.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/log.h"
#include "cli/base/texts.h"

/* --- Perf events of each CPU --- */

/* True if there is no such event, or no counters: the errno of perf_event_open(2) then depends
 * on the event and the machine. */
static bool is_missing(int error, uint32_t type)
{
	return error == -ENOENT || error == -EOPNOTSUPP || error == -ENXIO ||
	       (error == -EINVAL && type != PERF_TYPE_SOFTWARE);
}

/* Returns 1; 0 if the CPU lacks the event, being offline or of a kind without it; or a negative
 * errno. */
static int event_open_on(const struct counter_event *event, size_t index, int cpu,
			 const struct counter_ops *ops)
{
	struct perf_event_attr attr = {
		.type = event->type,
		.size = sizeof(attr),
		.config = event->config,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	int fd = ops->open(ops->context, &attr, cpu), error;

	if (fd == -ENODEV || is_missing(fd, event->type))
		return 0;
	if (fd < 0)
		return fd;
	error = ops->put(ops->context, index, cpu, fd);
	return error ? error : 1;
}

/* Opens an event on all CPUs. Returns how many have it, or a negative errno. */
static int event_open(const struct counter_event *event, size_t index, int cpus,
		      const struct counter_ops *ops)
{
	int opened = 0;

	for (int cpu = 0; cpu < cpus; cpu++) {
		int found = event_open_on(event, index, cpu, ops);

		if (found < 0)
			return found;
		opened += found;
	}
	return opened;
}

int counter_events_open(struct counter_set *set, int cpus, const struct counter_ops *ops,
			struct counter_set *missing)
{
	size_t n = 0;

	missing->n = 0;
	for (size_t i = 0; i < set->n; i++) {
		int opened = event_open(&set->all[i], n, cpus, ops);

		if (opened < 0)
			return opened;
		if (opened)
			set->all[n++] = set->all[i];
		else
			missing->all[missing->n++] = set->all[i];
	}
	set->n = n;
	return 0;
}

int counter_events_open_cpu(const struct counter_set *set, int cpu, const struct counter_ops *ops)
{
	int found = 0;

	for (size_t i = 0; i < set->n && found >= 0; i++)
		found = event_open_on(&set->all[i], i, cpu, ops);
	return found < 0 ? found : 0;
}

/* --- CPUs that go offline or come online --- */

/* Returns false on failure: then nothing is certain. */
static bool list_read(int fd, uint64_t words[static ONLINE_CPUS_MAX / 64])
{
	char text[4096];
	ssize_t length = pread(fd, text, sizeof(text) - 1, 0);

	memset(words, 0, ONLINE_CPUS_MAX / 8);
	text[length > 0 ? length : 0] = '\0';
	return cpu_list_parse(text, words, ONLINE_CPUS_MAX);
}

void online_cpus_open(struct online_cpus *cpus, const char *path)
{
	cpus->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (cpus->fd >= 0 && !list_read(cpus->fd, cpus->now))
		online_cpus_close(cpus);
}

void online_cpus_close(struct online_cpus *cpus)
{
	if (cpus->fd >= 0)
		close(cpus->fd);
	cpus->fd = -1;
}

void online_cpus_look(struct online_cpus *cpus, online_changed_fn *changed, void *context)
{
	uint64_t now[ONLINE_CPUS_MAX / 64];

	if (cpus->fd < 0 || !list_read(cpus->fd, now))
		return;
	for (int word = 0; word < ONLINE_CPUS_MAX / 64; word++) {
		uint64_t others = now[word] ^ cpus->now[word];

		cpus->now[word] = now[word];
		for (; others; others &= others - 1) {
			int bit = __builtin_ctzll(others);

			changed(context, word * 64 + bit, now[word] >> bit & 1);
		}
	}
}

/* --- Interrupts of other CPUs --- */

/* Label at the end of the row: CAL on x86, one of IPI0 to IPI7 on arm64. */
#define ROW_NAME "Function call interrupts"

static uint32_t header_count(const char *line)
{
	uint32_t cpus = 0;

	while ((line = strstr(line, "CPU"))) {
		line += 3;
		cpus++;
	}
	return cpus;
}

static uint64_t row_sum(const char *row, uint32_t cpus)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < cpus; i++) {
		char *end;
		uint64_t count = strtoull(row, &end, 10);

		if (end == row || !isspace((unsigned char)*end))
			break;
		sum += count;
		row = end;
	}
	return sum;
}

bool ipi_count_parse(FILE *file, struct ipi_count *count)
{
	char *line = NULL;
	size_t capacity = 0;
	bool found = false;

	*count = (struct ipi_count){ 0 };
	if (getline(&line, &capacity, file) > 0)
		count->cpus = header_count(line);
	while (!found && getline(&line, &capacity, file) > 0) {
		const char *colon = strchr(line, ':');

		found = colon && strstr(colon, ROW_NAME);
		if (found)
			count->received = row_sum(colon + 1, count->cpus);
	}
	free(line);
	return found && count->cpus;
}

void ipi_count_begin(struct ipi_count *count)
{
	FILE *file = fopen("/proc/interrupts", "re");

	if (!file || !ipi_count_parse(file, count))
		*count = (struct ipi_count){ 0 };
	if (file)
		fclose(file);
}

void ipi_count_end(const struct ipi_count *before, const char *what)
{
	struct ipi_count now;

	if (!before->cpus)
		return;
	ipi_count_begin(&now);
	/* All other CPUs receive what one CPU sends. */
	if (before->cpus > 1 && now.cpus == before->cpus)
		log_note("%s sent %" PRIu64 " function-call interrupts to each other CPU", what,
			 (now.received - before->received) / (now.cpus - 1));
}

/* --- The timer of arm64 --- */

uint32_t timer_line_parse(FILE *file)
{
	char *line = NULL;
	size_t capacity = 0;
	uint32_t number = 0;

	/* "11:   763   805   GICv3  27 Level   arch_timer" */
	while (!number && getline(&line, &capacity, file) > 0)
		if (strstr(line, " " TIMER_LINE_NAME "\n"))
			number = (uint32_t)strtoul(line, NULL, 10);
	free(line);
	return number;
}

uint32_t timer_line(void)
{
	FILE *file = fopen("/proc/interrupts", "re");
	uint32_t number = file ? timer_line_parse(file) : 0;

	if (file)
		fclose(file);
	return number;
}
