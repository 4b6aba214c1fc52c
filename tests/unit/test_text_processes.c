/* SPDX-License-Identifier: Apache-2.0 */
/* Reports on several processes against golden files: the first screen, their sums, whose threads
 * are whose; what one thread waited for, over several of them: the critical path; and lists of the
 * text report that end early: what they show and what they say of the others add up to all. */
#include "report.h"

#include "cli/base/escape.h"
#include "cli/base/syscall_set.h"
#include "cli/model/path_choice.h"
#include "cli/model/resource.h"
#include "cli/model/summary.h"
#include "cli/text/text.h"
#include "cli/text/text_parts.h"
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
	made_wait(&made, 10, 1090 * MS, KD_AWAITED_LOCK, KD_FROM_TASK, 11)->call =
		(uint32_t)syscall_number("futex");
	made_state(&made, 10, 1095 * MS, KD_READY_WOKEN)->cpu = 3;
	made_state(&made, 10, 1110 * MS, KD_KERNEL)->call = (uint32_t)syscall_number("write");
	made_state(&made, 11, 1020 * MS, KD_USER)->cpu = 1;
	made_wait(&made, 11, 1060 * MS, KD_AWAITED_PIPE, KD_FROM_TASK, 20)->call =
		(uint32_t)syscall_number("read");
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
			->call = (uint32_t)syscall_number("pread64");
		made_state(&made, 10, at + 2 * MS, i % 2 ? KD_KERNEL : KD_USER);
	}
	sample = path_sample(&made);
	is_golden(&sample, &summary, "path_many",
		  PARTS("", ".critical_path.legs", ".critical_path.others"));
	critical_path_clear(&sample.path);
	recording_clear(&made);
}

/* --- Lists that end early --- */

#define MANY 12 /* rows of each list: 1 to 12 ms, of which 9 ms are 1 % of 900 */
#define SUM (MANY * (MANY + 1) / 2)
#define THREADS 40
#define ROW "                            " /* how the rows of a section begin */
#define CELL 40                            /* columns of a thread on the first screen */

/* The first time in the columns of a line before the end: with its unit, or of a million ns and
 * more. */
static double time_in(const char *line, const char *end)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { " ns", 1 }, { " us", 1e3 }, { " ms", 1e6 }, { " s", 1e9 } };

	for (const char *at = line; at < end; at += strcspn(at, " "), at += strspn(at, " ")) {
		size_t length = strcspn(at, " \n");
		unsigned long long millions, thousands, ones;

		if (sscanf(at, "%llu,%llu,%llu", &millions, &thousands, &ones) == 3)
			return (double)(millions * 1000000 + thousands * 1000 + ones);
		for (size_t i = 0; i < COUNT(units); i++)
			if (*at >= '0' && *at <= '9' &&
			    strcspn(at + length + 1, " \n") + 1 == strlen(units[i].name) &&
			    !strncmp(at + length, units[i].name, strlen(units[i].name)))
				return strtod(at, NULL) * units[i].ns;
	}
	return 0;
}

/* The sum of the lines below a header until one that does not begin so, and how many rows they are,
 * those that are counted as others, too. */
struct listed {
	double sum;
	unsigned int rows, others;
};

static struct listed listed(const char *text, const char *header, const char *begin)
{
	const char *line = strstr(text, header), *end;
	struct listed listed = { 0 };

	ok(line != NULL, "there is %s", header);
	for (line = line ? line + line_length(line) : ""; *line; line = end) {
		const char *others = strstr(line, "and ");
		unsigned int n = 1;

		end = line + line_length(line);
		if (strncmp(line, begin, strlen(begin)) != 0)
			break;
		if (others && others < end)
			sscanf(others, "and %u others", &n);
		listed.others += n > 1 ? n : 0;
		listed.rows += n;
		listed.sum += time_in(line, end);
	}
	return listed;
}

static void adds_up(const char *text, const char *header, const char *begin, unsigned int rows,
		    double sum)
{
	const struct listed got = listed(text, header, begin);

	ok(got.others > 1, "%s: %u others", header, got.others);
	is_u64(got.rows, rows, "%s: all are shown or counted", header);
	ok(got.sum > sum * 0.99 && got.sum < sum * 1.01, "%s: %.0f in all, not %.0f", header, sum,
	   got.sum);
}

