// SPDX-License-Identifier: Apache-2.0
/* Streams of the page, read back by decoders of the test's own and by zlib; what a browser makes
 * of pages: tests/integration/html*.t. */
#include "cli/html/html.h"

#include <stdlib.h>
#include <zlib.h>

#include "cli/html/html_part.h"
#include "golden.h"
#include "judged.h"
#include "tap.h"
#include "verdict_sample.h"

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

	if (!packed || inflateInit2(&stream, MAX_WBITS + 16) != Z_OK)
		abort();
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
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
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

		if (traces_add(&sample.traces, &row))
			abort();
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
