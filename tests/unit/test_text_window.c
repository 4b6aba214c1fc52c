/* SPDX-License-Identifier: Apache-2.0 */
/* What the time of a window was that the user chose, in words. */
#include <stdio.h>
#include <string.h>

#include "cli/text/text_advice.h"
#include "cli/text/text_parts.h"
#include "cli/text/text_window.h"
#include "verdict_said.h"

static void window_is(struct sample *sample, const char *want, const char *what)
{
	struct verdict verdict = { 0 };
	char text[512] = "";

	need(!verdict_find(&verdict, sample));
	if (!text_window(text, sizeof(text), sample))
		strcpy(text, "none");
	is_str(text, want, "%s", what);
	verdict_clear(&verdict);
}

static struct descriptor_row asleep(const char *wchan, const char *call, uint64_t ns)
{
	struct descriptor_row row = { .call = syscall_number(call),
				      .is = { .fd = -1 },
				      .waits = times(3, ns, ns / 2) };

	snprintf(row.wchan, sizeof(row.wchan), "%s", wchan);
	return row;
}

/* A second: 900 ms asleep at three wait channels, 60 ms ready, 40 ms running. */
struct staged {
	struct capture capture;
	struct descriptor_row sleeps[4];
	struct culprit culprit;
	struct thread_row row;
	struct sample sample;
};

static void stage(struct staged *staged)
{
	*staged = (struct staged){
		.capture = { .start_trigger = "up:libsqlite3.so.0:sqlite3_step if arg0 > 1",
			     .stop_trigger = "ur:libsqlite3.so.0:sqlite3_step" },
		.sleeps = { asleep("hrtimer_nanosleep", "clock_nanosleep", 600 * MILLI),
			    asleep("jbd2_log_wait_commit", "fsync", 200 * MILLI),
			    asleep("hrtimer_nanosleep", "clock_nanosleep", 90 * MILLI),
			    asleep("", "read", 10 * MILLI) },
		.culprit = by(CULPRIT_TASK, "hog", 812, 60 * MILLI),
		.row = runner(4711, "client"),
	};
	staged->row.descriptors = staged->sleeps, staged->row.n_descriptors = 4;
	spend(&staged->row, LEDGER_BLOCKED, 900 * MILLI);
	spend(&staged->row, LEDGER_READY_WOKEN, 60 * MILLI);
	staged->row.ledger.awaited[KD_AWAITED_WORK] = times(12, 900 * MILLI, 300 * MILLI);
	staged->row.ready = times(10, 60 * MILLI, 20 * MILLI);
	staged->row.culprits = &staged->culprit, staged->row.n_culprits = 1;
	staged->sample = verdict_sample(&staged->row, 1);
	staged->sample.capture = &staged->capture;
}

#define SLEPT                                                                                      \
	": 690 ms asleep in hrtimer_nanosleep (clock_nanosleep), 200 ms asleep in "                \
	"jbd2_log_wait_commit (fsync), 60.0 ms ready behind hog[812], 40.0 ms running, 10.0 ms "   \
	"else."

TEST(triggers)
{
	struct staged staged;

	stage(&staged);
	window_is(&staged.sample, "none", "a sample by time");
	staged.sample.start_triggered = staged.sample.stop_triggered = true;
	staged.sample.started_on = 4711;
	window_is(&staged.sample, "sqlite3_step took 1.00 s in client[4711]" SLEPT,
		  "a function, without object and condition");
	staged.capture.stop_trigger = "up:ns::done";
	window_is(&staged.sample, "sqlite3_step to ns::done took 1.00 s in client[4711]" SLEPT,
		  "from one function to another");
	staged.capture.start_trigger = staged.capture.stop_trigger = "--long-poll";
	window_is(&staged.sample, "A round of client[4711] took 1.00 s" SLEPT, "a round");
	staged.sample.capture = NULL;
	window_is(&staged.sample, "1.00 s of client[4711]" SLEPT, "by unknown triggers");
}

