/* SPDX-License-Identifier: Apache-2.0 */
/* The text report and the JSON against golden files, byte by byte: everything that a report can
 * have, once; and the parts of it that other cases are about. UPDATE_GOLDEN=1 in the environment
 * rewrites them. */
#include "report.h"

#include <errno.h>
#include <time.h>

#include "cli/base/array.h"
#include "cli/base/parse.h"
#include "cli/model/resource.h"
#include "cli/model/rows.h"
#include "everything.h"

TEST(empty)
{
	struct sample sample = sample_begin();

	is_golden(&sample, &report_plain, "empty", PARTS("", ".threads", ".verdict"));
}

static void test_everything(void)
{
	struct thread_row rows[2];
	struct sample sample = everything(rows);

	is_golden(&sample, &report_plain, "everything", NULL);
	everything_clear(&sample);
}

/* Each list of a thread has its section. */
TEST(lists)
{
	struct thread_row rows[2];
	struct sample sample = everything(rows);
	char *text = report_checked(report_text, &sample, &report_plain, "everything");

	for (const struct field *field = thread_fields; field->key; field++)
		if (field->list && field->list->columns)
			ok(strstr(text, field->list->title) != NULL, "%s: %s", field->key,
			   field->list->title);
	free(text);
	everything_clear(&sample);
}

static void test_foreign_calls(void)
{
	struct call_row calls[4];
	struct thread_row row = upstreams_thread(calls);
	struct sample sample = sample_begin();

	row.n_hardirqs = row.n_softirqs = 0;
	calls[2].number = KD_CALL_COMPAT | 64;
	calls[3].number = UINT32_MAX;
	row.open = &(struct open_item){
		.number = 168, .count = 1, .inside = SECOND, .at_start = true, .at_end = true
	};
	row.n_open = 1;
	sample.foreign_calls = true;
	sample.threads = &row;
	sample.n_threads = 1;
	is_golden(&sample, &report_plain, "foreign_calls",
		  PARTS("[SYSCALL STATISTICS]", "[IN FLIGHT]", ".foreign_syscalls",
			".threads[].syscalls[].name", ".threads[].in_flight[].name"));
}

TEST(hostile_names)
{
	static const char *const names[] = { "a\nb\r\tc",
					     "\033[2J\033[31m",
					     "\"'`$(id)\\",
					     "\xff\xfe\xc3(",
					     "caf\xc3\xa9 \xe2\x82\xac",
					     "exactly15bytes_",
					     "\x7f\x01\x02\xc2\x9b"
					     "31m",
					     "",
					     "# WARNING: 1",
					     " [SYSCALL",
					     "a\xe2\x80\xae"
					     "b\xe2\x80\x8b"
					     "c",
					     "16bytes_unended_" };
	enum { NAMES = COUNT(names) };
	struct thread_row rows[NAMES];
	struct irq_row hardirqs[] = {
		{ .name = "\033]0;x\007", .count = 1, .total = 3, .max = 3 },
		{ .name = "a\nb", .unhandled = true, .count = 1, .total = 2, .max = 2 },
		{ .name = "\xff\xff\xff\xff\xff\xff\xff\xff",
		  .unhandled = true,
		  .count = 1,
		  .total = 1,
		  .max = 1 }
	};
	struct sample sample = sample_begin();

	for (size_t i = 0; i < NAMES; i++) {
		rows[i] = thread((pid_t)i + 1, names[i]);
		rows[i].ledger.ns[LEDGER_BLOCKED] = SECOND;
	}
	rows[1].hardirqs = hardirqs;
	rows[1].n_hardirqs = 3;
	sample.threads = rows;
	sample.n_threads = NAMES;
	is_golden(&sample, &report_plain, "hostile_names",
		  PARTS("[SYSCALL STATISTICS]", "[HARD IRQ STATISTICS]", ".threads[].name",
			".threads[].name_hex", ".threads[].hardirqs[]"));
}

