// SPDX-License-Identifier: Apache-2.0
/* Damaged and hostile files: no crash, no hang; and what is taken for a sample can be
 * rendered, saved and read once more. FUZZ_ROUNDS: how many more times. */
#define _GNU_SOURCE
#include <jansson.h>
#include <sysexits.h>

#include "cli/csv/csv.h"
#include "cli/json/json.h"
#include "cli/json/replay.h"
#include "cli/model/comparison.h"
#include "cli/model/summary.h"
#include "cli/perfetto/perfetto.h"
#include "cli/text/folded.h"
#include "cli/text/text.h"
#include "cli/text/text_comparison.h"
#include "cli/text/text_summary.h"
#include "cli/text/text_triggers.h"
#include "fuzz.h"
#include "random_recording.h"
#include "random_sample.h"
#include "sanitized.h"
#include "tap.h"
#include "tidy_recording.h"

/* With sanitizers tests/fuzz/fuzz_replay.c does the same. */
#define ROUNDS (SANITIZED ? 8000 : 24000)
#define DOCUMENTS 64
#define LARGEST 9000 /* bytes of a document, before it is mutated */
#define ROOM (4 * LARGEST)

struct text {
	char *bytes;
	size_t length;
};

static struct text saved(const struct sample *sample, const struct trigger_stats *stats)
{
	struct text text;
	FILE *out = open_memstream(&text.bytes, &text.length);

	if (!out || (sample ? report_json(sample, NULL, out) : report_json_triggers(stats, out)) ||
	    fclose(out))
		abort();
	return text;
}

/* The first thread that has one; NULL if none has. */
static struct thread_row *distribution_find(const struct sample *sample)
{
	for (size_t i = 0; i < sample->n_threads; i++) {
		struct thread_row *thread = &sample->threads[i];

		if (thread->run_times.n > 1 || thread->ready_times.n > 1 ||
		    (thread->n_calls && thread->calls[0].times.n > 1) ||
		    (thread->n_blocks && thread->blocks[0].times.n > 1))
			return thread;
	}
	return NULL;
}

/* Saves a sample, with a single thread if it has one with a distribution: few are small else. */
static struct text sample_save(const struct sample *sample)
{
	struct thread_row *thread = distribution_find(sample);
	struct sample part = *sample;

	if (thread) {
		part.threads = thread;
		part.n_threads = 1;
	}
	return saved(&part, NULL);
}

/* A recording and the sample that it is of, with little else. */
static struct text recording_save(void)
{
	struct sample sample = { .number = 1, .start = 1000000, .end = 1001000 };
	struct text text;

	sample.recording = random_recording(&sample);
	tidy_recording(sample.recording);
	text = saved(&sample, NULL);
	sample_clear(&sample);
	return text;
}

/* A document that is not too large: those are slow, and damaged at fewer places. With a
 * distribution, if wanted. */
static struct text document_make(bool distribution)
{
	static struct trigger_stats stats;
	struct sample sample;
	struct text text;
	bool has;

	for (;;) {
		if (!distribution && chance(3) == 0) {
			text = recording_save();
			has = false;
		} else if (distribution || chance(8)) {
			sample = random_sample();
			has = distribution_find(&sample) != NULL;
			text = has || !distribution ? sample_save(&sample)
						    : (struct text){ .length = ROOM };
			sample_clear(&sample);
		} else {
			random_triggers(&stats);
			has = false;
			text = saved(NULL, &stats);
			trigger_stats_clear(&stats);
		}
		if (text.length <= LARGEST && (!distribution || has))
			return text;
		free(text.bytes);
	}
}

/* Replaces some bytes by others. */
static void splice(struct text *text, size_t at, size_t old, const char *with, size_t length)
{
	if (text->length - old + length > ROOM)
		return;
	memmove(text->bytes + at + length, text->bytes + at + old, text->length - at - old);
	memcpy(text->bytes + at, with, length);
	text->length = text->length - old + length;
}

