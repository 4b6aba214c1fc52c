/* SPDX-License-Identifier: Apache-2.0 */
/* A sample with a figure in every place, for the tests of metrics. */
#ifndef TESTS_UNIT_METRICS_SAMPLE_H
#define TESTS_UNIT_METRICS_SAMPLE_H

#include "cli/model/rows.h"
#include "need.h"
#include "traces_sample.h"

static const struct capture metrics_capture = {
	.sample_count = 3,
	.version = "0.1-g1234567",
	.process = "ovs-vswitchd",
	.host = "host.example",
	.kernel = "6.1.0-18-amd64",
	.start_trigger = "u:vswitchd:\"quoted\"\\",
	.stop_trigger = NULL,
};

/* Names of which some are equal once they are written. */
static const char *const metrics_hostile[] = {
	"a\nb\r\tc",
	"\033[2J\033[31m",
	"\"'`$(id)\\",
	"\xff\xfe\xc3(",
	"\xfe\xff\xc3(",
	"caf\xc3\xa9 \xe2\x82\xac",
	"} 1\n# EOF\n",
	"\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\",
	"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"",
	"",
	"[unknown]",
	"16bytes_unended_",
	"a\xe2\x80\xa8\x0b\x0c\x1c\xc2\x85",
	"x\",tid=\"1",
	"\xf0\x9f\x90\xa7\xf0\x9f\x90",
};

static struct thread_row metrics_thread(pid_t tid, const char *name)
{
	struct thread_row row = { .tid = tid, .members = 1 };

	memcpy(row.name, name, strnlen(name, sizeof(row.name)));
	row.ledger.life = SECOND;
	row.ledger.ns[LEDGER_USER] = 200000000 + (uint64_t)tid;
	row.ledger.ns[LEDGER_BLOCKED] = SECOND - row.ledger.ns[LEDGER_USER];
	row.voluntary = (uint64_t)tid;
	return row;
}

/* Makes a thread's calls: so many, of numbers from the first on, the first being the
 * smallest by total. */
static void metrics_calls(struct thread_row *row, uint32_t first, size_t n)
{
	free(row->calls); /* of a call that was open */
	row->calls = calloc(n, sizeof(*row->calls));
	need(row->calls);
	row->n_calls = n;
	for (size_t i = 0; i < n; i++)
		row->calls[i] = (struct call_row){ .number = first + (uint32_t)i,
						   .count = i + 1,
						   .total = 1000 * (i + 1),
						   .max = 1000 + i };
}

/* Durations: so many of up to first ns, the others longer and longer. Of less than five
 * each has a bucket of its own. */
static void metrics_times(struct distribution *times, uint64_t count, uint64_t first)
{
	uint64_t le = first;

	for (uint64_t left = count; left; le = le * 5 / 2) {
		uint64_t part = left < 5 ? 1 : left / 2;

		need(!distribution_append(times, le, part));
		left -= part;
	}
}

/* As --histogram has it. */
static void metrics_histograms(struct thread_row *row)
{
	metrics_times(&row->run_times, row->run.count, 4351);
	metrics_times(&row->ready_times, row->ready.count, 1000);
	for (size_t i = 0; i < row->n_calls; i++)
		metrics_times(&row->calls[i].times, row->calls[i].count, 1023);
}

/* What everything() of everything.h has not: time in each state, and periods that cross an edge. */
static void metrics_figures(struct thread_row *row)
{
	row->run = (struct kd_span){ 3140, 789736000, 6849055, 4326, 0 };
	row->long_poll = (struct kd_span){ 2, 684663661, 397906700, 286756961, 0 };
	row->ready = (struct kd_count){ 1024, 25358646, 5533769, 0 };
	row->stopped = (struct kd_count){ 1, 200123456, 200123456, 0 };
	row->ledger.ns[LEDGER_USER] = SECOND;
	for (unsigned int i = 1; i < LEDGER_STATES; i++) {
		row->ledger.ns[i] = i * 9000000;
		row->ledger.ns[LEDGER_USER] -= row->ledger.ns[i];
	}
	row->late_ticks = (struct kd_count){ 2, 7000000, 5000000, 0 };
	thread_add_open(row, &(struct open_item){ .number = KD_CALL_UNKNOWN,
						  .count = 1,
						  .inside = 5,
						  .at_start = true });
	thread_add_open(row, &(struct open_item){
				     .count = 1, .inside = 77, .longest = 77, .at_end = true });
	/* Longer than what began and ended in the window: one that is over, one that is not. */
	thread_add_open(row, &(struct open_item){ .kind = OPEN_READY,
						  .count = 1,
						  .inside = 5000000,
						  .length = 180000000,
						  .longest = 180000000,
						  .at_start = true });
	thread_add_open(row, &(struct open_item){ .kind = OPEN_RUN,
						  .count = 1,
						  .inside = 6849055,
						  .length = 6849056,
						  .longest = 6849056,
						  .at_end = true });
}

