/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a sample that has stacks: order, losses, merging. */
#include "cli/model/traces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/model/sample.h"
#include "tap.h"

#define MS 1000000ULL

static const struct frame frames[] = { { .function = "one" },
				       { .function = "two" },
				       { .function = "three" },
				       { .function = "four" } };
static const struct stack stacks[] = {
	{ .frames = &frames[0], .n = 1 },
	{ .frames = &frames[1], .n = 1 },
	{ .frames = &frames[2], .n = 1 },
	{ .frames = &frames[3], .n = 1 },
};

static struct trace_row row(enum trace_kind kind, pid_t tid, uint64_t start, uint64_t end)
{
	return (struct trace_row){
		.kind = kind, .tid = tid, .name = "worker", .start = start, .end = end
	};
}

static void add(struct trace_list *list, struct trace_row what)
{
	need(!traces_add(list, &what));
}

TEST(order)
{
	static const struct {
		enum trace_kind kind;
		pid_t tid;
		uint64_t start, end;
	} sorted[] = {
		{ TRACE_CALL, 1, 50, 60 },   { TRACE_CALL, 2, 10, 70 }, { TRACE_CALL, 3, 10, 70 },
		{ TRACE_CALL, 1, 60, 70 },   { TRACE_CALL, 1, 71, 99 }, { TRACE_CALL, 1, 5, 0 },
		{ TRACE_CALL, 9, 8, 0 },     { TRACE_WAIT, 1, 1, 2 },   { TRACE_WAIT, 1, 0, 99 },
		{ TRACE_SAMPLE, 1, 55, 55 },
	};
	const size_t n = COUNT(sorted);
	struct trace_list list = { 0 };
	bool right = true;

	for (size_t i = 0; i < n; i++) {
		size_t j = i * 7 % n;

		add(&list, row(sorted[j].kind, sorted[j].tid, sorted[j].start, sorted[j].end));
	}
	traces_finish(&list);
	is_u64(list.n, n, "all rows are there");
	for (size_t i = 0; i < n; i++)
		right = right && list.rows[i].kind == sorted[i].kind &&
			list.rows[i].tid == sorted[i].tid && list.rows[i].start == sorted[i].start;
	ok(right, "by kind, then by the end, unfinished ones last by their start");
	traces_clear(&list);
	ok(!list.rows && !list.n, "nothing is left");
	traces_finish(&list);
	traces_clear(&list);
	ok(true, "an empty list may be finished and cleared");
}

TEST(duration)
{
	struct trace_list list = { .profile_hz = 49 };
	struct trace_row call = row(TRACE_CALL, 1, 100, 130), sample = row(TRACE_SAMPLE, 1, 7, 7);

	is_u64(trace_duration(&list, &call, 1000), 30, "a call");
	call.end = 0;
	is_u64(trace_duration(&list, &call, 1000), 900, "one that is unfinished, up to the end");
	is_u64(trace_duration(&list, &call, 50), 0, "of the window, which may be before it");
	is_u64(trace_duration(&list, &sample, 1000), 20408163, "a sample at 49 Hz is 20.4 ms");
	list.profile_hz = 0;
	is_u64(trace_duration(&list, &sample, 1000), 0, "without a rate it stands for nothing");
}

static const struct traces_merging by_line = { .lines = true }, by_function = { 0 };

static void check_sum(const struct trace_sum *sum, pid_t tid, uint64_t count, uint64_t total,
		      uint64_t max, uint64_t of_thread, const char *what)
{
	is_i64(sum->longest->tid, tid, "%s: thread", what);
	is_u64(sum->count, count, "%s: count", what);
	is_u64(sum->total, total, "%s: total", what);
	is_u64(sum->max, max, "%s: max", what);
	is_u64(sum->of_thread, of_thread, "%s: of its thread", what);
}