static void test_folded_ended(void)
{
	struct thread_row rows[] = { thread(7, ""), thread(8, "worker"), thread(9, "worker") };
	struct call_row call = { number("futex"), 20000, 1234567890123, 4567, { 0 }, 0 };
	struct sample sample = sample_begin();

	for (size_t i = 0; i < 3; i++) {
		rows[i].ended = true;
		rows[i].ledger.ns[LEDGER_KERNEL] = SECOND / 4;
		rows[i].ledger.ns[LEDGER_READY_WOKEN] = 3 * SECOND / 4;
		rows[i].voluntary = 1;
		rows[i].cpus[0] = 3;
	}
	rows[0].members = 20000;
	rows[1].members = 1234567;
	rows[1].calls = &call;
	rows[1].n_calls = 1;
	sample.threads = rows;
	sample.n_threads = 3;
	is_golden(&sample, &report_plain, "folded_ended",
		  PARTS("[SYSCALL STATISTICS]", "(20,000 threads", "(ended during",
			".threads[].tid", ".threads[].members", ".threads[].ended"));
}

/* Calls of other modes than the machine's own. */
static void test_modes(void)
{
	struct call_row calls[] = { { number("poll"), 5, 700, 200, { 0 }, 0 },
				    { KD_CALL_COMPAT | 64, 20, 600, 90, { 0 }, 0 },
				    { KD_CALL_COMPAT | 168, 7, 500, 80, { 0 }, 0 },
				    { KD_CALL_COMPAT | 414, 7, 400, 80, { 0 }, 0 },
				    { KD_CALL_COMPAT | 450, 7, 300, 80, { 0 }, 0 },
				    { KD_CALL_COMPAT | 511, 7, 200, 80, { 0 }, 0 },
				    { KD_CALL_X32 | 520, 1, 100, 100, { 0 }, 0 },
				    { KD_CALL_COMPAT | KD_CALL_X32, 1, 100, 100, { 0 }, 0 } };
	struct thread_row row = thread(7, "modes");
	struct sample sample = sample_begin();

	row.calls = calls;
	row.n_calls = COUNT(calls);
	row.open = &(struct open_item){
		.number = KD_CALL_COMPAT | 162, .count = 1, .inside = 1, .at_end = true
	};
	row.n_open = 1;
	sample.threads = &row;
	sample.n_threads = 1;
	is_golden(&sample, &report_plain, "modes",
		  PARTS("[SYSCALL STATISTICS]", "[IN FLIGHT]", ".threads[].syscalls[].number",
			".threads[].syscalls[].mode", ".threads[].syscalls[].name",
			".threads[].in_flight[].mode"));
}

static void test_folded_silent(void)
{
	struct thread_row rows[] = { thread(7, "worker"), thread(8, "worker"), thread(9, ""),
				     thread(10, "spinner"), thread(11, "sleeper") };
	struct sample sample = sample_begin();
	struct open_item open[5][2];

	for (size_t i = 0; i < 5; i++) {
		rows[i].members = i < 3 ? 12 : 1;
		rows[i].ledger.life = rows[i].members * SECOND;
		rows[i].ledger.ns[i == 3 ? LEDGER_USER : LEDGER_BLOCKED] = rows[i].ledger.life;
		rows[i].cpus[0] = 1;
	}
	for (size_t i = 0; i < 5; i++) {
		open[i][0] = (struct open_item){ .number = syscall_number("poll"),
						 .count = rows[i].members - (i == 1),
						 .since = 40 * SECOND,
						 .inside = rows[i].ledger.life,
						 .at_start = true,
						 .at_end = true };
		open[i][1] = open[i][0];
		open[i][1].number = KD_CALL_UNKNOWN;
		open[i][1].count = 1;
		rows[i].open = open[i];
		rows[i].n_open = i == 1 ? 2 : !(i & 3);
	}
	sample.threads = rows;
	sample.n_threads = 5;
	is_golden(&sample, &report_plain, "folded_silent",
		  PARTS("no event", "[SYSCALL STATISTICS]", "[IN FLIGHT]",
			".threads[].in_flight[].count"));
}

/* A call, or a period, of one thread; which edges it crosses. */
static struct open_item item(enum open_kind kind, int32_t number, uint64_t inside,
			     const char *edges)
{
	return (struct open_item){ .kind = kind,
				   .number = number,
				   .count = 1,
				   .inside = inside,
				   .at_start = *edges == '<',
				   .at_end = strchr(edges, '>') };
}

