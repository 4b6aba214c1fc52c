/* SPDX-License-Identifier: Apache-2.0 */
/* The first screen, and what a report has below it, against golden files; and that it fits on
 * a screen, whatever there is in it. UPDATE_GOLDEN=1 in the environment rewrites them. */
#include "report.h"

#include "cli/base/escape.h"
#include "cli/text/text_parts.h"
#include "verdict_sample.h"
#include "cli/text/text_advice.h"

/* The title is one of the lines. */
#define LINES_MOST (SCREEN_LINES + 1)

static const struct report_options summary = { .extent = REPORT_SUMMARY, .top = 10 };

static void fits(FILE *out, const char *name)
{
	unsigned int lines = 0; /* the title is one */
	size_t widest = 0;
	char line[1024];

	rewind(out);
	while (fgets(line, sizeof(line), out)) {
		size_t width = escape_width(line) - (strchr(line, '\n') ? 1 : 0);

		if (!lines++)
			continue; /* the title, which users of scripts know */
		widest = width > widest ? width : widest;
	}
	ok(lines <= LINES_MOST, "%s: %u lines", name, lines);
	ok(widest <= SCREEN_WIDTH, "%s: %zu columns", name, widest);
}

static void is_screen(const struct sample *sample, const char *name)
{
	FILE *out = tmpfile();

	is_i64(report_text(judged(sample), &summary, out), 0, "%s is written", name);
	fits(out, name);
	fclose(out);
	is_golden(sample, &summary, name, PARTS(""));
}

TEST(empty)
{
	struct sample sample = verdict_sample(NULL, 0);

	sample.capture = NULL;
	is_screen(&sample, "screen_empty");
}

TEST(healthy)
{
	struct call_row call = {
		(uint32_t)syscall_number("epoll_pwait"), 10, 600 * MILLI, 1, { 0 }, 0
	};
	struct call_row little_call = call;
	struct lock_row condition = { .waits = times(50, 590 * MILLI, 20 * MILLI),
				      .released_by = 4712,
				      .released_name = "worker" };
	struct thread_row row = runner(4711, "main"), little;
	struct sample sample = verdict_sample(&row, 1);

	is_screen(&sample, "screen_busy");
	sample.traces.profile_hz = 100; /* no option is advised that was given */
	is_screen(&sample, "screen_profiled");
	sample.traces.profile_hz = 0;
	row.calls = &call, row.n_calls = 1;
	spend(&row, LEDGER_BLOCKED, 600 * MILLI);
	is_screen(&sample, "screen_idle");
	/* Nobody is blamed for 900 us of a second, but they are 45 % of what is not waiting. */
	little = row;
	spend(&little, LEDGER_READY_WOKEN, 900000);
	little.ledger.ns[LEDGER_USER] = 1100000;
	little.ledger.ns[LEDGER_BLOCKED] = little_call.total = 998 * MILLI;
	little.calls = &little_call;
	sample.threads = &little;
	is_screen(&sample, "screen_little");
	sample.threads = &row;
	row.n_calls = 0;
	is_screen(&sample, "screen_unexplained");
	row.ledger.awaited[KD_AWAITED_LOCK] = times(50, 600 * MILLI, 20 * MILLI);
	row.locks = &condition, row.n_locks = 1;
	is_screen(&sample, "screen_condition");
}

/* Three threads that wait for a CPU, one that is stopped, one that is healthy. */
static void starve(struct thread_row rows[static 5])
{
	static const char *const names[] = { "main", "worker1", "worker2", "logger", "idle" };

	for (size_t i = 0; i < 5; i++)
		rows[i] = runner((pid_t)(4711 + i), names[i]);
	for (size_t i = 0; i < 3; i++) {
		spend(&rows[i], LEDGER_READY_WOKEN, (3 - i) * 210 * MILLI);
		rows[i].ready = times(40, (3 - i) * 210 * MILLI, (3 - i) * 10 * MILLI);
	}
	spend(&rows[3], LEDGER_STOPPED, 500 * MILLI);
	rows[3].stopped = times(1, 500 * MILLI, 500 * MILLI);
	rows[4].run.count = 0;
	spend(&rows[4], LEDGER_BLOCKED, SECOND);
}