TEST(merge)
{
	struct trace_list list = { 0 };
	struct trace_row what;
	struct trace_sum *sums;
	size_t n;

	is_i64(traces_merge(&list, TRACE_WAIT, 1000, by_line, &sums, &n), 0,
	       "an empty list is merged");
	ok(!sums && !n, "to nothing");

	what = row(TRACE_WAIT, 7, 0, 10); /* three that are alike */
	what.kernel = &stacks[0], what.user = &stacks[1];
	what.state = KD_BLOCKED, what.wakers[0] = (struct waker){ 0, 3, KD_FROM_TASK, "a" },
	what.user_ip = 5;
	add(&list, what);
	what.start = 100, what.end = 140, what.wakers[0].tid = 4;
	add(&list, what);
	what.start = 200, what.end = 240;
	add(&list, what);
	what.user = &stacks[2]; /* one with another stack, of the same thread */
	what.start = 300, what.end = 305;
	add(&list, what);
	what.tid = 8; /* and one of another thread, which is the longest */
	what.end = 999;
	add(&list, what);
	add(&list, row(TRACE_CALL, 7, 0, 5000));

	is_i64(traces_merge(&list, TRACE_WAIT, 1000, by_line, &sums, &n), 0,
	       "the waits are merged");
	is_u64(n, 3, "to three");
	check_sum(&sums[0], 8, 1, 699, 699, 1, "the largest");
	check_sum(&sums[1], 7, 3, 90, 40, 4, "the three");
	check_sum(&sums[2], 7, 1, 5, 5, 4, "the other stack");
	is_u64(sums[1].longest->start, 100, "the first of the longest speaks for them");
	ok(!sums[1].same_wakers && sums[1].other_wakers, "not woken by the same");
	ok(sums[1].same_ip, "at the same place");
	ok(sums[0].same_wakers == 1 && !sums[0].other_wakers && sums[0].same_ip,
	   "a single one is like itself");
	free(sums);
	is_i64(traces_merge(&list, TRACE_SAMPLE, 1000, by_line, &sums, &n), 0,
	       "a kind that is not there");
	ok(!sums && !n, "is nothing");
	traces_clear(&list);
}

/* Everything that must keep rows apart, and what must not. */
TEST(likeness)
{
	struct trace_row a = row(TRACE_SAMPLE, 1, 5, 5), b[9];
	static const bool apart[] = { true, true, true, true, true, true, true, false, false };
	const size_t n_cases = COUNT(b);

	a.kernel = &stacks[0];
	a.call = 3, a.state = KD_KERNEL, a.user_ip = 1;
	for (size_t i = 0; i < n_cases; i++)
		b[i] = a;
	b[0].tid = 2;
	b[1].name[0] = 'x';
	b[2].call = 4;
	b[3].state = KD_USER;
	b[4].kernel = NULL;
	b[5].user = &stacks[1];
	b[6].limited = true;
	b[7].user_ip = 2;
	b[8].cpu = 1, b[8].start = b[8].end = 9;
	for (size_t i = 0; i < n_cases; i++) {
		struct trace_list list = { .profile_hz = 1000 };
		struct trace_sum *sums;
		size_t n;

		add(&list, a);
		add(&list, b[i]);
		is_i64(traces_merge(&list, TRACE_SAMPLE, 10, by_line, &sums, &n), 0, "case %zu", i);
		is_u64(n, apart[i] ? 2 : 1, "case %zu: rows", i);
		is_u64(sums[0].total, apart[i] ? MS : 2 * MS, "case %zu: total", i);
		ok(sums[0].same_ip == (i != 7), "case %zu: instruction", i);
		free(sums);
		traces_clear(&list);
	}
}

/* Threads that wait at one place are one row, those of one name, or each is its own. */
TEST(threads)
{
	static const struct {
		struct traces_merging merging;
		size_t rows;
		uint64_t threads, count, total;
	} cases[] = {
		{ { .threads = MERGE_IN_ALL }, 1, 8, 80, 4 * 10 * (10 + 11 + 12 + 13) / 2 },
		{ { .threads = MERGE_IN_NAME }, 2, 4, 40, 10 * (10 + 11 + 12 + 13) / 2 },
		{ { .threads = MERGE_IN_THREAD }, 8, 1, 10, 13 * 10 / 2 },
	};
	struct trace_list list = { 0 };
	struct trace_sum *sums;
	size_t n;

	for (unsigned int i = 0; i < 80; i++) {
		struct trace_row what = row(TRACE_WAIT, 1 + (pid_t)(i % 8), i, i + 10 + i / 2 % 4);

		what.name[0] = i % 2 ? 'a' : 'b';
		what.user = &stacks[0];
		add(&list, what);
	}
	for (size_t i = 0; i < COUNT(cases); i++) {
		is_i64(traces_merge(&list, TRACE_WAIT, 1000, cases[i].merging, &sums, &n), 0,
		       "merging %zu", i);
		is_u64(n, cases[i].rows, "merging %zu: rows", i);
		is_u64(sums[0].threads, cases[i].threads, "merging %zu: threads", i);
		is_u64(sums[0].count, cases[i].count, "merging %zu: count", i);
		is_u64(sums[0].of_thread, cases[i].count, "merging %zu: all of theirs", i);
		is_u64(sums[0].max, 13, "merging %zu: the longest", i);
		is_u64(sums[0].longest->start, 6 + (i > 0), "merging %zu: the first of those", i);
		free(sums);
	}
	traces_clear(&list);
}