TEST(command)
{
	struct staged staged;
	struct thread_row rows[2];

	stage(&staged);
	staged.sample.pid = 4711;
	staged.capture = (struct capture){ .command = true };
	window_is(&staged.sample, "1.00 s of client[4711]" SLEPT, "it goes on");
	staged.sample.target_exited = true;
	window_is(&staged.sample, "client[4711] took 1.00 s" SLEPT, "it has ended");
	rows[0] = staged.row, rows[1] = runner(4712, "worker");
	staged.sample.threads = rows, staged.sample.n_threads = 2;
	window_is(&staged.sample, "client[4711] took 1.00 s" SLEPT,
		  "the main one of several threads");
}

/* Rows begin before the window; and what nothing says anything of. */
TEST(sleeps)
{
	struct staged staged;

	stage(&staged);
	staged.sample.start_triggered = staged.sample.stop_triggered = true;
	staged.sample.started_on = 4711;
	staged.capture.stop_trigger = staged.capture.start_trigger = "up:\033[2J";
	staged.row.n_culprits = 0;
	staged.sleeps[0].waits.total = 5 * SECOND;
	window_is(&staged.sample,
		  "\\x1b[2J took 1.00 s in client[4711]: 900 ms asleep in hrtimer_nanosleep "
		  "(clock_nanosleep), 60.0 ms ready, 40.0 ms running.",
		  "no more than it slept");
	staged.row.n_descriptors = 0;
	window_is(&staged.sample,
		  "\\x1b[2J took 1.00 s in client[4711]: 900 ms asleep, 60.0 ms ready, 40.0 ms "
		  "running.",
		  "without rows");
	staged.row.descriptors = &staged.sleeps[3], staged.row.n_descriptors = 1;
	staged.sleeps[3].waits.total = 500 * MILLI;
	window_is(&staged.sample,
		  "\\x1b[2J took 1.00 s in client[4711]: 500 ms asleep in read, 400 ms asleep "
		  "elsewhere, 60.0 ms ready, 40.0 ms running.",
		  "a call without wait channel, and the others");
}

/* However many lines say what the time was, those on who is to blame follow. */
TEST(blame)
{
	struct staged staged;
	struct verdict verdict = { 0 };
	char *said = NULL;
	size_t length;
	FILE *out = open_memstream(&said, &length);
	struct text text = { .sample = &staged.sample };

	stage(&staged);
	staged.sample.start_triggered = staged.sample.stop_triggered = true;
	staged.sample.started_on = 4711;
	staged.capture.start_trigger = "up:a_function_with_a_name_that_takes_most_of_a_line_of_it";
	staged.capture.stop_trigger = "ur:another_one_that_takes_most_of_the_next_line_of_it";
	staged.sleeps[0].awaited = KD_AWAITED_PIPE;
	staged.sleeps[0].waits.count = 9;
	snprintf(staged.sleeps[0].wchan, sizeof(staged.sleeps[0].wchan), "anon_pipe_write");
	staged.sleeps[0].is = (struct descriptor){ .fd = 8 };
	snprintf(staged.sleeps[0].is.path, sizeof(staged.sleeps[0].is.path),
		 "/var/run/a_directory_with_a_long_name/and_a_file_with_one");
	staged.sleeps[0].ended_by = staged.sleeps[0].ended_pid = 4712;
	snprintf(staged.sleeps[0].ended_name, sizeof(staged.sleeps[0].ended_name),
		 "worker15bytes__");
	staged.row.ledger.awaited[KD_AWAITED_PIPE] = staged.row.ledger.awaited[KD_AWAITED_WORK];
	staged.row.ledger.awaited[KD_AWAITED_WORK] = (struct kd_count){ 0 };
	need(out && !verdict_find(&verdict, &staged.sample));
	columns_begin(&text.columns, out);
	is_i64(text_verdict(&text), 7, "lines");
	need(!columns_end(&text.columns) && !fclose(out));
	ok(strstr(said, "\nVERDICT "), "a second sentence: %s", said);
	verdict_clear(&verdict);
	free(said);
}