/* Where a value begins, from some place on; the end if there is none. */
static size_t value_find(const struct text *text, size_t at)
{
	while (at < text->length && text->bytes[at] != ':')
		at++;
	return at < text->length ? at + 1 : at;
}

static size_t value_length(const struct text *text, size_t at)
{
	size_t end = at;

	while (end < text->length && !strchr(",}]", text->bytes[end]))
		end++;
	return end - at;
}

static void mutate_value(struct text *text)
{
	static const char *const values[] = {
		"0",
		"1",
		"2",
		"5",
		"-1",
		"null",
		"true",
		"[]",
		"{}",
		"[{}]",
		"\"\"",
		"\"x\"",
		"4294967295",
		"4294967296",
		"9223372036854775807",
		"9223372036854775808",
		"\"18446744073709551615\"",
		"-9223372036854775808",
		"1e5",
		"1.5",
		"\"0x1\"",
		"\"0xffffffffffffffff\"",
		"\"1-1023\"",
		"\"blocked\"",
		"\"kernel_delay/1\"",
		"\"triggers\"",
		"\"sample\"",
		"\"9999-12-31T23:59:60Z\"",
		"\"\\ud83d\\ude00\"",
		"\"\\u001b[2J\"",
		"\"\\ufffd\"",
		"[1,2]",
		"\"ff\"",
		"2147483648",
	};
	const char *value = values[chance(sizeof(values) / sizeof(*values))];
	size_t at = value_find(text, chance(text->length));

	splice(text, at, value_length(text, at), value, strlen(value));
}

static void mutate(struct text *text)
{
	static const char tokens[] = "{}[]:,\"\\0123456789-+.eEtfn \n\x01\x7f\xff\xc3";
	size_t at = chance(text->length), length = chance(40) + 1;
	char bytes[64];

	length = length < text->length - at ? length : text->length - at;
	memcpy(bytes, text->bytes + at, length);
	switch (chance(10)) {
	case 0:
		text->bytes[at] ^= (char)(1 << chance(8));
		break;
	case 1:
		text->bytes[at] = tokens[chance(sizeof(tokens) - 1)];
		break;
	case 2: /* a piece is missing */
		splice(text, at, length, "", 0);
		break;
	case 3: /* or there twice */
		splice(text, chance(text->length), 0, bytes, length);
		break;
	case 4:
		text->length = at ? at : 1;
		break;
	default:
		mutate_value(text);
	}
}

struct found {
	unsigned int samples, triggers, recordings, distributions, refused, wrong;
	struct text again; /* the last of them, saved */
};

/* Two that are the same, and what follows from several samples, with any figures in them. */
static unsigned int several_render(const struct sample *sample, FILE *out)
{
	const struct report_options full = { .extent = REPORT_FULL };
	struct summary *summary = summary_new(0.5);
	struct course *before = course_new(), *now = course_new();
	struct comparison comparison = { 0 };
	struct text text;
	FILE *json = open_memstream(&text.bytes, &text.length);
	unsigned int wrong = 0;
	json_t *read;

	if (!summary || !before || !now || !json)
		abort();
	for (int i = 0; i < 6; i++) {
		struct sample other = *sample;

		other.end = sample->end > sample->start ? sample->end + (uint64_t)i : sample->end;
		wrong += summary_add(summary, &other) || course_add(i % 2 ? now : before, &other);
	}
	wrong += comparison_find(&comparison, before, now) ||
		 report_text_comparison(&comparison, &full, out) ||
		 report_text_summary(summary, &full, out) ||
		 report_json_summary(summary, NULL, json);
	fclose(json);
	read = json_loads(text.bytes, 0, NULL);
	wrong += !read;
	json_decref(read);
	free(text.bytes);
	comparison_clear(&comparison);
	course_free(before);
	course_free(now);
	summary_free(summary);
	for (const struct csv_table *table = csv_tables; table->name; table++)
		wrong += csv_write_header(table, out) || csv_write_rows(table, sample, out);
	return wrong;
}