TEST(starved)
{
	struct report_options options = { .extent = REPORT_SHORT, .top = 2 };
	struct thread_row rows[5];
	struct sample sample = verdict_sample(rows, 5);

	starve(rows);
	sample.pressures = (struct pressures){
		.ns = 1010 * MILLI,
		.machine = { true, { { true, 909 * MILLI, 0 }, { true, 10 * MILLI, 0 } } },
		.group = { true,
			   { { true, SECOND, 0 }, { false, 0, 0 }, { true, 21 * MILLI, 0 } } },
	};
	is_screen(&sample, "screen_starved");
	is_golden(&sample, &options, "short_top", PARTS("TID        THREAD", "OTHER"));
	options.top = 0, options.sort = SORT_NAME;
	is_golden(&sample, &options, "short_names", PARTS(""));
	options.sort = SORT_TID, options.threads = "worker*";
	is_golden(&sample, &options, "short_threads", PARTS(""));
	options.extent = REPORT_FULL;
	is_golden(&sample, &options, "full_threads", PARTS("[SYSCALL STATISTICS]"));
	options = summary;
	options.bold = true;
	is_golden(&sample, &options, "screen_bold", PARTS(""));
}

/* Which of its threads computes, if nothing kept them from that. */
TEST(computes)
{
	struct thread_row rows[2] = { runner(4711, "main"), runner(4712, "collector") };
	struct sample sample = verdict_sample(rows, 2);

	spend(&rows[0], LEDGER_BLOCKED, SECOND);
	rows[0].ledger.awaited[KD_AWAITED_WORK] = times(9, SECOND, SECOND);
	is_screen(&sample, "screen_computes");
}

/* Nothing of the thread whose probes made the sample is idle, and the verdict is of it alone. */
TEST(triggered)
{
	struct thread_row rows[5];
	struct sample sample = verdict_sample(rows, 5);

	const struct descriptor_row polled = { .awaited = KD_AWAITED_WORK,
					       .wchan = "do_epoll_wait",
					       .call = KD_CALL_NONE,
					       .is.fd = 4,
					       .waits = times(1, SECOND, SECOND) };

	starve(rows);
	rows[4].ledger.awaited[KD_AWAITED_WORK] = polled.waits;
	rows[4].descriptors = (struct descriptor_row *)&polled, rows[4].n_descriptors = 1;
	sample.start_triggered = sample.stop_triggered = true;
	sample.started_on = sample.stopped_on = 4715;
	is_screen(&sample, "screen_triggered");
}

/* What a group may do with a disk is named where it is the cause, whatever it is called. */
/* Of waits for the journal, whose data that waits for. */
static void journal(struct sample *sample, struct descriptor_row *disk)
{
	static const struct {
		bool waits;
		pid_t pid;
		uint64_t limit;
		const char *said, *next;
	} cases[] = {
		{ false, 0, 0, "the journal (jbd2/dm-0-8) (fd", "-s 1ms" },
		{ true, 0, 0, "the journal (jbd2/dm-0-8), which waited for data of others (fd",
		  "-s 1ms" },
		{ true, 712, 0, "which waited for data of backup[712] (fd", "-s 1ms" },
		{ true, 712, 2000000,
		  "of backup[712], held back by the disk limit of the group /batch (fd",
		  "raise blkio.throttle of /batch (vda: writes 2.0 MB/s)" },
	};
	snprintf(disk->wchan, sizeof(disk->wchan), "jbd2_log_wait_commit");
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct made made;
		char *text;

		sample->journal_use = (struct journal_use){
			.journal = "jbd2/dm-0-8",
			.waits = cases[i].waits,
			.pid = cases[i].pid,
			.name = "backup",
			.limit = { "/batch", "vda", DISK_LIMIT_WRITE_BYTES, true, cases[i].limit,
				   0 },
		};
		report_text(judged(sample), &summary, made_begin(&made));
		text = made_end(&made);
		for (char *at = text; (at = strstr(at, "\n        ")); at++)
			memmove(at + 1, at + 9, strlen(at + 9) + 1), *at = ' ';
		ok(strstr(text, cases[i].said), "%s: %s", cases[i].said, text);
		ok(strstr(text, cases[i].next), "%s", cases[i].next);
		free(text);
	}
	*disk->wchan = '\0';
	sample->journal_use.journal[0] = '\0';
}

