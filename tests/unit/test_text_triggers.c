// SPDX-License-Identifier: Apache-2.0
/* The report's parts about triggers and upcalls, against golden files. */
#include "cli/text/text_triggers.h"

#include <errno.h>

#include "cli/text/text.h"
#include "golden.h"
#include "tap.h"

#define SECOND 1000000000ULL

static void is_golden(const struct trigger_stats *stats, const char *name)
{
	FILE *out = tmpfile();

	is_i64(report_text_triggers(stats, out), 0, "%s is written", name);
	golden_compare(out, name);
}

static void test_pairs(void)
{
	static struct trigger_stats stats;
	const struct nested_pair pairs[] = {
		{ 4711, "revalidator6", 7 * SECOND, 7 * SECOND + 1234567 },
		{ 4712, "evil\n\x1b[2J", 5 * SECOND, 6 * SECOND },
		{ 32768, "handler1", 6 * SECOND, 6 * SECOND + 999999 },
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
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		is_i64(trigger_stats_add_nested(&stats, &pairs[i]), 0, "a nested pair");
	trigger_stats_finish(&stats);
	is_golden(&stats, "triggers");
	trigger_stats_clear(&stats);
	ok(!stats.nested && !stats.n_nested && !stats.windows.n, "nothing is left");
}

static void test_one(void)
{
	static struct trigger_stats stats;

	stats.names[KD_STOP] = "k:ovs_dp_process_packet";
	stats.lasted = SECOND;
	stats.dropped = 1234;
	is_golden(&stats, "triggers_none");
}

static void test_skipped(void)
{
	const struct timespec when = { .tv_sec = 1795218873, .tv_nsec = 5000 };
	FILE *out = tmpfile(), *full = fopen("/dev/full", "w");

	is_i64(report_text_skipped(out, 167549, &when), 0, "a skipped window");
	is_i64(report_text_mark(out, "Start sampling", 3650618771773, &when), 0, "and a hit");
	golden_compare(out, "triggers_lines");
	is_i64(report_text_skipped(full, 1, &when), -ENOSPC, "no room for a line");
	fclose(full);
}

/* A sample between two triggers, with upcalls. */
static void test_sample(void)
{
	static const struct upcall_row rows[] = { { 0, 0, 44 }, { 0, 2, 1 },  { 1, 0, 45 },
						  { 1, 2, 1 },  { 7, 28, 9 }, { 7, 135, 1 } };
	struct thread_row row = { .tid = 9719, .members = 1, .name = "ovs-vswitchd" };
	struct sample sample = {
		.start = 100 * SECOND,
		.end = 100 * SECOND + 9337810,
		.start_triggered = true,
		.stop_triggered = true,
		.started_on = 9719,
		.stopped_on = 9719,
		.threads = &row,
		.n_threads = 1,
		.upcalls_known = true,
	};
	FILE *out = tmpfile();

	row.ledger.life = 9337810;
	is_i64(report_text(&sample, &(struct report_options){ 0 }, out), 0, "no upcalls");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		is_i64(sample_add_upcalls(&sample, &rows[i]), 0, "upcalls of a CPU");
	sample.stopped_on = 1;
	is_i64(report_text(&sample, &(struct report_options){ 0 }, out), 0, "some failed");
	sample.n_upcalls = 1;
	sample.start_triggered = false;
	is_i64(report_text(&sample, &(struct report_options){ 0 }, out), 0, "none failed");
	golden_compare(out, "triggered");
	free(sample.upcalls);
}

int main(void)
{
	setenv("TZ", "UTC", 1);
	test_pairs();
	test_one();
	test_skipped();
	test_sample();
	return done_testing();
}
