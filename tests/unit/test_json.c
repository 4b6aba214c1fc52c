// SPDX-License-Identifier: Apache-2.0
/* What the JSON writer makes of values at the edges, as a parser that is not ours and
 * golden files have it; the reports as a whole: see test_replay_text.c and others. */
#include "cli/json/json.h"

#include <errno.h>
#include <jansson.h>

#include "cli/json/json_writer.h"
#include "golden.h"
#include "judged.h"
#include "tap.h"

/* What is written is the caller's; without the line feed. */
static char *written(FILE *out, struct json_writer *writer)
{
	size_t length;
	char *text;

	is_i64(writer_end(writer), 0, "it is written");
	text = golden_read(out, &length);
	fclose(out);
	text[length - 1] = '\0';
	return text;
}

TEST(numbers)
{
	struct json_writer writer;
	FILE *out = tmpfile();
	char *text;

	writer_begin(&writer, out);
	writer_array(&writer, NULL);
	writer_u64(&writer, NULL, 0);
	writer_u64(&writer, NULL, INT64_MAX);
	writer_u64(&writer, NULL, 1ULL + INT64_MAX);
	writer_u64(&writer, NULL, UINT64_MAX);
	writer_i64(&writer, NULL, INT64_MIN);
	writer_i64(&writer, NULL, -1);
	writer_object(&writer, NULL);
	writer_object_end(&writer);
	writer_object(&writer, NULL);
	writer_address(&writer, "a", UINT64_MAX);
	writer_address(&writer, "b", 0);
	writer_bool(&writer, "c", true);
	writer_array(&writer, "d");
	writer_array_end(&writer);
	writer_word(&writer, "e", "");
	writer_object_end(&writer);
	writer_array_end(&writer);
	text = written(out, &writer);
	is_str(text,
	       "[0,9223372036854775807,\"9223372036854775808\",\"18446744073709551615\","
	       "-9223372036854775808,-1,{},{\"a\":\"0xffffffffffffffff\",\"b\":\"0x0\","
	       "\"c\":true,\"d\":[],\"e\":\"\"}]",
	       "numbers of all sizes, commas where they belong");
	free(text);
}

TEST(text)
{
	static const struct {
		const char *text, *json;
	} texts[] = {
		{ "", "\"\"" },
		{ "a\"\\/\b\f\n\r\t\x01\x7f", "\"a\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\x7f\"" },
		{ "caf\xc3\xa9 \xe2\x82\xac", "\"caf\\u00E9 \\u20AC\"" },
		{ "\xf0\x9f\x90\xa7", "\"\\uD83D\\uDC27\"" },
		{ "\xef\xbf\xbd", "\"\\uFFFD\"" },
		{ "a\xff"
		  "b",
		  "\"a\\uFFFDb\",\"k_hex\":\"61ff62\"" },
		{ "\xc3", "\"\\uFFFD\",\"k_hex\":\"c3\"" },
		{ "\xc0\x80", "\"\\uFFFD\\uFFFD\",\"k_hex\":\"c080\"" },
		{ "\xe0\x9f\xbf", "\"\\uFFFD\\uFFFD\\uFFFD\",\"k_hex\":\"e09fbf\"" },
		{ "\xed\xa0\x80", "\"\\uFFFD\\uFFFD\\uFFFD\",\"k_hex\":\"eda080\"" },
		{ "\xf0\x8f\xbf\xbf", "\"\\uFFFD\\uFFFD\\uFFFD\\uFFFD\",\"k_hex\":\"f08fbfbf\"" },
		{ "\xf4\x90\x80\x80", "\"\\uFFFD\\uFFFD\\uFFFD\\uFFFD\",\"k_hex\":\"f4908080\"" },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct json_writer writer;
		FILE *out = tmpfile();
		char *text, wanted[256];
		json_t *parsed;

		writer_begin(&writer, out);
		writer_object(&writer, NULL);
		writer_text(&writer, "k", texts[i].text, SIZE_MAX);
		writer_object_end(&writer);
		text = written(out, &writer);
		snprintf(wanted, sizeof(wanted), "{\"k\":%s}", texts[i].json);
		is_str(text, wanted, "text %zu", i);
		parsed = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
		ok(parsed, "which can be parsed");
		if (!json_object_get(parsed, "k_hex"))
			is_str(json_string_value(json_object_get(parsed, "k")), texts[i].text,
			       "and is the same");
		json_decref(parsed);
		free(text);
	}
}

/* Names that end where their room does. */
TEST(bounded)
{
	static const char name[4] = { 'a', 'b', 'c', '\xc3' };
	struct json_writer writer;
	FILE *out = tmpfile();
	char *text;

	writer_begin(&writer, out);
	writer_object(&writer, NULL);
	writer_text(&writer, "a", name, 3);
	writer_text(&writer, "b", name, 4);
	writer_object_end(&writer);
	text = written(out, &writer);
	is_str(text, "{\"a\":\"abc\",\"b\":\"abc\\uFFFD\",\"b_hex\":\"616263c3\"}", "no NUL");
	free(text);
}

TEST(clock)
{
	static const struct {
		struct timespec when;
		const char *time;
	} clocks[] = {
		{ { 0, 0 }, "1970-01-01T00:00:00.000000000Z" },
		{ { 951782400, 1 }, "2000-02-29T00:00:00.000000001Z" },
		{ { 1795218874, 981958999 }, "2026-11-20T23:54:34.981958999Z" },
		{ { INT64_MAX, 5 }, "9999-12-31T23:59:59.000000005Z" },
		{ { INT64_MIN, 1000000000 }, "0000-01-01T00:00:00.999999999Z" },
	};

	for (size_t i = 0; i < sizeof(clocks) / sizeof(*clocks); i++) {
		struct sample sample = { .wall_dump = clocks[i].when };
		FILE *out = tmpfile();
		json_t *parsed;

		is_i64(report_json(judged(&sample), NULL, out), 0, "a sample");
		rewind(out);
		parsed = json_loadf(out, 0, NULL);
		is_str(json_string_value(json_object_get(parsed, "time")), clocks[i].time, "time");
		json_decref(parsed);
		fclose(out);
	}
}

TEST(full_disk)
{
	static const struct trigger_stats stats;
	struct sample sample = { .pid = 1 };
	FILE *full = fopen("/dev/full", "w");

	is_i64(report_json(judged(&sample), NULL, full), -ENOSPC, "no room for a sample");
	ok(report_json(judged(&sample), NULL, full) < 0, "nor for the next");
	fclose(full);
	full = fopen("/dev/full", "w");
	is_i64(report_json_triggers(&stats, full), -ENOSPC, "nor for statistics");
	fclose(full);
}