TEST(disk_limit)
{
	static const struct {
		struct disk_limit limit;
		uint64_t requests_ns;
		const char *next;
	} cases[] = {
		{ { "/a/b", "vda", DISK_LIMIT_READ_BYTES, false, 2097152, 2097152 },
		  MILLI,
		  "raise io.max of /a/b (vda: reads 2.1 MB/s)" },
		{ { "/a", "vda", DISK_LIMIT_WRITES, true, 30, 30 },
		  MILLI,
		  "raise blkio.throttle of /a (vda: 30 writes/s)" },
		{ { "/a", "dm-0", DISK_LIMIT_READS, false, 12000, 12000 },
		  MILLI,
		  "raise io.max of /a (dm-0: 12k reads/s)" },
		{ { "/a", "vdb", DISK_LIMIT_READS, false, 30, 30 }, MILLI, "-s 1ms lists" },
		{ { "/a", "vda", DISK_LIMIT_READS, false, 30, 30 }, 700 * MILLI, "-s 1ms lists" },
		{ { "", "", 0, false, 0, 0 }, MILLI, "-s 1ms lists" },
		{ { "/a", "vda", 99, false, 30, 30 }, MILLI, "-s 1ms lists" },
	};
	struct descriptor_row disk = { .awaited = KD_AWAITED_DISK, .is = { .device = "vda1" } };
	struct thread_row row = runner(4711, "main");
	struct sample sample = verdict_sample(&row, 1);
	FILE *out;

	spend(&row, LEDGER_BLOCKED_UNINT, 800 * MILLI);
	row.ledger.awaited[KD_AWAITED_DISK] = disk.waits = times(9, 800 * MILLI, 90 * MILLI);
	row.descriptors = &disk, row.n_descriptors = 1;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct made made;
		char *text;

		sample.disk_limit = cases[i].limit;
		disk.requests = times(9, cases[i].requests_ns, MILLI);
		report_text(judged(&sample), &summary, made_begin(&made));
		text = made_end(&made);
		ok(strstr(text, cases[i].next), "%s: %s", cases[i].next, strstr(text, "NEXT"));
		is_i64(strstr(text, "disk limit of its group  /a") != NULL,
		       !strncmp(cases[i].next, "raise", 5), "whose doing it is");
		free(text);
	}
	sample.disk_limit = (struct disk_limit){ "",   "vda",      DISK_LIMIT_WRITE_BYTES,
						 true, UINT64_MAX, 0 };
	memset(sample.disk_limit.group, 0xff, sizeof(sample.disk_limit.group) - 1);
	memset(sample.disk_limit.device + 3, 0x1b, sizeof(sample.disk_limit.device) - 4);
	strcpy(disk.is.device, "dm-0");
	disk.requests = times(9, 100 * MILLI, 20 * MILLI), disk.queued = 300 * MILLI;
	sample.disk_limit.per_second = 0;
	{
		struct made made;
		char *text;

		sample.disk_use = (struct disk_use){ "dm-0", 712, "backup-agent", 88000, 100000 };
		report_text(judged(&sample), &summary, made_begin(&made));
		text = made_end(&made);
		ok(strstr(text, "backup-agent[712]") && strstr(text, "88 %"), "who has the disk");
		ok(strstr(text, "NEXT    look at who has the disk: kernel_delay 712 --resources"),
		   "and where to look");
		ok(strstr(text, "after 33.3 ms in"), "how long they were queued: %s", text);
		free(text);
	}
	sample.disk_use = (struct disk_use){ .pid = 0 };
	disk.requests = times(0, 0, 0), disk.queued = 0;
	journal(&sample, &disk);
	sample.disk_limit.per_second = UINT64_MAX;
	out = tmpfile();
	report_text(judged(&sample), &summary, out);
	fits(out, "hostile names of limits");
	fclose(out);
}