static void test_in_flight(void)
{
	struct thread_row rows[] = { thread(7, "edges"), thread(8, "unknown"), thread(9, "both") };
	struct sample sample = sample_begin();
	struct open_item edges[] = { item(OPEN_CALL, syscall_number("futex"), 12345, "<"),
				     item(OPEN_CALL, syscall_number("read"), 4321, ">"),
				     item(OPEN_READY, KD_CALL_UNKNOWN, 80000000, "<"),
				     item(OPEN_RUN, KD_CALL_UNKNOWN, 77, ">"),
				     item(OPEN_ROUND, KD_CALL_UNKNOWN, SECOND, "<>") };
	struct open_item unknown[] = { item(OPEN_CALL, KD_CALL_UNKNOWN, 1, "<"),
				       item(OPEN_CALL, 9999, 1, ">") };
	struct open_item both = item(OPEN_CALL, syscall_number("poll"), SECOND, "<>");

	edges[0].until = 100 * SECOND + 12345, edges[0].longest = 123456;
	edges[1].since = 101 * SECOND - 4321, edges[1].longest = 4321;
	edges[2].since = SECOND * 999 / 10, edges[2].until = 100 * SECOND + 80000000;
	edges[2].length = edges[2].longest = 180000000;
	edges[3].since = 101 * SECOND - 77, edges[3].length = edges[3].longest = 77;
	edges[4].since = 98 * SECOND, edges[4].length = edges[4].longest = 3 * SECOND;
	both.count = 1234, both.since = 100 * SECOND - 1234567, both.until = 101 * SECOND + 5;
	rows[0].open = edges, rows[1].open = unknown, rows[2].open = &both;
	rows[0].n_open = 5;
	rows[1].n_open = 2;
	rows[2].n_open = 1;
	for (size_t i = 0; i < 3; i++) {
		rows[i].ledger.ns[LEDGER_KERNEL] = SECOND;
		rows[i].run.count = 1;
	}
	sample.threads = rows;
	sample.n_threads = 3;
	is_golden(&sample, &report_plain, "in_flight",
		  PARTS("[IN FLIGHT]", ".threads[].in_flight", ".threads[].open_periods"));
}

/* Residuals of either sign, no life, too large numbers, all kinds of CPUs. */
TEST(extremes)
{
	struct thread_row rows[] = { thread(1, "more"), thread(2, "less"), thread(3, "unborn"),
				     thread(2147483647, "large") };
	struct call_row call = { 3000000000, UINT64_MAX, UINT64_MAX, UINT64_MAX, { 0 }, 0 };
	struct sample sample = sample_begin();

	rows[0].ledger.ns[LEDGER_USER] = SECOND;
	rows[0].ledger.exec = SECOND - 12345678;
	rows[1].ledger.ns[LEDGER_USER] = SECOND;
	rows[1].ledger.exec = SECOND + 12345678;
	rows[0].ledger.has_exec = rows[1].ledger.has_exec = true;
	rows[0].cpus[0] = 0xaaf0000000000001;
	rows[0].cpus[1] = 1;
	rows[0].cpus[15] = 1ULL << 63;
	rows[1].cpus_beyond = true;
	rows[2].ledger.life = 0;
	rows[2].voluntary = 1;
	memset(rows[3].ledger.ns, 0xff, sizeof(rows[3].ledger.ns));
	rows[3].ledger.life = UINT64_MAX;
	rows[3].calls = &call;
	rows[3].n_calls = 1;
	rows[3].voluntary = rows[3].involuntary = rows[3].migrations = UINT64_MAX;
	memset(rows[3].cpus, 0xff, sizeof(rows[3].cpus));
	rows[3].cpus_beyond = true;
	for (size_t i = 0; i < 2; i++)
		rows[i].involuntary = 1;
	sample.threads = rows;
	sample.n_threads = 4;
	is_golden(&sample, &report_plain, "extremes",
		  PARTS("[SYSCALL STATISTICS]", "[THREAD TIME]", "[THREAD SWITCHES]",
			".threads[].syscalls[].total_ns", ".threads[].voluntary_switches",
			".threads[].cpus", ".threads[].cpus_beyond"));
}

