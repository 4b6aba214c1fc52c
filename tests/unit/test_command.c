/* SPDX-License-Identifier: Apache-2.0 */
/* A command: what its main thread waited for is what its time was. */
#include <stdlib.h>

#include "cli/text/text_window.h"
#include "verdict_said.h"

#define THREADS 4 /* main, two workers, and one that ended nothing */

struct staged {
	struct capture capture;
	struct thread_row rows[THREADS];
	struct sample sample;
};

static void sleep_add(struct thread_row *row, const char *wchan, uint64_t ns, pid_t ended_by)
{
	struct descriptor_row *sleep;

	row->descriptors = reallocarray(row->descriptors, row->n_descriptors + 1, sizeof(*sleep));
	need(row->descriptors);
	sleep = &row->descriptors[row->n_descriptors++];
	*sleep = (struct descriptor_row){ .awaited = KD_AWAITED_LOCK,
					  .call = syscall_number("futex"),
					  .is.fd = -1,
					  .waits = times(1, ns, ns),
					  .ended_by = ended_by };
	snprintf(sleep->wchan, sizeof(sleep->wchan), "%s", wchan);
	count_join(&row->ledger.awaited[KD_AWAITED_LOCK], &sleep->waits);
	spend(row, LEDGER_BLOCKED, ns);
}

/* The main thread waits for the end of two others, one of which takes most of the time: 600 of its
 * 800 ms it sleeps. */
static void stage(struct staged *staged)
{
	*staged = (struct staged){ .capture.command = true };
	staged->rows[0] = runner(4711, "main");
	staged->rows[1] = runner(4712, "worker");
	staged->rows[2] = runner(4713, "worker");
	staged->rows[3] = runner(4714, "worker");
	for (size_t i = 0; i < THREADS; i++)
		staged->rows[i].ended = true;
	sleep_add(&staged->rows[0], "futex_do_wait", 800 * MILLI, 4712);
	staged->rows[0].descriptors->waits.total += 10 * MILLI;
	staged->rows[1].ledger.life = staged->rows[1].ledger.ns[LEDGER_USER] = 800 * MILLI;
	sleep_add(&staged->rows[1], "hrtimer_nanosleep", 600 * MILLI, 0);
	staged->sample = verdict_sample(NULL, THREADS);
	staged->sample.capture = &staged->capture;
	staged->sample.threads = calloc(THREADS, sizeof(*staged->rows));
	need(staged->sample.threads);
}

/* What rows there are then, and where the main thread's sleeps led. */
static void finish(struct staged *staged, const char *want, const char *what)
{
	struct sample *sample = &staged->sample;
	char text[SAY_LEN] = "";

	memcpy(sample->threads, staged->rows, sizeof(staged->rows));
	need(!sample_finish(sample));
	for (size_t i = 0; i < sample->n_threads; i++) {
		const struct thread_row *row = &sample->threads[i];

		say(text, "%s%d x%u", i ? ", " : "", row->tid, row->members);
		for (size_t j = 0; j < row->n_chains; j++)
			say(text, " %s %d state %u %s %g", row->chains[j].wchan, row->chains[j].tid,
			    row->chains[j].state, row->chains[j].in_wchan,
			    ms(row->chains[j].legs.total));
	}
	is_str(text, want, "%s", what);
}

static void end(struct staged *staged)
{
	staged->sample.processes = NULL;
	sample_clear(&staged->sample);
}

TEST(lives)
{
	struct staged staged;

	stage(&staged);
	finish(&staged,
	       "4711 x1 futex_do_wait 4712 state 3 hrtimer_nanosleep 600 futex_do_wait 4712 state "
	       "1  200, 4712 x1, 4713 x2",
	       "who ended its sleep has a row, and did this meanwhile");
	is_verdict(&staged.sample, "wait 800/600 x2 worker[4712], kept 800 of 1000",
		   "and is the culprit");
	end(&staged);
	stage(&staged);
	staged.rows[1].ledger.life += 210 * MILLI;
	staged.rows[1].ledger.ns[LEDGER_USER] += 210 * MILLI;
	finish(&staged, "4711 x1, 4712 x1, 4713 x2", "not one that lived for longer");
	end(&staged);
	stage(&staged);
	staged.rows[0].descriptors->waits.total += 1600 * MILLI;
	finish(&staged, "4711 x1, 4712 x3", "nor if others ended more of the sleeps");
	end(&staged);
	stage(&staged);
	staged.capture.command = false;
	finish(&staged, "4711 x1, 4712 x3", "nor if the target is no command");
	end(&staged);
	stage(&staged);
	staged.sample.start_triggered = staged.sample.stop_triggered = true;
	finish(&staged, "4711 x1, 4712 x3", "nor if triggers made the window");
	end(&staged);
}

static void window_is(struct sample *sample, bool want, const char *what)
{
	struct verdict verdict = { 0 };
	char text[512];

	need(!verdict_find(&verdict, sample));
	ok(text_window(text, sizeof(text), sample) == want, "%s", what);
	verdict_clear(&verdict);
}

TEST(subject)
{
	struct thread_row rows[2] = { runner(4711, "main"), runner(4712, "worker") };
	struct capture capture = { .command = true };
	struct sample sample = verdict_sample(rows, 2);

	sample.capture = &capture;
	window_is(&sample, true, "a command goes on: its main thread");
	spend(&rows[0], LEDGER_BLOCKED, 600 * MILLI);
	rows[0].ledger.awaited[KD_AWAITED_LOCK] = times(1, 600 * MILLI, 600 * MILLI);
	window_is(&sample, false, "it waits for the others: all of them");
	rows[0].ended = true;
	window_is(&sample, true, "it has ended");
	rows[0].members = 2;
	window_is(&sample, false, "it shares its row");
	rows[0].members = 1;
	sample.pid = 1;
	window_is(&sample, false, "there is no main thread");
}
