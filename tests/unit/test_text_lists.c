/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of the text report that end early: what they show and what they say of the others add up
 * to all. */
#include "report.h"

#include "cli/model/resource.h"
#include "cli/model/summary.h"
#include "cli/text/text_summary.h"
#include "verdict_sample.h"

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
		for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
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
		"[THREAD LOCK STATISTICS]", "[THREAD DESCRIPTOR STATISTICS]",
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
	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++)
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
static struct process_row processes[THREADS];

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
	static const struct report_options summary = { .extent = REPORT_SUMMARY };
	struct sample sample = verdict_sample(threads, THREADS);
	const double kept = starve();
	char *text = report_written(report_text, &sample, &summary);

	ok(is_about(screen_kept(text, "    TID THREAD", CELL), kept), "threads");
	ok(strstr(text, "and 31 others"), "of which ten have room");
	free(text);
	for (size_t i = 0; i < THREADS; i++) {
		threads[i].pid = 100 + (pid_t)i;
		processes[i] = (struct process_row){ .pid = threads[i].pid, .members = 1 };
	}
	sample.processes = processes;
	sample.n_processes = THREADS;
	text = report_written(report_text, &sample, &summary);
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
	sample.resources_known = sample.interruptions_known = true;
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
	struct summary *summary = summary_new(0.1);
	const double kept = starve();
	struct made made;
	char *text;

	for (unsigned int i = 0; i < 2; i++) {
		struct sample sample = verdict_sample(threads, THREADS);

		if (summary_add(summary, judged(&sample)))
			abort();
	}
	report_text_summary(summary, &options, made_begin(&made));
	text = made_end(&made);
	ok(is_about(listed(text, "       TID THREAD", " ").sum, 2 * kept),
	   "threads, and their sum");
	ok(strstr(text, "and 30 others"), "of which ten are listed");
	free(text);
	summary_free(summary);
}
