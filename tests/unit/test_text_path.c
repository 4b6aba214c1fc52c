// SPDX-License-Identifier: Apache-2.0
/* The table of the critical path: what its lines say, which lines there are. */
#include <stdlib.h>
#include <string.h>

#include "cli/text/text.h"
#include "golden.h"
#include "path_recording.h"
#include "tap.h"

#define MS 1000000ULL

static struct thread_row rows[] = {
	{ .tid = 10, .pid = 10, .name = "main", .members = 1 },
};

/* The path of the thread whose hit ended a window of 100 ms. */
static struct sample sample_of(struct recording *made)
{
	struct sample sample = {
		.pid = 10,
		.start = 1000 * MS,
		.end = 1100 * MS,
		.start_triggered = true,
		.stop_triggered = true,
		.started_on = 10,
		.stopped_on = 10,
		.wall_dump = { .tv_sec = 1795218874, .tv_nsec = 981958999 },
		.threads = rows,
		.n_threads = 1,
		.recording = made,
	};

	is_i64(critical_path_of_sample(&sample), 0, "there is a path");
	return sample;
}

static void is_golden(const struct sample *sample, enum report_extent extent, const char *name)
{
	FILE *out = tmpfile();

	is_i64(report_text(sample, &(struct report_options){ .extent = extent }, out), 0,
	       "%s is written", name);
	golden_compare(out, name);
}

/* The summary, and in full, which has the same table. */
static void test_few(void)
{
	struct recording made = { .from = 990 * MS, .lost = 12345 };
	struct sample sample;

	made_thread(&made, 10, 10, "main");
	made_thread(&made, 11, 10, "\033[2J\n\xff evil");
	made_thread(&made, 20, 20, "peer")->of_target = false;
	made_state(&made, 10, 1010 * MS, KD_USER);
	made_wait(&made, 10, 1090 * MS, KD_AWAITED_LOCK, KD_FROM_TASK, 11)->call = 202;
	made_state(&made, 10, 1095 * MS, KD_READY_WOKEN)->cpu = 3;
	made_state(&made, 10, 1110 * MS, KD_KERNEL)->call = 1;
	made_state(&made, 11, 1020 * MS, KD_USER)->cpu = 1;
	made_wait(&made, 11, 1060 * MS, KD_AWAITED_PIPE, KD_FROM_TASK, 20)->call = 0;
	made_state(&made, 11, 1110 * MS, KD_USER)->cpu = 1;
	made_run(&made, 3, 1080 * MS, 1094 * MS, 4000);
	made_culprit(&made, 4000, CULPRIT_TASK, 812, "\033]0;backup");
	made_irq(&made, 1, 1070 * MS, 1075 * MS, true, "eth0-\033[1m");
	sample = sample_of(&made);
	rows[0].ledger = (struct ledger){ .life = 100 * MS, .ns = { [LEDGER_USER] = 100 * MS } };
	is_golden(&sample, REPORT_SUMMARY, "path_few");
	is_golden(&sample, REPORT_FULL, "path_full");
	critical_path_clear(&sample.path);
	recording_clear(&made);
}

/* More than there are lines for: the longest ones, and the others. */
static void test_many(void)
{
	struct recording made = { .from = 1000 * MS };
	struct sample sample;

	made_thread(&made, 10, 10, "main");
	for (unsigned int i = 0; i < 50; i++) {
		uint64_t at = (1000 + 2 * i) * MS;

		made_wait(&made, 10, at + MS + i * 1000 + (i % 10 == 0) * MS / 2, KD_AWAITED_DISK,
			  KD_FROM_DISK, 0)
			->call = 17;
		made_state(&made, 10, at + 2 * MS, i % 2 ? KD_KERNEL : KD_USER);
	}
	sample = sample_of(&made);
	is_golden(&sample, REPORT_SUMMARY, "path_many");
	critical_path_clear(&sample.path);
	recording_clear(&made);
}

int main(void)
{
	test_few();
	test_many();
	return done_testing();
}
