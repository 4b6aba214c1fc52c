/* SPDX-License-Identifier: Apache-2.0 */
/* What samples add up to, read back from the text with a reader of its own. */

#include <math.h>
#include <stdlib.h>

#include "cli/model/losses.h"
#include "cli/model/rows.h"
#include "cli/model/sample.h"
#include "everything.h"
#include "golden.h"
#include "metrics_read.h"
#include "metrics_sample.h"
#include "tap.h"
#include "verdict_sample.h"
#include "cli/metrics/metric_sample.h"
#include "cli/metrics/metric_values.h"

/* Twice of the largest number is the same. */
static bool is_times(double got, double times, double value)
{
	const double largest = (double)UINT64_MAX;

	if (value >= largest || value * 1e9 >= largest * (1 - 1e-12))
		times = 1;
	return fabs(got - times * value) <= 1e-9 + 1e-12 * got;
}

/* Twice the same: counters double, gauges do not. Single values are in golden files. */
static void is_twice(const char *once, const char *twice, const char *what)
{
	unsigned int wrong = 0, doubled = 0, same = 0;
	bool counts = false;

	for (; *once && *twice; once = strchr(once, '\n') + 1, twice = strchr(twice, '\n') + 1) {
		size_t line = strcspn(once, "\n"), series = line;

		if (*once == '#') {
			if (!strncmp(once, "# TYPE ", 7))
				counts = !strncmp(once + line - 7, "counter", 7) ||
					 !strncmp(once + line - 9, "histogram", 9);
			continue;
		}
		while (once[series] != ' ')
			series--;
		counts ? doubled++ : same++;
		if (!strncmp(once, twice, series + 1) &&
		    is_times(strtod(twice + series, NULL), counts ? 2 : 1,
			     strtod(once + series, NULL)))
			continue;
		wrong++;
		printf("# %.*s\n# %.*s\n", (int)line, once, (int)strcspn(twice, "\n"), twice);
	}
	ok(!wrong && !*once && !*twice, "%s: %u counters double, %u gauges do not", what, doubled,
	   same);
}

TEST(sums)
{
	struct thread_row rows[2];
	struct sample samples[] = { metrics_full(), everything(rows) };
	char *once, *twice;

	for (size_t i = 0; i < COUNT(samples); i++) {
		struct metrics *metrics = metrics_of((struct report_options){ 0 });

		is_i64(metrics_add(metrics, judged(&samples[i])), 0, "a sample");
		once = metrics_text(metrics);
		is_i64(metrics_add(metrics, judged(&samples[i])), 0, "again");
		twice = metrics_text(metrics);
		is_twice(once, twice, i ? "everything" : "full");
		free(once);
		free(twice);
		metrics_free(metrics);
	}
	sample_clear(&samples[0]);
	everything_clear(&samples[1]);
}

/* A start may still get its stop while the run goes on. At the end it is unmatched, once. */
TEST(unmatched)
{
	struct trigger_stats stats = { .names = { "u:x:start", "u:x:stop" } };
	struct metrics *metrics = metrics_of((struct report_options){ 0 });
	static const char *const wanted[] = { "1", "3", "3" };

	stats.tally.hits[KD_START] = 10;
	stats.tally.outcome[KD_START][KD_HIT_USED] = 7;
	stats.tally.outcome[KD_START][KD_HIT_UNMATCHED] = 1;
	for (size_t i = 0; i < COUNT(wanted); i++) {
		is_i64(metrics_add_triggers(metrics, &stats), 0, "what triggers did so far");
		IS("trigger_hits_total{trigger=\"start\",result=\"unmatched\"}", wanted[i]);
		IS("trigger_hits_total{trigger=\"start\",result=\"used\"}", "7");
		trigger_stats_finish(&stats);
	}
	metrics_free(metrics);
}