/* A thread with twelve of each. */
static struct call_row calls[MANY];
static struct lock_row locks[MANY];
static struct descriptor_row descriptors[MANY];
static struct stop_row stops[MANY];
static struct block_row blocks[MANY];
static struct irq_row irqs[MANY];
static struct culprit culprits[MANY];
static struct open_item open_items[MANY];

static void rows_fill(struct thread_row *row)
{
	for (uint32_t i = 0; i < MANY; i++) {
		const uint64_t ns = (MANY - i) * MILLI;

		calls[i] = (struct call_row){ .number = i, .count = 1, .total = ns, .max = ns };
		locks[i] = (struct lock_row){ .address = 64 + i, .waits = times(1, ns, ns) };
		descriptors[i] = (struct descriptor_row){ .is = { .fd = (int)i },
							  .waits = times(1, ns, ns) };
		stops[i] = (struct stop_row){ .tid = 7 + (int)i, .stops = times(1, ns, ns) };
		blocks[i] = (struct block_row){ .requests = times(1, ns, ns), .bytes = 512 };
		snprintf(blocks[i].device, sizeof(blocks[i].device), "sd%c", 'a' + (char)i);
		irqs[i] = (struct irq_row){ .count = 1, .total = ns, .max = ns };
		culprits[i] = (struct culprit){
			.kind = CULPRIT_TASK, .tid = 100 + (int)i, .woken_ns = ns, .longest_ns = ns
		};
		open_items[i] = (struct open_item){ .kind = OPEN_CALL,
						    .number = (int)i,
						    .at_end = true,
						    .count = 1,
						    .inside = ns };
	}
	row->calls = calls, row->locks = locks, row->descriptors = descriptors;
	row->stops = stops, row->blocks = blocks, row->hardirqs = row->softirqs = irqs;
	row->culprits = culprits, row->open = open_items;
	row->n_calls = row->n_locks = row->n_descriptors = row->n_stops = row->n_blocks = MANY;
	row->n_hardirqs = row->n_softirqs = row->n_culprits = row->n_open = MANY;
	for (unsigned int kind = 0; kind < MANY; kind++)
		row->ledger.awaited[kind] = times(1, (kind + 1) * MILLI, MILLI);
	row->ledger.life = 900 * MILLI;
	row->ledger.ns[LEDGER_USER] = row->ledger.life;
	for (size_t state = LEDGER_USER + 1; state < LEDGER_STATES; state++)
		spend(row, state, (20 - state) * MILLI);
}

TEST(sections)
{
	static const char *const sections[] = {
		"[SYSCALL STATISTICS]",     "[THREAD BLOCKED STATISTICS]",
		"[THREAD LOCK STATISTICS]", "[THREAD SLEEP STATISTICS]",
		"[STOPPED: BY WHOM]",       "[THREAD BLOCK I/O STATISTICS]",
		"[HARD IRQ STATISTICS]",    "[SOFT IRQ STATISTICS]",
	};
	static const struct report_options options = { .extent = REPORT_SHORT, .top = 1 };
	struct thread_row row = runner(4711, "many");
	struct sample sample = verdict_sample(&row, 1);
	struct listed states;
	char *text;

	rows_fill(&row);
	text = report_written(report_text, &sample, &options);
	for (size_t i = 0; i < COUNT(sections); i++)
		adds_up(text, sections[i], ROW, MANY, SUM * 1e6);
	adds_up(text, "[IN FLIGHT]", ROW, MANY, SUM * 1e6);
	is_u64((uint64_t)listed(text, "[READY: WHO HAD THE CPU]", ROW).sum, SUM * MILLI,
	       "who had the CPU");
	states = listed(text, "[THREAD TIME]", ROW);
	ok(states.others > 1, "states that are small are counted");
	is_u64((uint64_t)states.sum, 2 * row.ledger.life, "states, and their sum");
	adds_up(text, "STATE  ", "  ", LEDGER_STATES, 900e6);
	free(text);
}