#define BUCKETS(...) ((struct bucket[]){ __VA_ARGS__ })
#define TIMES(...)                                                                                 \
	{                                                                                          \
		BUCKETS(__VA_ARGS__), sizeof(BUCKETS(__VA_ARGS__)) / sizeof(struct bucket)         \
	}

/* Counted by hand in the golden file: the longest bar has 40 stars; for 1/40 of its count
 * there is one, for less none. */
static void test_distributions(void)
{
	struct call_row calls[] = { { number("poll"), 3101, 20000000000000, 108123,
				      TIMES({ 1023, 1 }, { 1087, 10 }, { 2047, 990 }, { 2175, 49 },
					    { 4351, 50 }, { 17407, 2000 }, { UINT64_MAX, 1 }),
				      0 },
				    { number("read"), 7, 700, 100, TIMES({ 103, 7 }), 0 },
				    { number("futex"), 1, 600, 600, { 0 }, 0 },
				    { number("landlock_restrict_self"), 2, 1, 1,
				      TIMES({ 0, 1 }, { 1, 1 }), 0 } };
	struct call_row large = { number("write"),
				  UINT64_MAX,
				  UINT64_MAX,
				  UINT64_MAX,
				  TIMES({ 0, UINT64_MAX }, { 1, UINT64_MAX / 2 }, { 1ULL << 62, 1 },
					{ UINT64_MAX, UINT64_MAX }),
				  0 };
	struct thread_row rows[] = { thread(7, "busy"), thread(8, "gone"), thread(9, "large"),
				     thread(10, "without") };
	struct sample sample = sample_begin();

	rows[0].calls = calls, rows[0].n_calls = 4;
	rows[0].run = (struct kd_span){ .count = 2, .total = 4096, .min = 2048, .max = 2048 };
	rows[0].run_times = (struct distribution)TIMES({ 2175, 2 });
	rows[0].ready = (struct kd_count){ .count = 100, .total = 200000, .max = 1000000 };
	rows[0].ready_times = (struct distribution)TIMES({ 1023, 50 }, { 1151, 40 }, { 4095, 9 },
							 { 1015807, 1 });
	rows[1].ended = true, rows[1].members = 3;
	rows[1].run = (struct kd_span){ .count = 3, .total = 150, .min = 30, .max = 70 };
	rows[1].run_times = (struct distribution)TIMES({ 30, 1 }, { 51, 1 }, { 71, 1 });
	rows[2].calls = &large, rows[2].n_calls = 1;
	rows[2].ready = (struct kd_count){ UINT64_MAX, UINT64_MAX, UINT64_MAX, 0 };
	rows[2].ready_times = (struct distribution)TIMES({ UINT64_MAX, UINT64_MAX });
	rows[3].ready = (struct kd_count){ .count = 1, .total = 5, .max = 5 };
	sample.threads = rows;
	sample.n_threads = 4;
	is_golden(&sample, &report_plain, "distributions",
		  PARTS("DISTRIBUTION", ".threads[].run.buckets", ".threads[].ready.buckets",
			".threads[].syscalls[].buckets"));
}

/* The quota of a group that is not known; and one of which only the group is. */
TEST(quota)
{
	struct culprit culprits[] = {
		{ .kind = CULPRIT_THROTTLED,
		  .preempted_ns = 30,
		  .quota_ns = 1500000,
		  .period_ns = 99999999 },
		{ .kind = CULPRIT_THROTTLED, .preempted_ns = 20, .group = "/a" },
		{ .kind = CULPRIT_DEADLINE, .preempted_ns = 10 },
	};
	struct thread_row row = thread(1, "kept");
	struct sample sample = sample_begin();
	char *text;

	row.culprits = culprits, row.n_culprits = COUNT(culprits);
	sample.threads = &row, sample.n_threads = 1;
	is_golden(&sample, &report_plain, "culprits_quota",
		  PARTS("[READY: WHO HAD THE CPU]", ".threads[].ready_by"));
	for (size_t i = 0; i < COUNT(culprits); i++)
		culprits[i].preempted_ns = 0;
	text = report_written(report_text, &sample, &report_plain);
	ok(!strstr(text, "[READY: WHO HAD THE CPU]"), "no section for culprits of 0 ns");
	free(text);
}