/* All that sample_lost() counts has a reason. */
TEST(losses)
{
	struct metrics *metrics = metrics_of((struct report_options){ 0 });
	struct sample sample = metrics_full();
	char *text, *at;
	uint64_t sum = 0;

	is_i64(metrics_add(metrics, judged(&sample)), 0, "a sample with losses");
	at = text = metrics_text(metrics);
	while ((at = strstr(at, "lost_events_total{"))) {
		at = strchr(at, '}') + 1;
		sum += strtoull(at, NULL, 10);
	}
	is_u64(sum, sample_lost(&sample), "all reasons together are what was lost");
	free(text);
	sample_clear(&sample);
	metrics_free(metrics);
}

TEST(saturation)
{
	struct metrics *metrics = metrics_of((struct report_options){ 0 });

	for (int i = 0; i < 2; i++) {
		struct sample sample = metrics_begin(1);

		sample.threads[0] = metrics_thread(1, "large");
		memset(sample.threads[0].ledger.ns, 0xff, sizeof(sample.threads[0].ledger.ns));
		sample.threads[0].voluntary = UINT64_MAX - 1;
		metrics_calls(&sample.threads[0], 3000000000U, 1);
		sample.threads[0].calls[0].total = UINT64_MAX;
		add_and_clear(metrics, sample);
	}
	IS("thread_seconds_total{thread=\"large\",state=\"user\"}", "18446744073.709551615");
	IS("context_switches_total{thread=\"large\",type=\"voluntary\"}", "18446744073709551615");
	IS("syscall_seconds_total{thread=\"large\",syscall=\"[unknown: 3000000000]\"}",
	   "18446744073.709551615");
	metrics_free(metrics);
}

/* Times are seconds with all nine decimals. */
TEST(seconds)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} seconds[] = {
		{ 0, "0.000000000" },
		{ 1, "0.000000001" },
		{ 999999999, "0.999999999" },
		{ 1000000000, "1.000000000" },
		{ UINT64_MAX, "18446744073.709551615" },
	};

	for (size_t i = 0; i < COUNT(seconds); i++) {
		struct metrics *metrics = metrics_of((struct report_options){ 0 });
		struct sample sample = metrics_begin(1);

		sample.threads[0] = metrics_thread(1, "one");
		sample.threads[0].ledger.ns[LEDGER_USER] = seconds[i].ns;
		add_and_clear(metrics, sample);
		IS("thread_seconds_total{thread=\"one\",state=\"user\"}", seconds[i].text);
		metrics_free(metrics);
	}
}

/* Names that are equal once they are written share a series. */
TEST(equal_names)
{
	struct metrics *metrics = metrics_of((struct report_options){ 0 });
	struct sample sample = metrics_begin(4);

	sample.threads[0] = metrics_thread(1, "\xff");
	sample.threads[1] = metrics_thread(2, "\xfe");
	sample.threads[2] = metrics_thread(3, "\xef\xbf\xbd");
	sample.threads[3] = metrics_thread(3, "\xef\xbf\xbd");
	sample.threads[3].ended = true;
	for (size_t i = 0; i < 4; i++)
		metrics_calls(&sample.threads[i], 0x80000000U, 1);
	add_and_clear(metrics, sample);
	is_u64(count_of(metrics, "threads"), 1, "one series for all of them");
	IS("threads{thread=\"\xef\xbf\xbd\"}", "3");
	IS("ended_threads_total{thread=\"\xef\xbf\xbd\"}", "1");
	IS("syscalls_total{thread=\"\xef\xbf\xbd\",syscall=\"[unknown: 2147483648]\"}", "4");
	metrics_free(metrics);

	metrics = metrics_of((struct report_options){ .per_thread = true });
	sample = metrics_begin(2);
	sample.threads[0] = metrics_thread(7, "\xff");
	sample.threads[1] = metrics_thread(7, "\xfe");
	add_and_clear(metrics, sample);
	IS("threads{thread=\"\xef\xbf\xbd\",tid=\"7\"}", "2");
	metrics_free(metrics);
}

