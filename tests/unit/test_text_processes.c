// SPDX-License-Identifier: Apache-2.0
/* Reports on several processes against golden files: the first screen, their sums, whose threads
 * are whose. UPDATE_GOLDEN=1 in the environment writes them anew. */
#include <stdio.h>
#include <string.h>

#include "cli/base/escape.h"
#include "cli/text/text.h"
#include "cli/text/text_screen.h"
#include "golden.h"
#include "tap.h"
#include "verdict_sample.h"

static const struct report_options summary = { .extent = REPORT_SUMMARY, .top = 10 };

static void is_golden(const struct sample *sample, const struct report_options *options,
		      const char *name)
{
	FILE *out = tmpfile();

	is_i64(report_text(sample, options, out), 0, "%s is written", name);
	golden_compare(out, name);
}

#define BACKENDS 16

static struct thread_row backends[BACKENDS];
static struct process_row processes[BACKENDS];

/* A database: its first process, and one for each connection. */
static struct sample database(size_t n)
{
	struct sample sample = verdict_sample(backends, n);

	for (size_t i = 0; i < n; i++) {
		uint64_t ready = i ? (n - i) * 20 * MILLI : 0;

		processes[i] = (struct process_row){ .pid = (pid_t)(4711 + i),
						     .name = "postgres",
						     .members = 1 };
		snprintf(processes[i].title, sizeof(processes[i].title),
			 i ? "postgres: alice db%zu 127.0.0.1(4%03zu) SELECT"
			   : "/usr/lib/postgresql/15/bin/postgres -D /var/lib/postgresql/15/main",
			 i, i);
		backends[i] = runner((pid_t)(4711 + i), "postgres");
		backends[i].pid = (pid_t)(4711 + i);
		spend(&backends[i], LEDGER_READY_WOKEN, ready);
		backends[i].ready = times(40, ready, ready / 10);
	}
	sample.processes = processes;
	sample.n_processes = n;
	return sample;
}

static void test_database(void)
{
	struct report_options options = { .extent = REPORT_SHORT, .top = 4 };
	struct sample sample = database(6);

	processes[3].began = true;
	processes[4].began = processes[4].ended = true;
	backends[4].ended = true;
	strcpy(processes[5].container, "db");
	strcpy(processes[5].image, "postgres:16");
	strcpy(processes[5].pod, "shop-0");
	is_golden(&sample, &summary, "processes_screen");
	is_golden(&sample, &options, "processes_short");
	options.top = 5; /* a line for one would be as long as its own */
	is_golden(&sample, &options, "processes_short_all");
	options.extent = REPORT_FULL;
	is_golden(&sample, &options, "processes_full");
}

/* Ended ones in one row, a process without threads, threads of no process, no names. */
static void test_odd(void)
{
	struct report_options options = { .extent = REPORT_SHORT, .top = 10, .bold = true };
	struct sample sample = database(5);

	processes[1] = (struct process_row){
		.pid = 4712, .name = "sh", .began = true, .ended = true, .members = 5000
	};
	backends[1].members = 5001;
	memset(backends[1].name, 0, sizeof(backends[1].name));
	memset(&processes[2].name, 0, sizeof(processes[2].name));
	memset(&processes[2].title, 0, sizeof(processes[2].title));
	backends[3].pid = 0;
	backends[4].pid = 4713;
	is_golden(&sample, &options, "processes_odd");
}

static void test_hostile(void)
{
	struct report_options options = { .extent = REPORT_SHORT, .top = 10 };
	struct sample sample = database(4);
	FILE *out = tmpfile();
	char line[4096];

	memset(processes[1].title, '\033', sizeof(processes[1].title) - 1);
	memset(processes[2].title, 'W', sizeof(processes[2].title));
	memcpy(processes[2].name, "sixteen letters!", KD_COMM_LEN);
	memcpy(processes[3].title, "\n# NOTE: all is well\n\xff\xfe\xe2\x80\xae", 27);
	memset(processes[3].container, '\007', sizeof(processes[3].container));
	memset(processes[3].image, 'i', sizeof(processes[3].image));
	memset(processes[3].pod, '\n', sizeof(processes[3].pod));
	is_golden(&sample, &options, "processes_hostile");
	is_i64(report_text(&sample, &summary, out), 0, "the screen is written");
	rewind(out);
	for (size_t lines = 0; fgets(line, sizeof(line), out); lines++)
		ok(!lines || escape_width(line) - 1 <= SCREEN_WIDTH, "line %zu fits", lines);
	fclose(out);
}

/* Those of one container, or of one pod, go by its name. */
static void test_container(void)
{
	struct sample sample = database(2);

	strcpy(processes[0].name, "tini");
	for (size_t i = 0; i < 2; i++) {
		strcpy(processes[i].container, i ? "db" : "proxy");
		strcpy(processes[i].pod, "shop-0");
	}
	is_golden(&sample, &summary, "processes_pod");
	memset(processes[0].container, 'W', PROCESS_LABEL);
	memset(processes[1].container, 'W', PROCESS_LABEL);
	is_golden(&sample, &summary, "processes_container");
}

/* The first screen has room for all. */
static void test_many(void)
{
	struct sample sample = database(BACKENDS);
	FILE *out = tmpfile();
	unsigned int lines = 0;
	char line[1024];

	for (size_t i = 0; i < BACKENDS; i++) {
		for (size_t state = 1; state < LEDGER_STATES; state++)
			spend(&backends[i], (enum ledger_state)state, (state + i) * MILLI);
		backends[i].stopped = times(1, MILLI, MILLI);
	}
	is_i64(report_text(&sample, &summary, out), 0, "the screen is written");
	rewind(out);
	while (fgets(line, sizeof(line), out))
		lines++;
	ok(lines <= SCREEN_LINES + 1, "it has %u lines", lines);
	fclose(out);
}

/* What is said of them is true of several: their own threads are those of any of them, and what
 * was stopped, frozen, or taken by the hypervisor is in the sums. */
static void test_words(void)
{
	static struct culprit own = { .tid = 4711, .pid = 4711, .name = "postgres", .own = true };
	struct report_options options = { .extent = REPORT_SHORT, .top = 1 };
	struct sample sample = database(4);

	own.woken_ns = 60 * MILLI;
	own.longest_ns = 6 * MILLI;
	backends[1].culprits = &own, backends[1].n_culprits = 1;
	spend(&backends[1], LEDGER_STOPPED, 30 * MILLI);
	backends[1].stopped = times(3, 30 * MILLI, 15 * MILLI);
	spend(&backends[2], LEDGER_FROZEN, 20 * MILLI);
	spend(&backends[2], LEDGER_STOLEN, 5 * MILLI);
	spend(&backends[3], LEDGER_STOLEN, 15 * MILLI);
	is_golden(&sample, &options, "processes_words");
	sample = database(2);
	spend(&backends[1], LEDGER_READY_WOKEN, -20 * MILLI);
	is_golden(&sample, &summary, "processes_busy");
	for (size_t i = 0; i < 2; i++)
		spend(&backends[i], LEDGER_BLOCKED, 300 * MILLI);
	is_golden(&sample, &summary, "processes_unexplained");
}

int main(void)
{
	test_words();
	test_database();
	test_odd();
	test_hostile();
	test_container();
	test_many();
	return done_testing();
}
