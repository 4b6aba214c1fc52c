// SPDX-License-Identifier: Apache-2.0
/* What the page's timeline has of a recording: which lanes, and what of their time. How it is
 * drawn: tests/integration/html-recorded.t. */
#include "cli/html/html_part.h"

#include "golden.h"
#include "path_recording.h"
#include "random_recording.h"
#include "random_sample.h"
#include "tap.h"
#include "tidy_recording.h"

#define ROUNDS 300U

struct sum {
	uint64_t ns[HTML_CLASSES];
	size_t pieces, cost;
	bool wrong; /* they overlap, or their parts are not all of them */
};

static struct sum sum_of(const struct html_lanes *lanes, const struct html_lane *lane)
{
	struct html_piece *pieces;
	struct sum sum = { 0 };

	if (html_lane_pieces(lanes, lane, &pieces, &sum.pieces))
		abort();
	for (size_t i = 0; i < sum.pieces; i++) {
		uint64_t whole = 0;

		sum.cost++;
		for (size_t class = 0; class < HTML_CLASSES; class ++) {
			whole += pieces[i].ns[class];
			sum.ns[class] += pieces[i].ns[class];
			sum.cost += pieces[i].rows > 1 && pieces[i].ns[class];
		}
		sum.wrong |= whole != pieces[i].end - pieces[i].start || !whole ||
			     (i && pieces[i].start < pieces[i - 1].end);
	}
	free(pieces);
	return sum;
}

static struct sample sample_begin(void)
{
	struct sample sample = { .number = 1, .pid = 7, .start = 1000000, .end = 2000000 };

	sample.recording = calloc(1, sizeof(*sample.recording));
	if (!sample.recording)
		abort();
	sample.recording->from = sample.start;
	sample.recording->to = sample.end;
	return sample;
}

/* More threads than a page has: those that waited longest, behind those of the path. */
TEST(threads)
{
	enum { THREADS = HTML_THREADS + 50, FIRST = 60 };
	struct sample sample = sample_begin();
	struct html_lanes lanes;
	bool sorted = true;

	sample.path.thread.tid = FIRST;
	sample.stop_triggered = true;
	sample.stopped_on = FIRST + 2;
	for (pid_t tid = 1; tid <= THREADS; tid++) {
		uint64_t waits = tid == FIRST ? 1 : 1000 * (uint64_t)tid;

		made_thread(sample.recording, tid, 7, "worker");
		made_wait(sample.recording, tid, sample.start + waits, KD_AWAITED_LOCK, 0, 0);
		made_state(sample.recording, tid, sample.end, KD_USER)->cpu = (uint32_t)tid;
	}
	is_i64(html_lanes_make(&lanes, &sample), 0, "many threads");
	is_u64(lanes.n_threads, HTML_THREADS, "so many are shown");
	is_u64(lanes.threads_left_out, THREADS - HTML_THREADS, "others are left out");
	is_u64(lanes.n_cpus, HTML_CPUS, "the same of CPUs");
	is_u64(lanes.cpus_left_out, THREADS - HTML_CPUS, "which are left out");
	is_i64(lanes.threads[0].tid, FIRST + 2, "who hit the trigger is first");
	is_i64(lanes.threads[1].tid, FIRST, "and whose path it is");
	for (size_t i = 3; i < lanes.n_threads; i++)
		sorted &= lanes.threads[i - 1].tid > lanes.threads[i].tid;
	ok(sorted, "then who waited longest");
	for (size_t i = 1; i < lanes.n_cpus; i++)
		sorted &= lanes.cpus[i - 1].cpu < lanes.cpus[i].cpu;
	ok(sorted, "CPUs are in their order");
	html_lanes_clear(&lanes);
	sample_clear(&sample);
}

/* More states than a page has: no time is gone, and long ones stay by themselves. */
TEST(merged)
{
	enum { THREADS = 7, STATES = 40000, LONG = 400000 };
	struct sample sample = sample_begin();
	struct html_lanes lanes;
	struct sum whole = { 0 };
	size_t merged = 0;

	sample.end = sample.start + LONG + STATES * 100;
	sample.recording->to = sample.end;
	for (pid_t tid = 1; tid <= THREADS; tid++) {
		uint64_t at = sample.start;

		made_thread(sample.recording, tid, 7, "worker");
		for (unsigned int i = 0; i < STATES; i++) {
			at += i == STATES / 2 ? LONG : 100;
			made_state(sample.recording, tid, at, i % 4 ? KD_BLOCKED : KD_KERNEL);
		}
	}
	is_i64(html_lanes_make(&lanes, &sample), 0, "many states");
	for (size_t i = 0; i < lanes.n_threads; i++) {
		struct sum sum = sum_of(&lanes, &lanes.threads[i]);

		merged += lanes.threads[i].merged > 0;
		whole.wrong |= sum.wrong || sum.ns[HTML_UNKNOWN] ||
			       sum.ns[LEDGER_KERNEL] != LONG + (STATES / 4 - 1) * 100 ||
			       sum.ns[LEDGER_BLOCKED] != STATES / 4 * 300;
		whole.cost += sum.cost;
	}
	for (size_t i = 0; i < lanes.n_cpus; i++)
		whole.cost += sum_of(&lanes, &lanes.cpus[i]).cost;
	ok(!whole.wrong, "none of their time is gone");
	ok(merged, "%zu lanes are merged", merged);
	ok(whole.cost <= HTML_PIECES, "to no more than a page has: %zu", whole.cost);
	ok(whole.cost > HTML_PIECES / 4, "but not to much less");
	html_lanes_clear(&lanes);
	sample_clear(&sample);
}

/* Any recording: lanes whose pieces are in order, and a page's data. */
TEST(random)
{
	unsigned int wrong = 0;
	FILE *nowhere = fopen("/dev/null", "w");

	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct sample sample = { .number = 1, .start = 1000000, .end = 1001000 };
		struct html_lanes lanes;

		sample.recording = random_recording(&sample);
		if (i % 2)
			tidy_recording(sample.recording);
		if (html_lanes_make(&lanes, &sample))
			abort();
		for (size_t j = 0; j < lanes.n_threads; j++)
			wrong += sum_of(&lanes, &lanes.threads[j]).wrong;
		for (size_t j = 0; j < lanes.n_cpus; j++)
			wrong += sum_of(&lanes, &lanes.cpus[j]).wrong;
		html_lanes_clear(&lanes);
		wrong += html_recorded(&sample, nowhere) != 0;
		sample_clear(&sample);
	}
	fclose(nowhere);
	is_u64(wrong, 0, "%u recordings", ROUNDS);
}