TEST(fold_names)
{
	static const char *const names[] = { "revalidator55", "revalidator6", "12345",
					     "pmd-c01/id:8", "1a1" };
	struct metrics *metrics = metrics_of((struct report_options){ .fold_names = true });
	struct sample sample = metrics_begin(COUNT(names));

	for (size_t i = 0; i < COUNT(names); i++)
		sample.threads[i] = metrics_thread((pid_t)i + 1, names[i]);
	add_and_clear(metrics, sample);
	IS("threads{thread=\"revalidator\"}", "2");
	IS("threads{thread=\"12345\"}", "1");
	IS("threads{thread=\"pmd-c01/id:\"}", "1");
	IS("threads{thread=\"1a\"}", "1");
	metrics_free(metrics);
}

/* Those with a row keep it; the sum of all is the same as without a limit. */
TEST(max_syscalls)
{
	struct metrics *metrics = metrics_of((struct report_options){ .max_syscalls = 3 });
	struct sample sample = metrics_begin(2);

	sample.threads[0] = metrics_thread(1, "t");
	metrics_calls(&sample.threads[0], 0x80000000U, 10);
	sample.threads[1] = metrics_thread(2, "t");
	metrics_calls(&sample.threads[1], 0x80000000U, 1);
	sample.threads[1].calls[0].total = 1000000; /* only both together make it the largest */
	add_and_clear(metrics, sample);
	is_u64(count_of(metrics, "syscalls_total"), 4, "three and the others");
	IS("syscall_seconds_total{thread=\"t\",syscall=\"[unknown: 2147483648]\"}", "0.001001000");
	IS("syscall_seconds_total{thread=\"t\",syscall=\"[unknown: 2147483657]\"}", "0.000010000");
	IS("syscall_seconds_total{thread=\"t\",syscall=\"other\"}", "0.000035000");
	IS("syscall_max_seconds{thread=\"t\",syscall=\"other\"}", "0.000001007");

	sample = metrics_begin(1);
	sample.threads[0] = metrics_thread(1, "t");
	metrics_calls(&sample.threads[0], 0x80000001U, 9);
	sample.threads[0].calls[0].total = 2000000;
	add_and_clear(metrics, sample);
	is_u64(count_of(metrics, "syscalls_total"), 4, "no more of them later");
	IS("syscalls_total{thread=\"t\",syscall=\"[unknown: 2147483657]\"}", "19");
	IS("syscalls_total{thread=\"t\",syscall=\"other\"}", "63"); /* 2 to 8, then 1 to 7 */
	metrics_free(metrics);
}

/* A wait for a disk that a request of so many ns ended. */
static void metrics_disk(struct thread_row *row, const char *device, uint64_t ns)
{
	struct descriptor_row disk = { .awaited = KD_AWAITED_DISK,
				       .is = { .fd = 3, .inode = 4 + row->n_descriptors },
				       .waits = { 1, ns, ns, 0 },
				       .requests = { 1, ns, ns, 0 } };

	memcpy(disk.is.device, device, strlen(device) + 1);
	need(!row_list_add(&descriptor_list, &row->descriptors, &row->n_descriptors, &disk));
}

/* So many disks that they have no series of their own any more, whatever names they have. */
TEST(disks)
{
	struct metrics *metrics = metrics_of((struct report_options){ 0 });
	struct sample sample = metrics_begin(1);

	sample.threads[0] = metrics_thread(1, "t");
	for (int i = 0; i < 40; i++) {
		char device[16];

		snprintf(device, sizeof(device), "sd\"%d", i);
		metrics_disk(&sample.threads[0], device, 1000);
	}
	add_and_clear(metrics, sample);
	is_u64(count_of(metrics, "disk_requests_total"), 17, "sixteen and the others");
	IS("disk_requests_total{device=\"sd\\\"0\"}", "1");
	IS("disk_requests_total{device=\"other\"}", "24");
	metrics_free(metrics);
}