/* Sets off the threads and traces of a sample whose threads are the caller's to fill. */
static struct sample metrics_begin(size_t threads)
{
	struct sample sample = traces_begin();

	sample.capture = &metrics_capture;
	sample.threads = calloc(threads + 1, sizeof(*sample.threads));
	sample.n_threads = threads;
	need(sample.threads);
	return sample;
}

static void metrics_traces(struct sample *sample)
{
	struct trace_row row = trace(TRACE_CALL, 9719, "ovs-vswitchd", NULL);

	row.call = 0;
	trace_add(sample, row);
	row.end = 0;
	row.start = sample->end - 5;
	trace_add(sample, row);
	for (uint32_t state = KD_READY_WOKEN; state <= KD_STOPPED; state++) {
		row = trace(TRACE_WAIT, 9719, "renamed", NULL);
		row.state = state;
		row.wakers[0].from = state - KD_READY_WOKEN;
		trace_add(sample, row);
	}
	row = trace(TRACE_SAMPLE, 9720, "ended", NULL);
	row.state = KD_USER;
	trace_add(sample, row);
	row.tid = 4;
	row.state = KD_KERNEL;
	trace_add(sample, row);
	sample->traces.calls_wanted = sample->traces.waits_wanted = true;
	sample->traces.call_threshold = 1000;
	sample->traces.wait_threshold = 10000000;
	sample->traces.left_out = 107, sample->traces.left_out_ns = 108000000;
	sample->traces.profile_hz = 99;
	sample->traces.lost = 100, sample->traces.beyond = 101, sample->traces.failed = 102;
	sample->traces.unread = 103;
	sample->traces.limited = 103, sample->traces.incomplete = 104;
}

/* All of it; released by sample_clear(). */
__attribute__((unused)) static struct sample metrics_full(void)
{
	static const struct absence absent[] = { { "HARD IRQ STATISTICS", "is left out" } };
	struct sample sample = metrics_begin(5);

	sample.threads[0] = metrics_thread(9719, "ovs-vswitchd");
	metrics_figures(&sample.threads[0]);
	metrics_calls(&sample.threads[0], 0, 6);
	sample.threads[1] = metrics_thread(9720, "ended");
	sample.threads[1].ended = true;
	sample.threads[1].members = 3;
	metrics_calls(&sample.threads[1], 3, 2);
	sample.threads[2] = metrics_thread(9731, "revalidator55");
	metrics_calls(&sample.threads[2], 0, 2);
	sample.threads[3] = metrics_thread(9732, "revalidator6");
	metrics_calls(&sample.threads[3], 1, 2);
	sample.threads[4] = metrics_thread(9733, "revalidator6");
	for (size_t i = 0; i < 5; i++)
		metrics_histograms(&sample.threads[i]);
	sample.absent = absent;
	sample.n_absent = 1;
	for (size_t i = 0; i < KD_LOSSES; i++)
		sample.losses[i] = i + 1;
	sample.skipped_runs = 11, sample.hidden = 12, sample.torn = 13, sample.resynced = 14;
	sample.page_faults_untimed = 15;
	sample.own = (struct own_cost){ .cpu_ns = 3200000, .wakeups = 27, .period_ns = 512000000 };
	sample.interrupted = true;
	metrics_traces(&sample);
	return sample;
}

__attribute__((unused)) static struct sample metrics_hostile_names(void)
{
	struct sample sample = metrics_begin(COUNT(metrics_hostile));

	for (size_t i = 0; i < COUNT(metrics_hostile); i++) {
		sample.threads[i] = metrics_thread((pid_t)(100 + i), metrics_hostile[i]);
		metrics_calls(&sample.threads[i], 0, 2);
	}
	return sample;
}

#endif