/* What other CPUs did while it waited for one decides what helps. */
TEST(idle_cpus)
{
	static const struct {
		uint64_t allowed, barred, none; /* ms of 400 */
		bool confined;
		const char *said, *next;
	} cases[] = {
		{ 80, 60, 200, false, "ran, while a CPU that it may use was idle for 80.0 ms.",
		  "taskset keeps them apart: the scheduler left a CPU idle" },
		{ 60, 80, 200, false,
		  "ran, while only CPUs that it may not use were idle, for 80.0 ms.",
		  "taskset: move it, or who had its CPU, to those that were idle" },
		{ 0, 300, 0, true,
		  "ran, while only CPUs that it may not use were idle, for 300 ms.",
		  "widen cpuset.cpus of /pods (1), or" },
		{ 79, 79, 242, false, "ran.", "give it a CPU of its own" },
		{ 0, 0, 0, false, "ran.", "give it a CPU of its own" },
		{ UINT64_MAX / MILLI, 0, 0, false, "was idle for 400 ms.", "taskset keeps" },
	};
	struct culprit culprit = by(CULPRIT_TASK, "hog", 812, 400 * MILLI);
	struct thread_row row = runner(4711, "main");
	struct sample sample = verdict_sample(&row, 1);

	spend(&row, LEDGER_READY_WOKEN, 400 * MILLI);
	row.ready = times(100, 400 * MILLI, 9 * MILLI);
	row.culprits = &culprit, row.n_culprits = 1;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct made made;
		char *text, said[4096] = "", *word, *rest;

		row.waited_idle_allowed = cases[i].allowed * MILLI;
		row.waited_idle_barred = cases[i].barred * MILLI;
		row.waited_idle_none = cases[i].none * MILLI;
		sample.cpu_rules = (struct cpu_rules){ 0 };
		if (cases[i].confined)
			sample.cpu_rules = (struct cpu_rules){
				.tid = 4711, .cpuset = "/pods", .cpus = "1", .confined = true
			};
		report_text(judged(&sample), &summary, made_begin(&made));
		text = made_end(&made);
		ok(strstr(text, cases[i].next), "%s: %s", cases[i].next, strstr(text, "NEXT"));
		rest = text;
		while ((word = strsep(&rest, " \n")))
			if (*word && strlen(said) + strlen(word) + 2 < sizeof(said))
				strcat(strcat(said, *said ? " " : ""), word);
		ok(strstr(said, cases[i].said), "%s: %s", cases[i].said, said);
		free(text);
	}
}

TEST(one_cpu)
{
	struct thread_row row = runner(4711, "main");
	struct sample sample = verdict_sample(&row, 1);

	row.cpus[0] = 0;
	row.cpus[2] = 2;
	sample.losses[0] = 12;
	spend(&row, LEDGER_READY_PREEMPTED, 640 * MILLI);
	row.ready = times(1, 640 * MILLI, 640 * MILLI);
	is_screen(&sample, "screen_one_cpu");
}

TEST(hostile)
{
	struct thread_row rows[HOSTILE];
	struct mover_row mover = { .tid = INT32_MAX, .pid = 1, .count = UINT64_MAX };
	struct irq_row irqs[2];
	struct sample sample = hostile_sample(rows);

	for (size_t i = 0; i < 2; i++) {
		irqs[i] = (struct irq_row){ .count = 9, .total = i + 1, .max = UINT64_MAX };
		memset(irqs[i].name, 0xff, sizeof(irqs[i].name));
	}
	rows[0].movers = &mover, rows[0].n_movers = 1;
	memset(mover.name, 0x1b, sizeof(mover.name));
	rows[1].hardirqs = rows[1].softirqs = irqs;
	rows[1].n_hardirqs = rows[1].n_softirqs = 2;
	sample.pressures.ns = UINT64_MAX;
	sample.pressures.machine.known = sample.pressures.group.known = true;
	for (size_t i = 0; i < PRESSURES; i++)
		sample.pressures.machine.of[i] = sample.pressures.group.of[i] =
			(struct pressure){ true, UINT64_MAX, UINT64_MAX };
	is_screen(&sample, "screen_hostile");
}

TEST(many)
{
	enum { MANY = 4096 };
	struct thread_row *rows = calloc(MANY, sizeof(*rows));
	struct sample sample = verdict_sample(rows, MANY);

	for (size_t i = 0; i < MANY; i++) {
		char name[KD_COMM_LEN];

		snprintf(name, sizeof(name), "conn%zu", i);
		rows[i] = runner((pid_t)(10000 + i), name);
		spend(&rows[i], LEDGER_READY_WOKEN, (i * 37 % MANY) * 100000);
		rows[i].ready = times(i, (i * 37 % MANY) * 100000, (i * 37 % MANY) * 1000);
	}
	is_screen(&sample, "screen_many");
	free(rows);
}