static const struct frame here[] = { { .function = "leaf", .offset = 1 },
				     { .function = "one", .offset = 2 } };
static const struct frame there[] = { { .function = "leaf", .offset = 1 },
				      { .function = "one", .offset = 3 } };
static const struct frame nameless[] = { { .function = "leaf", .offset = 1 },
					 { .offset = 2, .object = "/lib" } };
static const struct frame other[] = { { .function = "leaf", .offset = 1 },
				      { .offset = 3, .object = "/lib" } };
static const struct stack lines[] = {
	{ .frames = here, .n = 2 },
	{ .frames = there, .n = 2 },
	{ .frames = nameless, .n = 2 },
	{ .frames = other, .n = 2 },
};

/* Lines of one function are one row, unless they are wanted; addresses without a function
 * never are. */
TEST(lines)
{
	struct trace_list list = { 0 };
	struct trace_row what = row(TRACE_WAIT, 7, 0, 10);
	struct trace_sum *sums;
	size_t n;

	for (size_t i = 0; i < 4; i++) {
		what.user = &lines[i], what.kernel = &stacks[0];
		what.end += 10;
		add(&list, what);
	}
	is_i64(traces_merge(&list, TRACE_WAIT, 1000, by_line, &sums, &n), 0, "merged by lines");
	is_u64(n, 4, "all differ");
	ok(!frame_set_has(&sums[2].user_varies, 1), "no frame varies in them");
	free(sums);
	is_i64(traces_merge(&list, TRACE_WAIT, 1000, by_function, &sums, &n), 0,
	       "merged by functions");
	is_u64(n, 3, "those without a function differ");
	is_u64(sums[0].count, 2, "two are one");
	ok(!frame_set_has(&sums[0].user_varies, 0) && frame_set_has(&sums[0].user_varies, 1),
	   "the outer one of its frames varies");
	ok(!frame_set_has(&sums[0].kernel_varies, 0), "and none of the kernel's");
	ok(!frame_set_has(&sums[0].user_varies, FRAME_SET_SIZE), "nor one beyond");
	free(sums);
	traces_clear(&list);
}

/* Of several processes the same place is one row; the same address is not, nor the same path if
 * it leads to another file. */
TEST(processes)
{
	static const struct frame file[] = {
		{ .function = "leaf", .object = "/bin/a", .file = 1 }
	};
	static const struct frame another[] = {
		{ .function = "leaf", .object = "/bin/a", .file = 2 }
	};
	static const struct frame address[] = {
		{ .function = "leaf", .object = "/bin/a", .file = 1 }, { .offset = 0x7000 }
	};
	static const struct stack locations[] = { { .frames = file, .n = 1 },
						  { .frames = another, .n = 1 },
						  { .frames = address, .n = 2 } };
	static const size_t rows[] = { 1, 1, 20 };
	struct traces_merging merging = { .threads = MERGE_IN_ALL };
	struct trace_list list = { 0 };
	struct trace_sum *sums;
	size_t n, total = 0;

	for (size_t location = 0; location < 3; location++) {
		for (int i = 0; i < 40; i++) {
			struct trace_row what = row(TRACE_WAIT, 100 + i % 20, 0, 10);

			what.pid = what.tid;
			what.name[0] = 'a';
			what.user = &locations[location];
			what.blocker.lock = what.user_ip = 0x5000;
			add(&list, what);
		}
		total += rows[location];
	}
	is_i64(traces_merge(&list, TRACE_WAIT, 1000, merging, &sums, &n), 0, "merged");
	is_u64(n, total, "an address is of one process, another file is another place");
	for (size_t i = 0; i < 2; i++) {
		is_u64(sums[i].processes, 20, "%zu: as many processes", i);
		is_u64(sums[i].threads, 20, "%zu: threads", i);
		is_i64(sums[i].pids[0], 100, "%zu: the first of them", i);
		is_i64(sums[i].pids[TRACE_PIDS - 1], 107, "%zu: the last that is named", i);
		ok(!sums[i].same_lock && !sums[i].same_ip, "%zu: an address in each", i);
	}
	for (size_t i = 2; i < n; i++) {
		is_u64(sums[i].processes, 1, "%zu: of one", i);
		ok(sums[i].same_lock && sums[i].same_ip, "%zu: one address", i);
	}
	free(sums);
	merging.processes = true;
	is_i64(traces_merge(&list, TRACE_WAIT, 1000, merging, &sums, &n), 0, "kept apart");
	is_u64(n, 60, "each process has its rows");
	free(sums);
	traces_clear(&list);
}

