/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines of samples that no machine has. What they say is compared with JSON by
 * tests/integration/perfetto.t; here, that they are well formed whatever is in a sample. */
#include "cli/perfetto/perfetto.h"

#include <errno.h>

#include "cli/perfetto/perfetto_fields.h"
#include "golden.h"
#include "judged.h"
#include "proto_read.h"
#include "random_recording.h"
#include "random_sample.h"
#include "sanitized.h"
#include "tap.h"
#include "traces_sample.h"

#define ROUNDS 300
/* Each makes four events: a million of them. */
#define MANY (SANITIZED ? 20000U : 250000U)

/* What is found in a trace. */
struct found {
	uint64_t packets, begins, ends, instants, samples, tracks;
	bool wrong;
};

static void read_event(struct message event, struct found *found)
{
	struct message inside;
	uint64_t value;
	uint32_t field;

	while ((field = read_field(&event, &value, &inside))) {
		if (field != EVENT_TYPE)
			continue;
		found->begins += value == TYPE_SLICE_BEGIN;
		found->ends += value == TYPE_SLICE_END;
		found->instants += value == TYPE_INSTANT;
	}
	found->wrong |= event.wrong;
}

static void read_packet(struct message packet, struct found *found)
{
	struct message inside;
	uint64_t value;
	uint32_t field;
	bool sequence = false;

	while ((field = read_field(&packet, &value, &inside))) {
		sequence |= field == PACKET_SEQUENCE_ID && value && value <= UINT32_MAX;
		if (field == PACKET_TRACK_EVENT)
			read_event(inside, found);
		found->samples += field == PACKET_PERF_SAMPLE;
		found->tracks += field == PACKET_TRACK_DESCRIPTOR;
	}
	found->packets++;
	found->wrong |= packet.wrong || !sequence;
}

static struct found perfetto(const struct sample *sample)
{
	FILE *out = tmpfile();
	struct found found = { 0 };
	struct message trace = { 0 }, inside;
	uint64_t value;
	uint32_t field;
	size_t length;
	char *text;

	if (!out)
		abort();
	found.wrong = report_perfetto(judged(sample), &(struct report_options){ 0 }, out) != 0;
	text = golden_read(out, &length);
	fclose(out);
	trace.at = (const uint8_t *)text;
	trace.end = trace.at + length;
	while ((field = read_field(&trace, &value, &inside))) {
		found.wrong |= field != TRACE_PACKET;
		read_packet(inside, &found);
	}
	found.wrong |= trace.wrong || found.begins != found.ends;
	free(text);
	return found;
}

TEST(empty)
{
	struct sample sample = traces_begin();
	struct found found = perfetto(&sample);

	ok(!found.wrong, "an empty sample");
	is_u64(found.begins, 1, "has its window");
	is_u64(found.tracks, 3, "and tracks of nobody");
	sample_clear(&sample);
}

TEST(hostile)
{
	struct sample sample = traces_begin();
	struct trace_row row = trace(TRACE_WAIT, 1, "\x1b[2J\n\xff", "futex");
	struct found found;

	row.state = KD_BLOCKED;
	row.user = &user_hostile;
	row.kernel = &kernel_module;
	row.blocker = (struct blocker){ .lock = 1, .kind = KD_LOCK_MUTEX, .holder = 5 };
	memset(row.blocker.holder_name, '\x9b', sizeof(row.blocker.holder_name));
	row.wakers[0] = (struct waker){ .at = row.end, .tid = 7, .from = KD_FROM_TASK };
	memset(row.wakers[0].name, '\n', sizeof(row.wakers[0].name));
	trace_add(&sample, row);
	row.user = &user_cut;
	trace_add(&sample, row);
	row.kind = TRACE_SAMPLE;
	trace_add(&sample, row);
	found = perfetto(&sample);
	ok(!found.wrong, "hostile names");
	is_u64(found.begins, 5, "the window, two waits and their locks");
	is_u64(found.instants, 2, "both ends of one wake-up, which two rows have");
	is_u64(found.samples, 1, "a sample");
	sample_clear(&sample);
}

/* Outside of the window, or the wrong way round. */
TEST(times)
{
	struct sample sample = traces_begin();
	struct trace_row row = trace(TRACE_CALL, 1, "t", "futex");
	struct found found;

	row.start = sample.end + 1, row.end = sample.end + 2;
	trace_add(&sample, row);
	row.start = sample.start - 9, row.end = sample.start - 5;
	trace_add(&sample, row);
	row.start = sample.end - 1, row.end = sample.start + 1;
	trace_add(&sample, row);
	found = perfetto(&sample);
	ok(!found.wrong, "times that no call has");
	is_u64(found.begins, 1, "make no slice");
	row.start = 0, row.end = 0;
	trace_add(&sample, row);
	row.start = 0, row.end = UINT64_MAX;
	trace_add(&sample, row);
	found = perfetto(&sample);
	is_u64(found.begins, 3, "what is longer than the window is cut");
	sample_clear(&sample);
}

/* Threads, stacks and wake-ups are found among many. */
TEST(many)
{
	struct sample sample = traces_begin();
	struct found found;

	for (unsigned int i = 0; i < MANY; i++) {
		struct trace_row row = trace(TRACE_WAIT, 1 + (pid_t)(i % 97), "worker", "futex");

		row.state = i % 3 ? KD_BLOCKED : KD_READY_WOKEN;
		row.start = sample.start + i * 1000;
		row.end = row.start + 900;
		row.user = i % 5 ? &user_main : &user_cpp;
		row.kernel = i % 7 ? &kernel_futex : NULL;
		row.wakers[0] = (struct waker){ .at = row.end,
						.tid = 1 + (pid_t)(i % 50 * 2),
						.from = KD_FROM_TASK,
						.name = "waker" };
		trace_add(&sample, row);
	}
	found = perfetto(&sample);
	ok(!found.wrong, "many rows");
	is_u64(found.begins, MANY + 1, "a slice for each");
	is_u64(found.instants, 2 * MANY, "and an arrow");
	/* Three of nobody; a process; of each thread five; one waker, 99, is of nobody. */
	is_u64(found.tracks, 3 + 1 + 97 * 5 + 1, "each track once");
	sample_clear(&sample);
}

TEST(random)
{
	unsigned int wrong = 0;
	uint64_t begins = 0;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct sample sample = random_sample();
		struct found found = perfetto(&sample);

		wrong += found.wrong;
		begins += found.begins;
		sample_clear(&sample);
	}
	is_u64(wrong, 0, "any numbers and names make a well-formed trace");
	ok(begins > ROUNDS, "with slices");
}

/* Rows of recordings, too. */
TEST(recordings)
{
	unsigned int wrong = 0;
	uint64_t begins = 0;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct sample sample = random_sample();
		struct found found;

		sample.recording = random_recording(&sample);
		found = perfetto(&sample);
		wrong += found.wrong;
		begins += found.begins;
		sample_clear(&sample);
	}
	is_u64(wrong, 0, "any recording makes a well-formed trace");
	ok(begins > 10 * ROUNDS, "with slices");
}

TEST(failure)
{
	struct sample sample = traces_begin();
	FILE *full = fopen("/dev/full", "w");

	is_i64(report_perfetto(judged(&sample), &(struct report_options){ 0 }, full), -ENOSPC,
	       "no room");
	fclose(full);
	sample_clear(&sample);
}