/* Whatever can keep a thread from running: who had its CPU, who its locks, ... */
static void suffer(struct thread_row *row)
{
	static struct culprit culprits[12];
	static struct lock_row locks[8];
	static struct irq_row irqs[2] = {
		{ .name = "eth0", .count = 90, .total = 9 * MILLI, .max = MILLI },
		{ .name = "local_timer", .count = 90, .total = 8 * MILLI, .max = MILLI },
	};
	static struct open_item open[] = {
		{ .number = 202, .count = 1, .inside = 30 * MILLI, .at_start = true },
		{ .number = 202, .count = 1, .inside = 20 * MILLI, .at_end = true },
		{ .kind = OPEN_READY, .count = 1, .inside = 15 * MILLI, .at_end = true },
	};

	for (int i = 0; i < 12; i++)
		culprits[i] = (struct culprit){ .kind = i == 10   ? CULPRIT_OWN
							: i == 11 ? CULPRIT_UNKNOWN
								  : CULPRIT_TASK,
						.tid = i < 10 ? 800 + i : 0,
						.pid = i < 10 ? 800 + i : 0,
						.name = "backup-agent",
						.own = i == 10,
						.woken_ns = 8 * MILLI,
						.longest_ns = MILLI };
	for (int i = 0; i < 8; i++)
		locks[i] = (struct lock_row){ .address = 0x77bda4008990 + (uint64_t)i,
					      .waits = times(9, 20 * MILLI, MILLI),
					      .holder = 5001,
					      .holder_name = "connection",
					      .released_by = 5001,
					      .released_name = "connection",
					      .meanwhile = { .asleep = 20 * MILLI } };
	row->culprits = culprits, row->n_culprits = 12;
	row->locks = locks, row->n_locks = 8;
	row->hardirqs = row->softirqs = irqs;
	row->n_hardirqs = row->n_softirqs = 2;
	row->open = open, row->n_open = 3;
	row->long_poll = (struct kd_span){ .count = 9, .total = 90 * MILLI, .max = 20 * MILLI };
}

/* A database of 63 threads in trouble: some with sections, the others with a line. */
TEST(database)
{
	enum { THREADS = 63, CALLS = 12 };
	static const enum ledger_state states[] = { LEDGER_KERNEL,      LEDGER_SOFTIRQ,
						    LEDGER_READY_WOKEN, LEDGER_READY_PREEMPTED,
						    LEDGER_BLOCKED,     LEDGER_BLOCKED_UNINT };
	const struct report_options options = { .extent = REPORT_SHORT, .top = 10 };
	struct call_row calls[CALLS];
	struct thread_row rows[THREADS];
	struct sample sample = verdict_sample(rows, THREADS);
	FILE *out = tmpfile();
	unsigned int lines = 0;

	for (uint32_t i = 0; i < CALLS; i++)
		calls[i] = (struct call_row){ i, 100, (200 >> i) * MILLI, MILLI, { 0 }, 0 };
	for (size_t i = 0; i < THREADS; i++) {
		rows[i] = runner((pid_t)(5000 + i), "connection");
		rows[i].calls = calls, rows[i].n_calls = CALLS;
		suffer(&rows[i]);
		rows[i].ready = times(100, (100 + i) * MILLI, 9 * MILLI);
		for (size_t j = 0; j < COUNT(states); j++)
			spend(&rows[i], states[j], 40 * MILLI);
		spend(&rows[i], LEDGER_HARDIRQ, 2 * MILLI);
		rows[i].ledger.awaited[KD_AWAITED_LOCK] = times(90, 40 * MILLI, MILLI);
		rows[i].ledger.awaited[KD_AWAITED_DISK] = times(90, 40 * MILLI, MILLI);
	}
	sample.losses[KD_LOSS_DURATIONS] = 1;
	is_i64(report_text(judged(&sample), &options, out), 0, "a database is written");
	rewind(out);
	for (int c; (c = getc(out)) != EOF;)
		lines += c == '\n';
	ok(lines <= 400, "it has %u lines", lines);
	fclose(out);
}

/* Each cause, with the longest of names: whatever is true of the text, it is so of all. */
TEST(causes)
{
	struct thread_row row = runner(4711, "exactly15bytes_");
	struct sample sample = verdict_sample(&row, 1);
	FILE *all = tmpfile();

	for (int cause = 0; cause < CAUSES; cause++) {
		for (int known = 0; known < 2; known++) {
			struct verdict_row blamed = {
				.cause = (enum cause)cause,
				.ns = 123456789,
				.longest = 12345678,
				.threads = 1,
				.worst = &row,
				.worst_ns = 123456789,
				.blamed = true,
			};
			struct verdict verdict = {
				.life = SECOND,
				.busy = SECOND,
				.delay = 123456789,
				.rows = &blamed,
				.told = &blamed,
				.n_told = 1,
				.n_told_blamed = 1,
				.n_rows = 1,
				.n_blamed = 1,
				.largest = VERDICT_BLAMED,
			};
			struct text text = { .sample = &sample };
			FILE *out = tmpfile();
			char copy[4096] = "";

			if (known)
				blamed.who = (struct verdict_who){ .tid = 4194304,
								   .pid = 4194304,
								   .comm = "culprit15bytes_",
								   .scheduled = true,
								   .policy = 1,
								   .priority = 99 };
			sample.verdict = &verdict;
			columns_begin(&text.columns, out);
			text_verdict(&text);
			text_advice(&text);
			ok(!columns_end(&text.columns), "%s is written", cause_words[cause].key);
			fits(out, cause_words[cause].key);
			rewind(out);
			fwrite(copy, 1, fread(copy, 1, sizeof(copy), out), all);
			fclose(out);
		}
	}
	golden_compare(all, "screen_causes");
}