/* What is per second, in a window of two. */
TEST(rates)
{
	static const struct io_row io[KD_IO_KINDS] = {
		[KD_IO_NETWORK] = { { 10, 4000 }, { 20, 6000 } },
		[KD_IO_FILE] = { { 30, 8000 }, { 0, UINT64_MAX } },
	};
	struct usage_row usage = { .pid = 1, .cpu_ns = SECOND, .disk_bytes = 12288 };
	struct thread_row row = thread(1, "server");
	struct sample sample = sample_begin();
	char *text;

	memcpy(usage.io, io, sizeof(io));
	row.io = usage.io;
	sample.threads = &row, sample.n_threads = 1;
	sample.usages = &usage, sample.n_usages = 1;
	sample.has_resources = true;
	sample.end = sample.start + 2 * SECOND;
	text = report_written(report_text, &sample, &report_plain);
	ok(strstr(text, "network: read                 10             4,000             2,000"
			"           400\n"),
	   "a thread's bytes");
	ok(strstr(text, "         1    50.00           -           -           -           2,000"
			"           3,000           4,000  9,223,372,036,854,775,808"
			"           6,144        0\n"),
	   "a process's");
	free(text);
}

TEST(footer)
{
	static const struct absence absent[] = {
		{ "HARD IRQ STATISTICS", "is left out: this kernel lacks its tracepoints" },
		{ "SOFT IRQ STATISTICS", "is left out: the kernel refused to attach" }
	};
	struct sample sample = sample_begin();

	sample.absent = absent;
	sample.n_absent = 1;
	is_golden(&sample, &report_plain, "absent", PARTS("", ".absent"));

	sample.n_absent = 2;
	sample.interrupted = true;
	for (size_t i = 0; i < KD_LOSSES; i++)
		sample.losses[i] = 1234 + i;
	sample.skipped_runs = 1000000;
	sample.torn = 2;
	sample.resynced = 3;
	sample.page_faults_untimed = 750000000;
	sample.hidden = 4;
	sample.own = (struct own_cost){ .cpu_ns = 3254321, .wakeups = 27, .period_ns = 512000000 };
	is_golden(&sample, &report_plain, "losses", PARTS("", ".lost", ".losses", ".interrupted"));

	sample = sample_begin();
	sample.target_exited = true;
	sample.own = (struct own_cost){ .cpu_ns = 900, .wakeups = 1, .period_ns = 4000 };
	for (size_t i = 0; i < KD_LOSSES; i++)
		sample.losses[i] = 1;
	sample.skipped_runs = sample.torn = sample.resynced = sample.hidden = 1;
	is_golden(&sample, &report_plain, "losses_of_one", PARTS("", ".lost", ".target_exited"));
}

static void zone(const char *name)
{
	setenv("TZ", name, 1);
	tzset();
}

TEST(zone)
{
	struct sample sample = sample_begin();

	zone("CET-1");
	is_golden(&sample, &report_plain, "zone", PARTS("", ".time"));
	zone("UTC");
}

TEST(mark)
{
	const struct timespec when = { .tv_sec = 1795218873, .tv_nsec = 5000 };
	const struct timespec never = { .tv_sec = INT64_MAX };
	char text[256] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");

	zone("IST-5:30");
	is_i64(report_text_mark(out, "Start sampling", 0, &when), 0, "mark");
	is_str(text, "# Start sampling @2026-11-21T05:24:33.000005 (23:54:33 UTC)\n",
	       "local time with all microseconds, then UTC");
	zone("UTC");
	rewind(out);
	is_i64(report_text_mark(out, "Stop", 0, &never), 0, "a time beyond all calendars");
	ok(!strncmp(text, "# Stop @9223372036854775807 s\n", 30), "is printed in seconds");
	fclose(out);
}