/* Rows of one name are one series; what is not of that name, or has none, is told apart. */
TEST(labels)
{
	static const struct mover_row movers[] = { { 812, 812, "taskset", 1 },
						   { 813, 813, "taskset", 3 } };
	static const struct irq_row hardirqs[] = {
		{ .name = "i801_smbus", .count = 2, .total = 20, .max = 10 },
		{ .name = "i801_smbus", .unhandled = true, .count = 3, .total = 30, .max = 10 },
		{ .name = "evil\"\n\xff", .count = 5, .total = 50, .max = 10 },
	};
	static const struct irq_row softirq = { .vector = 15, .count = 7, .total = 70, .max = 10 };
	struct metrics *metrics = metrics_of((struct report_options){ 0 });
	struct sample sample = metrics_begin(1);
	struct thread_row *thread = sample.threads;

	*thread = metrics_thread(1, "t");
	for (size_t i = 0; i < COUNT(movers); i++)
		need(!row_list_add(&mover_list, &thread->movers, &thread->n_movers, &movers[i]));
	for (size_t i = 0; i < COUNT(hardirqs); i++)
		need(!row_list_add(&hardirq_list, &thread->hardirqs, &thread->n_hardirqs,
				   &hardirqs[i]));
	need(!row_list_add(&softirq_list, &thread->softirqs, &thread->n_softirqs, &softirq));
	metrics_disk(thread, "vda1", 1000);
	metrics_disk(thread, "vda1", 500);
	add_and_clear(metrics, sample);
	IS("moved_by_total{thread=\"t\",mover=\"taskset\"}", "4");
	IS("hardirqs_total{thread=\"t\",action=\"i801_smbus\"}", "2");
	IS("hardirqs_total{thread=\"t\",action=\"i801_smbus [unhandled]\"}", "3");
	IS("hardirqs_total{thread=\"t\",action=\"evil\\\"\\n\uFFFD\"}", "5");
	IS("softirqs_total{thread=\"t\",vector=\"15\"}", "7");
	IS("disk_requests_total{device=\"vda1\"}", "2");
	IS("disk_request_seconds_total{device=\"vda1\"}", "0.000001500");
	IS("disk_request_max_seconds{device=\"vda1\"}", "0.000001000");
	metrics_free(metrics);
}

/* The text of a saved sample, where it makes a label. */
TEST(labels_of_files)
{
	const struct absence absent = { .section = "x\",evil=\"1\\", .what = "" };
	struct metrics *metrics = metrics_of((struct report_options){ 0 });
	struct sample sample = metrics_begin(1);

	sample.threads[0] = metrics_thread(1, "t");
	sample.absent = &absent;
	sample.n_absent = 1;
	add_and_clear(metrics, sample);
	IS("absent_sections{section=\"x\\\",evil=\\\"1\\\\\"}", "1");
	metrics_free(metrics);
}

/* New names in every sample: as many series as ever, whose sum is that of all. */
TEST(stoppers)
{
	struct metrics *metrics = metrics_of((struct report_options){ 0 });

	for (int i = 0; i < 10; i++) {
		struct sample sample = metrics_begin(1);

		sample.threads[0] = metrics_thread(1, "t");
		for (int j = 0; j < 10; j++) {
			struct stop_row stop = { KD_STOP_SIGNAL,  19, 100 * i + j, 1, "",
						 { 1, 10, 10, 0 } };

			snprintf(stop.name, sizeof(stop.name), "sh-%d", 10 * i + j);
			need(!row_list_add(&stop_list, &sample.threads[0].stops,
					   &sample.threads[0].n_stops, &stop));
		}
		add_and_clear(metrics, sample);
	}
	is_u64(count_of(metrics, "stopped_by_total"), 17, "sixteen and the others");
	IS("stopped_by_total{thread=\"t\",kind=\"signal\",stopper=\"sh-0\"}", "1");
	IS("stopped_by_total{thread=\"t\",kind=\"signal\",stopper=\"sh-16\"}", "");
	IS("stopped_by_total{thread=\"t\",kind=\"signal\",stopper=\"other\"}", "84");
	IS("stopped_by_seconds_total{thread=\"t\",kind=\"signal\",stopper=\"other\"}",
	   "0.000000840");
	metrics_free(metrics);
}

