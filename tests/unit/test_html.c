/* SPDX-License-Identifier: Apache-2.0 */
/* The page: its streams, read back by decoders of this test and by zlib; what it has of long lists;
 * and which lanes its timeline has of a recording, and what of their time. What a browser makes of
 * pages: tests/integration/html*.t. */
#include <stdlib.h>
#include <zlib.h>

#include "cli/html/html.h"
#include "golden.h"
#include "judged.h"
#include "path_recording.h"
#include "random_recording.h"
#include "random_sample.h"
#include "tap.h"
#include "tidy_recording.h"
#include "verdict_sample.h"
#include "cli/html/html_part.h"

/* What a stream makes of text that comes in pieces. */
static char *escaped(const char *text, size_t most, size_t piece)
{
	FILE *out = tmpfile(), *stream = html_text_open(out, most);
	size_t length = strlen(text);
	char *made;

	for (size_t i = 0; i < length; i += piece) {
		fwrite(text + i, 1, length - i < piece ? length - i : piece, stream);
		fflush(stream);
	}
	ok(!fclose(stream), "text is written in pieces of %zu", piece);
	made = golden_read(out, &length);
	fclose(out);
	return made;
}

TEST(text)
{
	static const char hostile[] = "a<b>&amp;\n</pre><script>x</script>\n";
	char *text;

	for (size_t piece = 1; piece < sizeof(hostile) + 1; piece += 5) {
		text = escaped(hostile, SIZE_MAX, piece);
		is_str(text, "a&lt;b>&amp;amp;\n&lt;/pre>&lt;script>x&lt;/script>\n",
		       "neither elements nor references are left");
		free(text);
	}
}

TEST(cut)
{
	static const char lines[] = "one\ntwo\nthree\nfour\n";
	char *text;

	for (size_t piece = 1; piece < sizeof(lines) + 1; piece += 4) {
		text = escaped(lines, 5, piece);
		ok(!strncmp(text, "one\ntwo\n# NOTE: The rest", 24), "cut behind a line, and said");
		ok(!strstr(text, "three"), "nothing of the rest");
		free(text);
	}
	text = escaped(lines, sizeof(lines) - 1, 3);
	is_str(text, lines, "what just fits is whole");
	free(text);
}

/* Bytes of lines of base64; NULL if that is not what they are. */
static unsigned char *decoded(const char *text, size_t *length)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned char *bytes = malloc(strlen(text) + 1);
	unsigned int bits = 0, known = 0, column = 0;

	*length = 0;
	for (const char *at = text; *at && *at != '='; at++) {
		const char *digit = strchr(digits, *at);

		column = *at == '\n' ? 0 : column + 1;
		if (*at == '\n')
			continue;
		if (!digit || column > 76) {
			free(bytes);
			return NULL;
		}
		bits = bits << 6 | (unsigned int)(digit - digits);
		known += 6;
		if (known >= 8) {
			known -= 8;
			bytes[(*length)++] = (unsigned char)(bits >> known);
		}
	}
	return bytes;
}

static bool unpacks(const char *text, const unsigned char *want, size_t size)
{
	size_t length;
	unsigned char *packed = decoded(text, &length), *got = malloc(size + 1);
	z_stream stream = { .next_in = packed,
			    .avail_in = (unsigned int)length,
			    .next_out = got,
			    .avail_out = (unsigned int)size + 1 };
	bool same;

	need(packed && inflateInit2(&stream, MAX_WBITS + 16) == Z_OK);
	same = inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.total_out == size &&
	       !stream.avail_in && !memcmp(got, want, size);
	inflateEnd(&stream);
	free(packed);
	free(got);
	return same;
}

TEST(packed)
{
	static const size_t sizes[] = { 0, 1, 2, 3, 56, 57, 58, 4096, 100000 };
	unsigned char *bytes = malloc(100000);

	srand(15);
	for (size_t i = 0; i < 100000; i++)
		bytes[i] = (unsigned char)(rand() >> 8);
	for (size_t i = 0; i < COUNT(sizes); i++) {
		FILE *out = tmpfile(), *stream = html_packed_open(out);
		size_t length;
		char *text;

		fwrite(bytes, 1, sizes[i], stream);
		ok(!fclose(stream), "%zu bytes are written", sizes[i]);
		text = golden_read(out, &length);
		fclose(out);
		ok(unpacks(text, bytes, sizes[i]), "%zu bytes come back", sizes[i]);
		free(text);
	}
	free(bytes);
}