TEST(trigger_pairs)
{
	static struct trigger_stats stats;
	const struct nested_pair pairs[] = {
		{ 4711, "revalidator6", 7 * SECOND, 7 * SECOND + 1234567 },
		{ 4712, "evil\n\x1b[2J", 5 * SECOND, 6 * SECOND },
		{ 32768, "handler1", 6 * SECOND, 6 * SECOND + 999999 }
	};

	stats.names[KD_START] = "u:udpif_revalidator:start_dump";
	stats.names[KD_STOP] = "u:udpif_revalidator:sweep_done with a name too long for its column";
	stats.target_only[KD_START] = stats.target_only[KD_STOP] = true;
	stats.cost[KD_START] = 1000;
	stats.cost[KD_STOP] = 2000;
	stats.lasted = 10 * SECOND;
	stats.payer = (struct probe_payer){ 4712, "evil\n\x1b[2J", 3000000, 4 * SECOND / 100 };
	stats.duty = (struct probe_duty){ 7654321000, 3, 1, 300000000, 2100000000 };
	stats.same_thread = true;
	stats.tally.hits[KD_START] = 1201;
	stats.tally.hits[KD_STOP] = 1200;
	for (int role = 0; role < KD_ROLES; role++) {
		stats.tally.outcome[role][KD_HIT_USED] = 3;
		stats.tally.outcome[role][KD_HIT_SKIPPED] = 1190;
		stats.tally.outcome[role][KD_HIT_MISSED] = 2;
		stats.tally.outcome[role][KD_HIT_OVERLAPPED] = 5;
	}
	stats.tally.nested = 5;
	stats.tally.outside = 1234;
	stats.tally.unmet[KD_STOP] = 12345;
	stats.tally.unread[KD_STOP] = 1;
	stats.tally.min = ~7ULL;
	stats.tally.max = SECOND;
	stats.tally.durations[7] = 600;
	stats.tally.durations[100] = 590;
	stats.tally.durations[500] = 10;
	is_i64(trigger_stats_distribute(&stats), 0, "how long windows were");
	for (size_t i = 0; i < COUNT(pairs); i++)
		ok(ARRAY_APPEND(stats.nested, stats.n_nested, &pairs[i]), "a nested pair");
	trigger_stats_finish(&stats);
	is_u64(stats.tally.outcome[KD_START][KD_HIT_UNMATCHED], 1, "a start without its stop");
	is_u64(stats.tally.outcome[KD_STOP][KD_HIT_UNMATCHED], 0, "no stop without its start");
	is_golden_triggers(&stats, "triggers", NULL);
	trigger_stats_clear(&stats);
	ok(!stats.nested && !stats.n_nested && !stats.windows.n, "nothing is left");
}

TEST(trigger)
{
	static struct trigger_stats stats;

	stats.names[KD_STOP] = "k:ovs_dp_process_packet";
	stats.lasted = SECOND;
	stats.dropped = 1234;
	is_golden_triggers(&stats, "triggers_none", PARTS("", ".stop", ".windows"));
}

TEST(skipped)
{
	const struct timespec when = { .tv_sec = 1795218873, .tv_nsec = 5000 };
	FILE *out = tmpfile(), *full = fopen("/dev/full", "w");

	is_i64(report_text_skipped(out, 167549, &when), 0, "a skipped window");
	is_i64(report_text_mark(out, "Start sampling", 3650618771773, &when), 0, "and a hit");
	golden_compare(out, "triggers_lines");
	is_i64(report_text_skipped(full, 1, &when), -ENOSPC, "no room for a line");
	fclose(full);
}

#define TRIGGERED                                                                                  \
	PARTS("sample dump", "# UPCALL", "# NOTE", ".window.start_tid", ".window.stop_tid",        \
	      ".upcalls")