/* Many rows in a random order against sums made in a simpler way. */
TEST(random)
{
	struct trace_list list = { 0 };
	uint64_t totals[5][4][4] = { 0 }, state = 0x9e3779b97f4a7c15;
	uint64_t last = UINT64_MAX, want = 0;
	struct trace_sum *sums;
	bool right = true;
	size_t n;

	for (unsigned int i = 0; i < 20000; i++) {
		struct trace_row what;
		unsigned int tid, kernel, user;

		state = state * 6364136223846793005 + 1442695040888963407;
		tid = (state >> 33) % 5, kernel = (state >> 40) % 4, user = (state >> 45) % 4;
		what = row(TRACE_WAIT, (pid_t)tid + 1, i, i + 1 + (state >> 50));
		what.kernel = &stacks[kernel], what.user = &stacks[user];
		totals[tid][kernel][user] += 1 + (state >> 50);
		add(&list, what);
	}
	traces_finish(&list);
	is_i64(traces_merge(&list, TRACE_WAIT, 0, by_line, &sums, &n), 0, "20,000 rows are merged");
	for (size_t i = 0; i < n; i++) {
		const struct trace_row *longest = sums[i].longest;

		right = right && sums[i].total <= last &&
			sums[i].total == totals[longest->tid - 1][longest->kernel - stacks]
					       [longest->user - stacks];
		last = sums[i].total;
	}
	ok(right, "each sum is right, the largest first");
	for (size_t i = 0; i < 5 * 4 * 4; i++)
		want += totals[i / 16][i / 4 % 4][i % 4] != 0;
	is_u64(n, want, "none is missing");
	free(sums);
	traces_clear(&list);
}

/* --- Which waits are listed; what words there are: test_options.c --- */

TEST(wait_filter)
{
	static const struct {
		const char *word;
		bool others;
		uint32_t state, awaited;
		bool passes;
	} cases[] = {
		{ "lock", false, KD_BLOCKED_UNINT, KD_AWAITED_LOCK, true },
		/* a state, whatever is awaited */
		{ "blocked", false, KD_BLOCKED, KD_AWAITED_PIPE, true },
		{ "blocked", false, KD_BLOCKED_UNINT, KD_AWAITED_PIPE, false },
		{ "stopped", false, KD_STOPPED, 0, true },
		{ "frozen", false, KD_FROZEN, 0, true },
		{ "frozen", false, KD_STOPPED, 0, false },
		/* in other states nothing is awaited */
		{ "other", false, KD_READY_WOKEN, KD_AWAITED_OTHER, false },
		{ "other", true, KD_READY_WOKEN, KD_AWAITED_OTHER, true },
		{ "other", false, KD_BLOCKED, KD_AWAITED_OTHER, true },
		/* what no kernel side says */
		{ "lock", false, KD_BLOCKED, KD_AWAITED_KINDS, false },
		{ "lock", false, KD_STATES, 0, false },
		{ "x*", true, KD_BLOCKED, KD_AWAITED_LOCK, true },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct trace_row what = { .state = cases[i].state, .awaited = cases[i].awaited };
		struct wait_filter filter = { .others = cases[i].others };

		ok(wait_filter_add(&filter, cases[i].word) == (*cases[i].word != 'x'),
		   "%s: a word, or none", cases[i].word);
		ok(wait_filter_passes(&filter, &what) == cases[i].passes, "case %zu", i);
	}
}
