// SPDX-License-Identifier: Apache-2.0
/* Reports on several processes against golden files: the first screen, their sums, whose threads
 * are whose; and what one thread waited for, over several of them: the critical path. */
#include "report.h"

#include "cli/base/escape.h"
#include "cli/text/text_screen.h"
#include "path_recording.h"
#include "verdict_sample.h"

static const struct report_options summary = { .extent = REPORT_SUMMARY, .top = 10 };

/* --- Of a database --- */

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

TEST(database)
{
	struct report_options options = { .extent = REPORT_SHORT, .top = 4 };
	struct sample sample = database(6);

	processes[3].began = true;
	processes[4].began = processes[4].ended = true;
	backends[4].ended = true;
	strcpy(processes[5].container, "db");
	strcpy(processes[5].image, "postgres:16");
	strcpy(processes[5].pod, "shop-0");
	is_golden(&sample, &summary, "processes_screen", PARTS(""));
	is_golden(&sample, &options, "processes_short",
		  PARTS("TID        THREAD", "OTHER", "# PROCESSES"));
	options.top = 5; /* a line for one would be as long as its own */
	is_golden(&sample, &options, "processes_short_all",
		  PARTS("PROCESS", ".processes[].pid", ".processes[].members"));
	options.extent = REPORT_FULL;
	is_golden(&sample, &options, "processes_full", PARTS("PROCESS", ".processes"));
}

/* Ended ones in one row, a process without threads, threads of no process, no names. */
TEST(odd)
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
	is_golden(&sample, &options, "processes_odd",
		  PARTS("sample dump", "PROCESS", ".processes[].pid", ".processes[].name",
			".processes[].members"));
}

TEST(hostile)
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
	is_golden(&sample, &options, "processes_hostile",
		  PARTS("PROCESS", ".processes[].name", ".processes[].title",
			".processes[].container", ".processes[].image", ".processes[].pod"));
	is_i64(report_text(judged(&sample), &summary, out), 0, "the screen is written");
	rewind(out);
	for (size_t lines = 0; fgets(line, sizeof(line), out); lines++)
		ok(!lines || escape_width(line) - 1 <= SCREEN_WIDTH, "line %zu fits", lines);
	fclose(out);
}

/* Those of one container, or of one pod, go by its name. */
TEST(container)
{
	struct sample sample = database(2);

	strcpy(processes[0].name, "tini");
	for (size_t i = 0; i < 2; i++) {
		strcpy(processes[i].container, i ? "db" : "proxy");
		strcpy(processes[i].pod, "shop-0");
	}
	is_golden(&sample, &summary, "processes_pod", PARTS("", ".processes[].pod"));
	memset(processes[0].container, 'W', PROCESS_LABEL);
	memset(processes[1].container, 'W', PROCESS_LABEL);
	is_golden(&sample, &summary, "processes_container", PARTS(""));
}

/* The first screen has room for all. */
TEST(many)
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
	is_i64(report_text(judged(&sample), &summary, out), 0, "the screen is written");
	rewind(out);
	while (fgets(line, sizeof(line), out))
		lines++;
	ok(lines <= SCREEN_LINES + 1, "it has %u lines", lines);
	fclose(out);
}

/* What is said of them is true of several: their own threads are those of any of them, and what
 * was stopped, frozen, or taken by the hypervisor is in the sums. */
TEST(words)
{
	static struct culprit own = { .tid = 4711, .pid = 4711, .name = "postgres", .own = true };
	struct report_options options = { .extent = REPORT_SHORT, .top = 1 };
	struct sample sample = database(4);

	own.woken_ns = 60 * MILLI;
	own.longest_ns = 6 * MILLI;
	backends[1].culprits = &own, backends[1].n_culprits = 1;
	thread_times_sum(&backends[1]);
	spend(&backends[1], LEDGER_STOPPED, 30 * MILLI);
	backends[1].stopped = times(3, 30 * MILLI, 15 * MILLI);
	spend(&backends[2], LEDGER_FROZEN, 20 * MILLI);
	spend(&backends[2], LEDGER_STOLEN, 5 * MILLI);
	spend(&backends[3], LEDGER_STOLEN, 15 * MILLI);
	is_golden(&sample, &options, "processes_words", PARTS(""));
	sample = database(2);
	spend(&backends[1], LEDGER_READY_WOKEN, -20 * MILLI);
	is_golden(&sample, &summary, "processes_busy", PARTS(""));
	for (size_t i = 0; i < 2; i++)
		spend(&backends[i], LEDGER_BLOCKED, 300 * MILLI);
	is_golden(&sample, &summary, "processes_unexplained", PARTS("", ".unexplained_ns"));
}

/* --- The table of the critical path: what its lines say, which lines there are --- */

#define MS 1000000ULL

static struct thread_row path_threads[] = {
	{ .tid = 10, .pid = 10, .name = "main", .members = 1 },
};

/* The path of the thread whose hit ended a window of 100 ms. */
static struct sample path_sample(struct recording *made)
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
		.threads = path_threads,
		.n_threads = 1,
		.recording = made,
	};

	is_i64(critical_path_of_sample(&sample), 0, "there is a path");
	return sample;
}

/* The summary, and in full, which has the same table. */
TEST(path)
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
	sample = path_sample(&made);
	path_threads[0].ledger = (struct ledger){ .life = 100 * MS,
						  .ns = { [LEDGER_USER] = 100 * MS } };
	is_golden(&sample, &summary, "path_few", PARTS("", ".critical_path"));
	is_golden(&sample, &report_plain, "path_full", PARTS("CRITICAL PATH", "# NOTE"));
	critical_path_clear(&sample.path);
	recording_clear(&made);
}

/* More than there are lines for: the longest ones, and the others. */
TEST(long_path)
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
	sample = path_sample(&made);
	is_golden(&sample, &summary, "path_many",
		  PARTS("", ".critical_path.legs", ".critical_path.others"));
	critical_path_clear(&sample.path);
	recording_clear(&made);
}