/* One culprit by two causes: one sentence, one line. */
TEST(together)
{
	struct thread_row row = runner(4711, "main");
	struct sample sample = verdict_sample(&row, 1);
	struct culprit culprits[] = { by(CULPRIT_TASK, "hog", 812, 150 * MILLI),
				      by(CULPRIT_TASK, "other", 813, 200 * MILLI) };
	struct lock_row lock = { .address = 1,
				 .kind = KD_LOCK_KERNEL_MUTEX,
				 .holder = 812,
				 .holder_pid = 812,
				 .holder_name = "hog",
				 .slept_in = KD_CALL_NONE,
				 .waits = times(9, 120 * MILLI, 80 * MILLI) };

	spend(&row, LEDGER_READY_WOKEN, 350 * MILLI);
	spend(&row, LEDGER_BLOCKED_UNINT, 120 * MILLI);
	row.ready = times(100, 350 * MILLI, 9 * MILLI);
	row.culprits = culprits, row.n_culprits = 2;
	row.ledger.awaited[KD_AWAITED_KERNEL_LOCK] = lock.waits;
	row.locks = &lock, row.n_locks = 1;
	thread_times_sum(&row);
	is_screen(&sample, "screen_together");
}

/* What to do next, where the culprit is of a process. */
static void is_advice_on(enum cause cause, bool named, pid_t pid, const char *wanted)
{
	struct thread_row row = runner(4711, "main");
	struct sample sample = verdict_sample(&row, 1);
	const struct lock_row lock = { .symbol = "rtnl_mutex" };
	struct verdict_row blamed = { .cause = cause,
				      .lock = named ? &lock : NULL,
				      .lock_ns = named,
				      .who = { .tid = pid, .pid = pid, .comm = "holder" },
				      .worst = &row };
	struct verdict verdict = { .busy = SECOND,
				   .rows = &blamed,
				   .told = &blamed,
				   .n_told = 1,
				   .n_told_blamed = 1,
				   .n_rows = 1,
				   .n_blamed = 1,
				   .largest = VERDICT_BLAMED };
	struct text text = { .sample = &sample };
	FILE *out = tmpfile();
	char line[1024] = "";

	sample.verdict = &verdict;
	columns_begin(&text.columns, out);
	text_advice(&text);
	ok(!columns_end(&text.columns), "%s is written", cause_words[cause].key);
	rewind(out);
	ok(fgets(line, sizeof(line), out) && strstr(line, wanted), "process %d: %s", (int)pid,
	   line);
	fclose(out);
}

static void is_advice(enum cause cause, pid_t pid, const char *wanted)
{
	is_advice_on(cause, false, pid, wanted);
}

/* Whose name the screen has already, nobody is to look for. */
TEST(advice)
{
	is_advice(CAUSE_KERNEL_LOCK, 0, "--off-cpu=1ms shows which lock of the kernel it is");
	is_advice_on(CAUSE_KERNEL_LOCK, true, 0,
		     "--off-cpu=1ms shows which system calls wait for it");
	is_advice(CAUSE_KERNEL_LOCK, 812, "look at what the holder does: kernel_delay 812");
	is_advice(CAUSE_KERNEL_LOCK, 4711, "[THREAD LOCK STATISTICS] says what the holder did");
	is_advice(CAUSE_LOCK, 4711, "[THREAD LOCK STATISTICS] says what the holder did");
	is_advice(CAUSE_LOCK, 0, "--off-cpu=1ms shows where it waits");
	is_advice(CAUSE_PEER, 812, "look at the process at the other end: kernel_delay 812");
	is_advice(CAUSE_PEER, 4711, "see that thread's own sections");
	is_advice(CAUSE_PEER, 0, "--off-cpu=1ms names it");
	is_advice(CAUSE_TASK, 812, "give it a CPU of its own");
}