static int sample_render(const struct sample *sample, void *context)
{
	struct found *found = context;
	struct text text;
	FILE *out = open_memstream(&text.bytes, &text.length);

	if (!out)
		abort();
	found->wrong += report_text(sample, &(struct report_options){ 0 }, out) ||
			report_folded(sample, &(struct report_options){ 0 }, out) ||
			report_perfetto(sample, &(struct report_options){ 0 }, out);
	/* A few of them: it takes longer than the rest. */
	if (found->samples % 16 == 0)
		found->wrong += several_render(sample, out);
	fclose(out);
	free(text.bytes);
	free(found->again.bytes);
	found->again = saved(sample, NULL);
	found->samples++;
	found->recordings += sample->recording != NULL;
	found->distributions += distribution_find(sample) != NULL;
	return 0;
}

static int triggers_render(const struct trigger_stats *stats, void *context)
{
	struct found *found = context;
	struct text text;
	FILE *out = open_memstream(&text.bytes, &text.length);

	if (!out)
		abort();
	found->wrong += report_text_triggers(stats, out) != 0;
	fclose(out);
	free(text.bytes);
	free(found->again.bytes);
	found->again = saved(NULL, stats);
	found->triggers++;
	return 0;
}

/* Returns the status; a fault must be told. */
static int read_text(const struct text *text, struct found *found)
{
	const struct replay_handlers handlers = { sample_render, triggers_render, found, 1 << 26,
						  true };
	struct replay_error error;
	/* It cannot be opened without any bytes; a line feed means as little. */
	FILE *in = text->length ? fmemopen(text->bytes, text->length, "r") : fmemopen("\n", 1, "r");
	int status;

	if (!in)
		abort();
	status = replay_stream(in, &handlers, &error);
	fclose(in);
	if (status ? status != EX_DATAERR || !*error.text : *error.text)
		found->wrong++;
	found->refused += strstr(error.text, "].le_ns: is not above") != NULL;
	return status;
}

/* What was read is the same after it was saved and read once more. */
static void check_again(struct found *found)
{
	struct text first = found->again;

	found->again = (struct text){ 0 };
	if (read_text(&first, found) || found->again.length != first.length ||
	    memcmp(found->again.bytes, first.bytes, first.length) != 0)
		found->wrong++;
	free(first.bytes);
}

int main(void)
{
	struct text documents[DOCUMENTS], text = { .bytes = malloc(ROOM + 1) };
	struct found found = { 0 };
	unsigned int read = 0, n = fuzz_rounds(ROUNDS);

	if (!text.bytes)
		abort();
	for (unsigned int i = 0; i < DOCUMENTS; i++)
		documents[i] = document_make(i % 2);
	for (unsigned int i = 0; i < n; i++) {
		const struct text *document = &documents[chance(DOCUMENTS)];

		memcpy(text.bytes, document->bytes, document->length);
		text.length = document->length;
		for (uint64_t times = chance(3) + 1; times && text.length; times--)
			mutate(&text);
		if (read_text(&text, &found))
			continue;
		read++;
		if (found.again.bytes && !(i % 4))
			check_again(&found);
	}
	is_u64(found.wrong, 0, "%u damaged files, all of them read or refused", n);
	ok(read >= n / 20, "not all were refused: %u were read", read);
	ok(found.samples && found.triggers, "samples and statistics of triggers");
	ok(found.recordings >= n / 200, "recordings: %u", found.recordings);
	ok(found.distributions >= n / 200, "distributions: %u", found.distributions);
	ok(found.refused >= n / 2000, "or buckets out of order: %u", found.refused);
	for (unsigned int i = 0; i < DOCUMENTS; i++)
		free(documents[i].bytes);
	free(found.again.bytes);
	free(text.bytes);
	return done_testing();
}
