// SPDX-License-Identifier: Apache-2.0
/* Metrics of several processes: their own, and the labels of their threads. */
#include <stdlib.h>
#include <string.h>

#include "cli/metrics/metric_family.h"
#include "cli/metrics/metrics.h"
#include "cli/metrics/openmetrics.h"
#include "golden.h"
#include "metrics_read.h"
#include "tap.h"
#include "verdict_sample.h"

static const struct capture one = { .process = "postgres" };
static const struct capture several = { .process = "postgres", .several = true };

/* So many processes of a thread each that waited for 1 ms, of which the last one has ended. */
static struct sample sample_of(const struct capture *capture, size_t n)
{
	struct sample sample = verdict_sample(calloc(n, sizeof(struct thread_row)), n);

	sample.capture = capture;
	sample.processes = calloc(n, sizeof(*sample.processes));
	sample.n_processes = n;
	if (!sample.threads || !sample.processes)
		abort();
	for (size_t i = 0; i < n; i++) {
		struct process_row *process = &sample.processes[i];

		*process = (struct process_row){ .pid = (pid_t)(100 + i), .name = "postgres" };
		sample.threads[i] = runner(process->pid, "postgres");
		sample.threads[i].pid = process->pid;
		spend(&sample.threads[i], LEDGER_READY_WOKEN, MILLI);
		sample.threads[i].ready = times(1, MILLI, MILLI);
	}
	sample.processes[n - 1].ended = sample.threads[n - 1].ended = n > 1;
	if (sample_finish(&sample))
		abort();
	return sample;
}

/* The series of a target of one process are what they always were. */
static void test_one(void)
{
	struct metrics *metrics = metrics_of((struct report_options){ 0 });

	add_and_clear(metrics, sample_of(&one, 1));
	IS("thread_seconds_total{thread=\"postgres\",state=\"ready_woken\"}", "0.001000000");
	is_u64(count_of(metrics, "processes"), 0, "none of processes");
	metrics_free(metrics);
}

/* Those of several are the same when one is left. */
static void test_several(void)
{
	struct metrics *metrics = metrics_of((struct report_options){ 0 });

	add_and_clear(metrics, sample_of(&several, 62));
	IS("processes{process=\"postgres\"}", "61");
	IS("ended_processes_total{process=\"postgres\"}", "1");
	IS("began_processes_total{process=\"postgres\"}", "0");
	IS("process_busy_seconds_total{process=\"postgres\"}", "62.000000000");
	IS("process_kept_seconds_total{process=\"postgres\"}", "0.062000000");
	IS("threads{thread=\"postgres\",process=\"postgres\"}", "61");
	IS("thread_seconds_total{thread=\"postgres\",process=\"postgres\",state=\"ready_woken\"}",
	   "0.062000000");
	add_and_clear(metrics, sample_of(&several, 1));
	IS("processes{process=\"postgres\"}", "1");
	IS("process_kept_seconds_total{process=\"postgres\"}", "0.063000000");
	IS("thread_seconds_total{thread=\"postgres\",process=\"postgres\",state=\"ready_woken\"}",
	   "0.063000000");
	is_u64(count_of(metrics, "processes"), 1, "one series");
	metrics_free(metrics);
}

static void test_containers(void)
{
	struct metrics *metrics = metrics_of((struct report_options){ 0 });
	struct sample sample = sample_of(&several, 4);

	for (size_t i = 0; i < 2; i++) {
		strcpy(sample.processes[i].container, "db");
		strcpy(sample.processes[i].pod, "shop-0");
		strcpy(sample.processes[i].image, "postgres:16");
	}
	memset(sample.processes[2].container, '"', PROCESS_LABEL);
	add_and_clear(metrics, sample);
	IS("processes{process=\"postgres\",container=\"db\",pod=\"shop-0\"}", "2");
	IS("container_info{process=\"postgres\",container=\"db\",pod=\"shop-0\",image="
	   "\"postgres:16\"}",
	   "1");
	IS("threads{thread=\"postgres\",process=\"postgres\",container=\"db\",pod=\"shop-0\"}",
	   "2");
	is_u64(count_of(metrics, "processes"), 3, "processes of three kinds");
	is_u64(count_of(metrics, "container_info"), 1, "one of them with an image");
	metrics_free(metrics);
}

static void test_separate(void)
{
	struct metrics *metrics = metrics_of((struct report_options){ .per_thread = true });

	add_and_clear(metrics, sample_of(&several, 3));
	IS("processes{process=\"postgres\",pid=\"100\"}", "1");
	IS("processes{process=\"postgres\"}", "0"); /* which has ended */
	IS("ended_processes_total{process=\"postgres\"}", "1");
	IS("threads{thread=\"postgres\",process=\"postgres\",pid=\"101\",tid=\"101\"}", "1");
	metrics_free(metrics);
}

/* The longest labels: all bytes of all texts become a replacement. */
static void test_hostile(void)
{
	struct metrics *metrics = metrics_of((struct report_options){ .per_thread = true });
	struct sample sample = sample_of(&several, 2);

	for (size_t i = 0; i < 2; i++) {
		struct process_row *process = &sample.processes[i];

		memset(process->name, 0xff, sizeof(process->name));
		memset(process->container, 0x80, sizeof(process->container));
		memset(process->pod, 0x1b, sizeof(process->pod));
		memset(process->image, 0x07, sizeof(process->image));
		memset(sample.threads[i].name, 0xfe, sizeof(sample.threads[i].name));
	}
	sample.threads[1].pid = 99; /* of no process */
	add_and_clear(metrics, sample);
	is_u64(count_of(metrics, "processes"), 2, "a series each");
	is_u64(count_of(metrics, "threads"), 2, "and for their threads");
	metrics_free(metrics);
}

int main(void)
{
	test_one();
	test_several();
	test_containers();
	test_separate();
	test_hostile();
	return done_testing();
}
