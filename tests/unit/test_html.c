// SPDX-License-Identifier: Apache-2.0
/* Streams of the page, read back by decoders of the test's own and by zlib; what a browser makes
 * of pages: tests/integration/html.t. */
#include "cli/html/html.h"

#include <stdlib.h>
#include <zlib.h>

#include "cli/html/html_page.h"
#include "cli/html/html_streams.h"
#include "golden.h"
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

static void test_text(void)
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

static void test_cut(void)
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

static void test_packed(void)
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
static void test_page(void)
{
	ok(!strncmp(html_page, "<!DOCTYPE html>\n", 16), "it begins as a page does");
	is_u64(occurs(html_page, "<script"), 1, "one script");
	is_u64(occurs(html_page, "</script"), 1, "which ends once");
	is_u64(occurs(html_page, "<style"), 1, "one style");
	is_u64(occurs(html_page, "script-src 'sha256-"), 1, "allowed by its hash");
	is_u64(occurs(html_page, "unsafe-"), 0, "nothing unsafe is allowed");
	is_u64(occurs(html_page, "innerHTML") + occurs(html_page, "insertAdjacentHTML") +
		       occurs(html_page, "document.write"),
	       0, "no text is read as markup");
	is_u64(occurs(html_page, "://") - occurs(html_page, "http://www.w3.org/2000/svg"), 0,
	       "no address but the name of SVG");
}

static void test_full(void)
{
	struct thread_row threads[] = { runner(1, "a"), runner(2, "<b>") };
	struct sample sample = verdict_sample(threads, 2);
	const struct report_options options = { 0 };
	FILE *full = fopen("/dev/full", "w"), *out = tmpfile();
	size_t length;
	char *text;

	ok(html_begin(full) < 0 || report_html(&sample, &options, full) < 0, "no room");
	fclose(full);
	is_i64(html_begin(out), 0, "a page");
	is_i64(report_html(&sample, &options, out), 0, "a sample");
	is_i64(report_html(&sample, &options, out), 0, "another one");
	text = golden_read(out, &length);
	fclose(out);
	is_u64(occurs(text, "class=\"record sample\""), 2, "two records");
	is_u64(occurs(text, "<!DOCTYPE"), 1, "in one page");
	is_u64(occurs(text, "<b>"), 0, "names are no elements");
	is_u64(occurs(text, "&lt;b>") > 0, 1, "but text");
	free(text);
}

int main(void)
{
	test_text();
	test_cut();
	test_packed();
	test_page();
	test_full();
	return done_testing();
}