/* A sample of one thread, so many minutes after the first. */
static struct sample later(uint64_t minutes, pid_t tid, const char *name, uint64_t ready_max)
{
	struct sample sample = metrics_begin(1);

	sample.start += minutes * 60 * SECOND;
	sample.end += minutes * 60 * SECOND;
	sample.threads[0] = metrics_thread(tid, name);
	sample.threads[0].ready = (struct kd_count){ 1, ready_max, ready_max, 0 };
	return sample;
}

TEST(maxima)
{
	struct metrics *metrics = metrics_of((struct report_options){ 0 });

#define READY_MAX "thread_max_seconds{thread=\"t\",state=\"ready\"}"
	add_and_clear(metrics, later(0, 1, "t", 500));
	add_and_clear(metrics, later(0, 1, "t", 7));
	IS(READY_MAX, "0.000000500");
	add_and_clear(metrics, later(1, 1, "t", 8));
	IS(READY_MAX, "0.000000500");
	add_and_clear(metrics, later(2, 1, "t", 7));
	IS(READY_MAX, "0.000000008");
	add_and_clear(metrics, later(3, 1, "another", 1));
	IS(READY_MAX, "0.000000007");
	IS("threads{thread=\"t\"}", "0");
	add_and_clear(metrics, later(4, 1, "another", 1));
	IS(READY_MAX, "0.000000000");
	IS("thread_period_seconds_total{thread=\"t\",state=\"ready\"}", "0.000000522");
	add_and_clear(metrics, later(9, 1, "t", 3));
	IS(READY_MAX, "0.000000003");
	metrics_free(metrics);
}

/* Threads with a TID are forgotten; the number of series stays what it is. */
TEST(churn)
{
	struct metrics *metrics = metrics_of((struct report_options){ .per_thread = true });
	size_t most = 0;

	for (unsigned int i = 0; i < 300; i++) {
		struct sample sample = later(i, (pid_t)i + 1, "t", 1);

		metrics_calls(&sample.threads[0], 0, 2);
		need(!metrics_add(metrics, judged(&sample)));
		sample_clear(&sample);
		most = metrics_series(metrics) > most ? metrics_series(metrics) : most;
	}
	ok(count_of(metrics, "threads") <= 7, "ended threads are forgotten: %zu left",
	   count_of(metrics, "threads"));
	ok(most < 600, "there never were more than %zu series", most);
	IS("threads{thread=\"t\",tid=\"300\"}", "1");
	IS("captures_total{result=\"complete\"}", "300");
	metrics_free(metrics);
}

/* As many new names as a target likes to give its threads: those that are there have series, and
 * those of before make room for them. */
TEST(limit)
{
	struct metrics *metrics = metrics_of((struct report_options){ 0 });

	metrics_limit(metrics, 1000);
	for (unsigned int names = 0; names < 500; names++) {
		char name[16];
		struct sample sample;

		snprintf(name, sizeof(name), "name-%u", names);
		sample = later(0, 1, name, 1);
		metrics_calls(&sample.threads[0], 0, 2);
		need(!metrics_add(metrics, judged(&sample)));
		sample_clear(&sample);
	}
	ok(metrics_series(metrics) <= 1000, "no more than 1000 series: %zu",
	   metrics_series(metrics));
	ok(strtoul(value_of(metrics, "lost_events_total{reason=\"series\"}"), NULL, 10) > 1000,
	   "what was left out is counted");
	IS("threads{thread=\"name-0\"}", "");
	add_and_clear(metrics, later(0, 1, "new", 1));
	add_and_clear(metrics, later(0, 1, "new", 1));
	IS("threads{thread=\"new\"}", "1");
	IS("captures_total{result=\"complete\"}", "502");
	metrics_free(metrics);
}