/* Of threads two are on a line. */
static double screen_kept(const char *text, const char *header, size_t cell)
{
	const char *line = strstr(text, header);
	double sum = 0;

	for (line += line_length(line); strncmp(line, "NEXT", 4) != 0; line += line_length(line)) {
		sum += time_in(line, line + (cell ? cell : line_length(line)));
		if (cell && line_length(line) > cell)
			sum += time_in(line + cell, line + line_length(line));
	}
	return sum;
}

static struct thread_row threads[THREADS];
static struct process_row listed_processes[THREADS];

/* Each is kept from running a millisecond longer than the one before. Returns for how long. */
static double starve(void)
{
	for (size_t i = 0; i < THREADS; i++) {
		threads[i] = runner(100 + (pid_t)i, "worker");
		threads[i].ready = times(1, (i + 1) * MILLI, MILLI);
		spend(&threads[i], LEDGER_READY_WOKEN, (i + 1) * MILLI);
	}
	return THREADS * (THREADS + 1) / 2 * 1e6;
}

static bool is_about(double got, double truth)
{
	return got > truth * 0.99 && got < truth * 1.01;
}

TEST(screen)
{
	static const struct report_options screen = { .extent = REPORT_SUMMARY };
	struct sample sample = verdict_sample(threads, THREADS);
	const double kept = starve();
	char *text = report_written(report_text, &sample, &screen);

	ok(is_about(screen_kept(text, "    TID THREAD", CELL), kept), "threads");
	ok(strstr(text, "and 31 others"), "of which ten have room");
	free(text);
	for (size_t i = 0; i < THREADS; i++) {
		threads[i].pid = 100 + (pid_t)i;
		listed_processes[i] = (struct process_row){ .pid = threads[i].pid, .members = 1 };
	}
	sample.processes = listed_processes;
	sample.n_processes = THREADS;
	text = report_written(report_text, &sample, &screen);
	ok(is_about(screen_kept(text, "    PID     KEPT", 0), kept), "processes");
	ok(strstr(text, "\n    36x"), "of which five have room");
	free(text);
}

TEST(after_the_threads)
{
	static const struct report_options options = { .extent = REPORT_SHORT, .top = 3 };
	struct sample sample = verdict_sample(NULL, 0);
	struct interruption *interruptions = calloc(150, sizeof(*interruptions));
	struct usage_row usages[MANY] = { { 0 } };
	char *text;

	for (uint32_t i = 0; i < MANY; i++)
		usages[i] = (struct usage_row){ .pid = (pid_t)i + 1,
						.cpu_ns = (i + 1) * 10 * MILLI,
						.disk_bytes = i + 1,
						.forks = i + 1 };
	for (size_t i = 0; i < 150; i++)
		interruptions[i] = (struct interruption){ .ns = i + 1 };
	sample.has_resources = sample.has_interruptions = true;
	sample.usages = usages, sample.n_usages = MANY;
	sample.interruptions = interruptions, sample.n_interruptions = 150;
	text = report_written(report_text, &sample, &options);
	ok(strstr(text, "\n        9x    72.00 "), "the CPU time of the others: 40 to 120 ms");
	ok(strstr(text, "\n        9x  72 processes were begun"), "and what they began");
	ok(strstr(text, "  and 50 others, not longer: 1,275 ns\n"), "interruptions of 1 to 50 ns");
	free(text);
	free(interruptions);
}

TEST(summary)
{
	static const struct report_options options = { .extent = REPORT_SUMMARY, .top = 10 };
	struct summary *all = summary_new(0.1);
	const double kept = starve();
	struct made made;
	char *text;

	for (unsigned int i = 0; i < 2; i++) {
		struct sample sample = verdict_sample(threads, THREADS);

		need(!summary_add(all, judged(&sample)));
	}
	report_text_summary(all, &options, made_begin(&made));
	text = made_end(&made);
	ok(is_about(listed(text, "       TID THREAD", " ").sum, 2 * kept),
	   "threads, and their sum");
	ok(strstr(text, "and 30 others"), "of which ten are listed");
	free(text);
	summary_free(all);
}