/* A sample between two triggers: without upcalls, with some that failed, with none that did. */
TEST(triggered)
{
	static const struct upcall_row rows[] = { { 0, 0, 44 }, { 0, 2, 1 },  { 1, 0, 45 },
						  { 1, 2, 1 },  { 7, 28, 9 }, { 7, 135, 1 } };
	struct thread_row row = { .tid = 9719, .members = 1, .name = "ovs-vswitchd" };
	struct sample sample = { .start = 100 * SECOND,
				 .end = 100 * SECOND + 9337810,
				 .start_triggered = true,
				 .stop_triggered = true,
				 .started_on = 9719,
				 .stopped_on = 9719,
				 .threads = &row,
				 .n_threads = 1,
				 .has_upcalls = true };

	row.ledger.life = 9337810;
	is_golden(&sample, &report_plain, "triggered_both", TRIGGERED);
	for (size_t i = 0; i < COUNT(rows); i++)
		ok(ARRAY_APPEND(sample.upcalls, sample.n_upcalls, &rows[i]), "upcalls of a CPU");
	sample.stopped_on = 1;
	is_golden(&sample, &report_plain, "triggered_failed", TRIGGERED);
	sample.n_upcalls = 1;
	sample.start_triggered = false;
	is_golden(&sample, &report_plain, "triggered_stop", TRIGGERED);
	free(sample.upcalls);
}

TEST(full_disk)
{
	const struct timespec when = { .tv_sec = 1 };
	struct thread_row *rows = calloc(2000, sizeof(*rows));
	struct sample sample = sample_begin();
	FILE *full = fopen("/dev/full", "w");

	for (pid_t i = 0; i < 2000; i++)
		rows[i] = thread(i, "thread");
	is_i64(report_text_mark(full, "Start sampling", 0, &when), -ENOSPC, "no room for a mark");
	ok(report_text_mark(full, "Start sampling", 0, &when) < 0, "nor afterwards");
	fclose(full);
	full = fopen("/dev/full", "w");
	is_i64(report_text(judged(&sample), &report_plain, full), -ENOSPC,
	       "no room for a small report");
	fclose(full);
	full = fopen("/dev/full", "w");
	sample.threads = rows;
	sample.n_threads = 2000;
	is_i64(report_text(judged(&sample), &report_plain, full), -ENOSPC,
	       "no room for a large report");
	ok(report_text(judged(&sample), &report_plain, full) < 0, "nor for the next");
	fclose(full);
	free(rows);
}

TEST(numbers)
{
	static const struct {
		uint64_t number;
		const char *plain, *grouped;
	} numbers[] = { { 0, "0", "0" },
			{ 999, "999", "999" },
			{ 1000, "1000", "1,000" },
			{ 123456, "123456", "123,456" },
			{ 1234567, "1234567", "1,234,567" },
			{ UINT64_MAX, "18446744073709551615", "18,446,744,073,709,551,615" } };
	static const struct {
		uint64_t part, whole;
		const char *percent;
	} percents[] = { { 0, 0, "0.00" },
			 { 1, 0, "0.00" },
			 { 1, 3, "33.33" },
			 { 2, 3, "66.67" },
			 { 1, 20000, "0.01" },
			 { 1, 20001, "0.00" },
			 { 3, 2, "150.00" },
			 { UINT64_MAX, UINT64_MAX, "100.00" },
			 { 99995, 100000, "100.00" },
			 { UINT64_MAX, 1, "184467440737095516.15" } };
	char text[NUMBER_LEN];

	for (size_t i = 0; i < COUNT(numbers); i++) {
		size_t length = number_plain(text, numbers[i].number);

		is_str(text, numbers[i].plain, "plain %s", numbers[i].plain);
		is_u64(length, strlen(text), "and its length");
		length = number_grouped(text, numbers[i].number);
		is_str(text, numbers[i].grouped, "grouped %s", numbers[i].grouped);
		is_u64(length, strlen(text), "and its length");
	}
	for (size_t i = 0; i < COUNT(percents); i++) {
		is_str(AS_PERCENT(percents[i].part, percents[i].whole), percents[i].percent,
		       "%s %%", percents[i].percent);
	}
}

/* The golden files with system calls have one architecture's numbers. */
TEST(calls)
{
#ifdef __x86_64__
	test_everything();
	test_foreign_calls();
	test_modes();
	test_folded_ended();
	test_folded_silent();
	test_in_flight();
	test_distributions();
#else
	skip("they have x86-64's numbers", "reports with system calls");
	(void)test_everything, (void)test_foreign_calls, (void)test_modes, (void)test_folded_ended;
	(void)test_folded_silent, (void)test_in_flight, (void)test_distributions;
#endif
}