static unsigned int occurs(const char *text, const char *what)
{
	unsigned int n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

/* What people may not put into it. */
TEST(page)
{
	FILE *out = tmpfile();
	size_t length;
	char *page, *data;

	is_i64(html_begin(out), 0, "a page");
	page = golden_read(out, &length);
	fclose(out);
	data = strstr(page, "<script type=\"application/gzip\"");
	ok(data, "data follow");
	if (data)
		*data = '\0';
	ok(!strncmp(page, "<!DOCTYPE html>\n", 16), "it begins as a page does");
	is_u64(occurs(page, "<script"), 1, "one script");
	is_u64(occurs(page, "</script"), 1, "which ends once");
	is_u64(occurs(page, "<style"), 1, "one style");
	is_u64(occurs(page, "script-src 'sha256-"), 1, "allowed by its hash");
	is_u64(occurs(page, "unsafe-"), 0, "nothing unsafe is allowed");
	is_u64(occurs(page, "innerHTML") + occurs(page, "insertAdjacentHTML") +
		       occurs(page, "document.write"),
	       0, "no text is read as markup");
	is_u64(occurs(page, "://") - occurs(page, "http://www.w3.org/2000/svg"), 0,
	       "no address but the name of SVG");
	free(page);
}

TEST(full)
{
	struct thread_row threads[] = { runner(1, "a"), runner(2, "<b>") };
	struct sample sample = verdict_sample(threads, 2);
	const struct report_options options = { 0 };
	FILE *full = fopen("/dev/full", "w"), *out = tmpfile();
	size_t length;
	char *text;

	ok(html_begin(full) < 0 || report_html(judged(&sample), &options, full) < 0, "no room");
	fclose(full);
	is_i64(html_begin(out), 0, "a page");
	is_i64(report_html(judged(&sample), &options, out), 0, "a sample");
	is_i64(report_html(judged(&sample), &options, out), 0, "another one");
	text = golden_read(out, &length);
	fclose(out);
	is_u64(occurs(text, "class=\"record sample\""), 2, "two records");
	is_u64(occurs(text, "<!DOCTYPE"), 1, "in one page");
	is_u64(occurs(text, "<b>"), 0, "names are no elements");
	is_u64(occurs(text, "&lt;b>") > 0, 1, "but text");
	free(text);
}

/* --- What a page has of long lists --- */

#define PART_ROWS 5000
#define PART_STACKS 700

/* Waits in so many functions; of each the durations are known. */
static uint64_t wait_ns(size_t i)
{
	return 1000 + (i * 7919 + i % PART_STACKS * 13) % 1000000;
}

static struct sample part_sample(const struct stack *stacks, size_t n)
{
	struct sample sample = { .start = 0, .end = 10 * SECOND };

	for (size_t i = 0; i < n; i++) {
		const uint64_t start = i * 1000000;
		const struct trace_row row = { .kind = TRACE_WAIT,
					       .tid = 1,
					       .name = "waiter",
					       .start = start,
					       .end = start + wait_ns(i),
					       .state = KD_BLOCKED,
					       .user = &stacks[i % PART_STACKS] };

		need(!traces_add(&sample.traces, &row));
	}
	traces_finish(&sample.traces);
	return sample;
}

static int u64_falling(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x < *y) - (*x > *y);
}

/* How many of the part's rows last as long as this, or longer; all of its rows are in order. */
static size_t longer_count(const struct html_part *part, uint64_t least)
{
	const struct trace_list *traces = &part->sample.traces;
	bool is_sorted = true;
	size_t count = 0;

	for (size_t i = 0; i < traces->n; i++) {
		count += traces->rows[i].end - traces->rows[i].start >= least;
		is_sorted = is_sorted && (!i || traces->rows[i - 1].end <= traces->rows[i].end);
	}
	ok(is_sorted, "rows are in their order");
	return count;
}