/* More threads at once than there is room for: those of before keep their series. */
TEST(crowd)
{
	struct metrics *metrics = metrics_of((struct report_options){ 0 });

	metrics_limit(metrics, 1000);
	add_and_clear(metrics, later(0, 1, "zebra", 1));
	for (unsigned int round = 0; round < 3; round++) {
		struct sample sample = metrics_begin(101);

		for (unsigned int i = 0; i < 101; i++) {
			char name[16];

			snprintf(name, sizeof(name), "%u-%u", round, i);
			sample.threads[i] = metrics_thread((pid_t)i + 1, i ? name : "zebra");
		}
		add_and_clear(metrics, sample);
		IS("threads{thread=\"zebra\"}", "1");
	}
	ok(metrics_series(metrics) <= 1000, "no more than 1000 series: %zu",
	   metrics_series(metrics));
	metrics_free(metrics);
}

/* A target of one process that has another name and PID in each sample, twenty times as often as
 * there is room for series. */
TEST(renames)
{
	struct metrics *metrics = metrics_of((struct report_options){ 0 });
	struct capture capture = metrics_capture;
	size_t before = 0;

	metrics_limit(metrics, 1000);
	for (unsigned int i = 0; i < 20000; i++) {
		struct sample sample = { .pid = (pid_t)i + 1, .capture = &capture };

		snprintf(capture.process, sizeof(capture.process), "r%u", i);
		need(!metrics_add(metrics, judged(&sample)));
		sample_clear(&sample);
		if (i == 1)
			before = metrics_series(metrics);
	}
	is_u64(metrics_series(metrics), before, "no more series than after two");
	is_u64(count_of(metrics, "capture_info"), 1, "one says what is sampled");
	add_and_clear(metrics, later(0, 1, "t", 1));
	IS("threads{thread=\"t\"}", "1");
	IS("lost_events_total{reason=\"series\"}", "0");
	metrics_free(metrics);
}

/* Once threads of a sample end or are folded, they have no TID. */
TEST(tids)
{
	struct metrics *metrics = metrics_of((struct report_options){ .per_thread = true });
	struct sample sample = metrics_full();

	sample.threads[2].ended = true;
	sample.threads[4].members = 12;
	add_and_clear(metrics, sample);
	IS("ended_threads_total{thread=\"ended\"}", "3");
	IS("ended_threads_total{thread=\"revalidator55\"}", "1");
	IS("threads{thread=\"revalidator6\"}", "12");
	IS("threads{thread=\"revalidator6\",tid=\"9732\"}", "1");
	IS("waits_total{thread=\"ovs-vswitchd\",tid=\"9719\",state=\"blocked\"}", "1");
	metrics_free(metrics);
}

/* Of several threads in one call each counts, whether they are in one row or not. */
TEST(open_calls)
{
	struct metrics *metrics = metrics_of((struct report_options){ 0 });
	struct sample sample = metrics_begin(2);

	for (size_t i = 0; i < 2; i++) {
		sample.threads[i] = metrics_thread((pid_t)i + 1, "t");
		sample.threads[i].members = i ? 12 : 1;
		thread_add_open(&sample.threads[i],
				&(struct open_item){ .number = INT32_MAX,
						     .count = i ? 12 : 1,
						     .inside = i ? 12 * SECOND : SECOND,
						     .at_start = true,
						     .at_end = true });
	}
	add_and_clear(metrics, sample);
	IS("open_syscalls_total{thread=\"t\",syscall=\"[unknown: 2147483647]\"}", "13");
	IS("open_syscall_seconds_total{thread=\"t\",syscall=\"[unknown: 2147483647]\"}",
	   "13.000000000");
	metrics_free(metrics);
}