static void part_check(const struct html_part *part, const struct stack *stacks,
		       const uint64_t *falling)
{
	const struct html_list *list = &part->lists[TRACE_WAIT];
	uint64_t of_stack[PART_STACKS] = { 0 }, total = 0, all = 0, count = 0;
	bool is_right = true, is_longest = true;

	for (size_t i = 0; i < PART_ROWS; i++) {
		of_stack[i % PART_STACKS] += wait_ns(i);
		all += wait_ns(i);
	}
	for (size_t i = 0; i < list->n; i++) {
		const struct trace_row *row = &part->sample.traces.rows[list->stacks[i].row];

		is_right = is_right && list->stacks[i].total == of_stack[row->user - stacks];
		is_longest = is_longest &&
			     (!i || list->stacks[i].total <= list->stacks[i - 1].total);
		total += list->stacks[i].total;
		count += list->stacks[i].count;
	}
	ok(is_right, "each stack has the time of all of its rows");
	ok(is_longest, "those with the most time");
	is_u64(list->n, HTML_STACKS, "so many");
	is_u64(total + list->others.total, all, "no time is missing");
	is_u64(count + list->others.count, PART_ROWS, "nor a row");
	is_u64(list->left_out, PART_ROWS - HTML_ROWS, "rows that are left out");
	is_u64(part->sample.traces.n, HTML_ROWS, "rows that are there");
	is_u64(longer_count(part, falling[HTML_ROWS - HTML_STACKS - 1]) >= HTML_ROWS - HTML_STACKS,
	       1, "the longest of all");
}

TEST(part)
{
	static char names[PART_STACKS][16];
	static struct frame frames[PART_STACKS];
	static struct stack stacks[PART_STACKS];
	uint64_t *falling = malloc(PART_ROWS * sizeof(*falling));
	struct sample sample;
	struct html_part part;

	for (size_t i = 0; i < PART_STACKS; i++) {
		snprintf(names[i], sizeof(names[i]), "function_%zu", i);
		frames[i] = (struct frame){ .function = names[i] };
		stacks[i] = (struct stack){ .frames = &frames[i], .n = 1 };
	}
	for (size_t i = 0; i < PART_ROWS; i++)
		falling[i] = wait_ns(i);
	qsort(falling, PART_ROWS, sizeof(*falling), u64_falling);
	sample = part_sample(stacks, PART_ROWS);
	is_i64(html_part_make(&part, &sample), 0, "a part of %d rows", PART_ROWS);
	part_check(&part, stacks, falling);
	ok(html_part_is_shorter(&part), "it is shorter");
	html_part_clear(&part);
	traces_clear(&sample.traces);
	free(falling);
	sample = part_sample(stacks, HTML_ROWS);
	is_i64(html_part_make(&part, &sample), 0, "a part of %d rows", HTML_ROWS);
	is_u64(part.sample.traces.n, HTML_ROWS, "has all");
	is_u64(part.lists[TRACE_WAIT].n, PART_STACKS, "and all stacks");
	is_u64(part.lists[TRACE_WAIT].others.count, 0, "none are others");
	ok(!html_part_is_shorter(&part), "it is not shorter");
	html_part_clear(&part);
	traces_clear(&sample.traces);
}

TEST(interruptions)
{
	struct sample sample = { .end = SECOND, .n_interruptions = HTML_ROWS + 100 };
	struct html_part part;
	bool is_right = true;

	sample.interruptions = calloc(sample.n_interruptions, sizeof(*sample.interruptions));
	/* Those in the middle are short. */
	for (size_t i = 0; i < sample.n_interruptions; i++) {
		sample.interruptions[i].since = i;
		sample.interruptions[i].ns = i < 300 || i >= 400 ? 5000 + i : i;
	}
	is_i64(html_part_make(&part, &sample), 0, "a part of interruptions");
	is_u64(part.interruptions_left_out, 100, "so many are left out");
	is_u64(part.sample.n_interruptions, HTML_ROWS, "so many are there");
	for (size_t i = 0; i < part.sample.n_interruptions; i++)
		is_right = is_right &&
			   part.sample.interruptions[i].since == (i < 300 ? i : i + 100);
	ok(is_right, "the longest, by their start");
	html_part_clear(&part);
	free(sample.interruptions);
}

/* --- The timeline --- */

#define ROUNDS 300U

struct sum {
	uint64_t ns[HTML_CLASSES];
	size_t pieces, cost;
	bool wrong; /* there are none, they overlap, or their parts are not all of them */
};

static struct sum sum_of(const struct html_lanes *lanes, const struct html_lane *lane)
{
	struct html_piece *pieces;
	struct sum sum = { 0 };

	need(!html_lane_pieces(lanes, lane, &pieces, &sum.pieces));
	sum.wrong = !sum.pieces;
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
	need(sample.recording);
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
		need(!html_lanes_make(&lanes, &sample));
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