/* --- Of several processes: their own, and the labels of their threads --- */

static const struct capture one = { .process = "postgres" };
static const struct capture multiple = { .process = "postgres", .multiple = true };

/* So many processes of a thread each that waited for 1 ms, of which the last one has ended. */
static struct sample sample_of(const struct capture *capture, size_t n)
{
	struct sample sample = verdict_sample(calloc(n, sizeof(struct thread_row)), n);

	sample.capture = capture;
	sample.processes = calloc(n, sizeof(*sample.processes));
	sample.n_processes = n;
	need(sample.threads && sample.processes);
	for (size_t i = 0; i < n; i++) {
		struct process_row *process = &sample.processes[i];

		*process = (struct process_row){ .pid = (pid_t)(100 + i), .name = "postgres" };
		sample.threads[i] = runner(process->pid, "postgres");
		sample.threads[i].pid = process->pid;
		spend(&sample.threads[i], LEDGER_READY_WOKEN, MILLI);
		sample.threads[i].ready = times(1, MILLI, MILLI);
	}
	sample.processes[n - 1].ended = sample.threads[n - 1].ended = n > 1;
	need(!sample_finish(&sample));
	return sample;
}

/* The series of a target of one process are what they always were. */
TEST(one_process)
{
	struct metrics *metrics = metrics_of((struct report_options){ 0 });

	add_and_clear(metrics, sample_of(&one, 1));
	IS("thread_seconds_total{thread=\"postgres\",state=\"ready_woken\"}", "0.001000000");
	is_u64(count_of(metrics, "processes"), 0, "none of processes");
	metrics_free(metrics);
}

/* Those of several are the same when one is left. */
TEST(process_set_processes)
{
	struct metrics *metrics = metrics_of((struct report_options){ 0 });

	add_and_clear(metrics, sample_of(&multiple, 62));
	IS("processes{process=\"postgres\"}", "61");
	IS("ended_processes_total{process=\"postgres\"}", "1");
	IS("began_processes_total{process=\"postgres\"}", "0");
	IS("process_busy_seconds_total{process=\"postgres\"}", "62.000000000");
	IS("process_kept_seconds_total{process=\"postgres\"}", "0.062000000");
	IS("threads{thread=\"postgres\",process=\"postgres\"}", "61");
	IS("thread_seconds_total{thread=\"postgres\",process=\"postgres\",state=\"ready_woken\"}",
	   "0.062000000");
	add_and_clear(metrics, sample_of(&multiple, 1));
	IS("processes{process=\"postgres\"}", "1");
	IS("process_kept_seconds_total{process=\"postgres\"}", "0.063000000");
	IS("thread_seconds_total{thread=\"postgres\",process=\"postgres\",state=\"ready_woken\"}",
	   "0.063000000");
	is_u64(count_of(metrics, "processes"), 1, "one series");
	metrics_free(metrics);
}

TEST(containers)
{
	struct metrics *metrics = metrics_of((struct report_options){ 0 });
	struct sample sample = sample_of(&multiple, 4);

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

TEST(separate)
{
	struct metrics *metrics = metrics_of((struct report_options){ .per_thread = true });

	add_and_clear(metrics, sample_of(&multiple, 3));
	IS("processes{process=\"postgres\",pid=\"100\"}", "1");
	IS("processes{process=\"postgres\"}", "0"); /* which has ended */
	IS("ended_processes_total{process=\"postgres\"}", "1");
	IS("threads{thread=\"postgres\",process=\"postgres\",pid=\"101\",tid=\"101\"}", "1");
	metrics_free(metrics);
}

/* The longest labels: all bytes of all texts become a replacement. */
TEST(hostile_processes)
{
	struct metrics *metrics = metrics_of((struct report_options){ .per_thread = true });
	struct sample sample = sample_of(&multiple, 2);

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

void tests_end(void)
{
	metrics_free(NULL);
}
