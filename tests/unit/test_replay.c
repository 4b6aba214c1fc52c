// SPDX-License-Identifier: Apache-2.0
/* Everything in a sample is still there after it has been saved and read; what is said about files
 * that are not what they should be; and values at the edges, as a parser that is not ours has
 * them. */
#include "report.h"

#include <dlfcn.h>
#include <jansson.h>
#include <limits.h>
#include <search.h>
#include <sysexits.h>
#include <unistd.h>

#include "cli/json/json_writer.h"
#include "cli/output/output_format.h"
#include "cli/text/text.h"
#include "captured.h"
#include "everything.h"
#include "metrics_report.h"
#include "random_recording.h"
#include "random_sample.h"
#include "sanitized.h"

#define ROUNDS (SANITIZED ? 50U : 1000U)
#define HEAD "{\"schema\":\"kernel_delay/1\",\"type\":\"sample\",\"window\":" WINDOW
#define WINDOW "{\"start_ns\":1,\"end_ns\":2}"

static int texts_report(const struct sample *sample, const struct report_options *options,
			FILE *out)
{
	int error = report_text(judged(sample), options, out);

	return error ? error : report_folded(sample, options, out) < 0;
}

/* With metrics, which have threads that only traces tell of in the order of these. */
static int all_report(const struct sample *sample, const struct report_options *options, FILE *out)
{
	static const struct report_options one_shot = { .per_thread = true, .timestamps = true };
	static const struct report_options by_name = { .fold_names = true, .max_syscalls = 3 };

	return texts_report(sample, options, out) ||
	       report_openmetrics(judged(sample), &one_shot, out) ||
	       report_prometheus(judged(sample), &by_name, out);
}

/* Prints only what is wrong: there are many rounds. */
TEST(round_trip)
{
	unsigned int wrong = 0;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct sample sample = random_sample();
		struct again again = { i % 2 ? all_report : texts_report, &report_plain, NULL,
				       NULL };
		char *text, *json;

		if (i % 2)
			traces_finish(&sample.traces);
		text = report_written(again.report, &sample, &report_plain);
		json = report_json_alone(&sample);
		wrong += !report_survives(json, text, again);
		free(text);
		free(json);
		sample_clear(&sample);
	}
	is_u64(wrong, 0, "%u samples are the same after they were read", ROUNDS);
}

TEST(triggers)
{
	static struct trigger_stats stats;
	unsigned int wrong = 0;

	for (unsigned int i = 0; i < ROUNDS / 5; i++) {
		char *text, *json;

		random_triggers(&stats);
		text = report_written_triggers(report_text_triggers, &stats);
		json = report_written_triggers(report_json_triggers, &stats);
		wrong += !report_survives(json, text, (struct again){ 0 });
		free(text);
		free(json);
		trigger_stats_clear(&stats);
	}
	is_u64(wrong, 0, "so are statistics of triggers");
}

/* What the handlers have been given. */
struct seen {
	unsigned int samples, triggers;
	uint64_t numbers; /* of the samples, a digit each */
	int status;
};

static int sample_see(const struct sample *sample, void *context)
{
	struct seen *seen = context;

	seen->samples++;
	seen->numbers = seen->numbers * 10 + sample->number;
	return seen->status;
}

static int triggers_see(const struct trigger_stats *stats, void *context)
{
	struct seen *seen = context;

	seen->triggers++;
	return stats->lasted ? 0 : -1;
}

static int text_read(const char *text, const struct replay_handlers *handlers,
		     struct replay_error *error)
{
	FILE *in = fmemopen((void *)text, strlen(text), "r");
	int status = replay_stream(in, handlers, error);

	fclose(in);
	return status;
}

static int stream_see(const char *text, struct seen *seen, struct replay_error *error)
{
	const struct replay_handlers handlers = { sample_see, triggers_see, seen, 0, false };

	return text_read(text, &handlers, error);
}

TEST(streams)
{
	static const char many[] =
		"\n " HEAD ",\"number\":1}\n" HEAD ",\"number\":2}" HEAD ",\"number\":3}\n\n"
		"{\n  \"type\" : \"sample\",\n  \"schema\" : \"kernel_delay/1.7\",\n"
		"  \"number\" : 4, \"window\" : " WINDOW "\n}\r\n"
		"{\"schema\":\"kernel_delay/1\",\"type\":\"of the future\"}\n"
		"{\"schema\":\"kernel_delay/1\",\"type\":\"triggers\",\"lasted_ns\":5}\n" HEAD
		",\"number\":5,\"capture\":null,\"future\":[{\"a\":{}}],\"threads\":[]}";
	struct seen seen = { 0 };
	struct replay_error error;

	is_i64(stream_see(many, &seen, &error), 0, "a stream of lines and others");
	is_u64(seen.numbers, 12345, "samples in their order");
	is_u64(seen.triggers, 1, "and what triggers did");
	is_str(error.text, "", "no error");

	seen = (struct seen){ .status = 74 };
	is_i64(stream_see(many, &seen, &error), 74, "what a handler says ends it");
	is_u64(seen.samples, 1, "at once");
	is_str(error.text, "", "and is no fault of the stream");

	seen = (struct seen){ 0 };
	is_i64(stream_see(HEAD ",\"number\":7}\n{", &seen, &error), EX_DATAERR, "one that is cut");
	is_u64(seen.numbers, 7, "has given what is whole");
}

static int least_see(const struct sample *sample, void *context)
{
	const struct thread_row *thread = sample->threads;

	ok(sample->n_threads == 1 && thread->members == 1, "it is one");
	ok(!thread->ledger.has_exec && !sample->has_upcalls && !sample->capture &&
		   !sample->start_triggered,
	   "and nothing else is known");
	return *(int *)context;
}

/* What is missing has a meaning: as little as can be said about a thread. */
TEST(defaults)
{
	static const char text[] = HEAD ",\"threads\":[{\"tid\":7}]}\n";
	const struct replay_handlers handlers = { .sample = least_see, .context = &(int){ 0 } };
	struct replay_error error;

	is_i64(text_read(text, &handlers, &error), 0, "a thread with nothing but a TID");
}

static int taken_see(const struct sample *sample, void *context)
{
	(void)context;
	is_u64(sample->threads[0].taken_by_others, 7, "others'");
	is_u64(sample->threads[0].taken_by_own_threads, 20, "own threads'");
	return 0;
}

/* Captures of before do not say it, and what others say is not believed. */
TEST(taken)
{
	static const char text[] = HEAD
		",\"threads\":[{\"tid\":7,\"taken_by_others_ns\":1,\"ready_by\":["
		"{\"kind\":\"task\",\"tid\":8,\"woken_ns\":3},{\"kind\":\"idle\",\"woken_ns\":100},"
		"{\"kind\":\"task\",\"tid\":9,\"own\":true,\"preempted_ns\":20},"
		"{\"kind\":\"rest\",\"preempted_ns\":4}]}]}\n";
	const struct replay_handlers handlers = { .sample = taken_see, .context = &(int){ 0 } };
	struct replay_error error;

	is_i64(text_read(text, &handlers, &error), 0, "sums follow from rows");
}

/* Every fault has a line and says where and what. */
static const struct {
	const char *text;
	unsigned long line;
	const char *what;
} faults[] = {
	{ "", 0, "there is no sample in it" },
	{ " \n\n", 0, "there is no sample in it" },
	{ "# Sample dump @2026", 1, "'[' or '{' expected near '#'" },
	{ "[1]", 1, "an object is expected" },
	{ "{}", 1, "schema: is missing" },
	{ "{\"schema\":1}", 1, "schema: a string is expected" },
	{ "{\"schema\":\"x/1\",\"type\":\"sample\"}", 1,
	  "schema: is x/1, not one of kernel_delay" },
	{ "{\"schema\":\"kernel_delay/2\",\"type\":\"sample\"}", 1,
	  "schema: is kernel_delay/2, this version reads kernel_delay/1" },
	{ "{\"schema\":\"kernel_delay/11\",\"type\":\"sample\"}", 1,
	  "schema: is kernel_delay/11, this version reads kernel_delay/1" },
	{ "{\"schema\":\"kernel_delay/1\"}", 1, "type: is missing" },
	{ "{\"schema\":\"kernel_delay/1\",\"type\":\"sample\"}", 1, "window.start_ns: is missing" },
	{ HEAD "}\n" HEAD ",\"threads\":[", 2, "the file ends in the middle of a sample" },
	{ HEAD "}\n{\n\n\"schema\":,}", 4, "unexpected token near ','" },
	{ HEAD ",\"pid\":1,\"pid\":2}", 1, "duplicate object key near '\"pid\"'" },
	{ HEAD ",\"pid\":99999999999}", 1, "pid: is out of range" },
	{ HEAD ",\"pid\":99999999999999999999}", 1, "too big integer" },
	{ HEAD ",\"number\":-1}", 1, "number: a whole number, 0 or more, is expected" },
	{ HEAD ",\"number\":1.5}", 1, "number: a whole number, 0 or more, is expected" },
	{ HEAD ",\"number\":\"18446744073709551616\"}", 1,
	  "number: a whole number, 0 or more, is expected" },
	{ HEAD ",\"time\":\"yesterday\"}", 1,
	  "time: a time such as \"2026-11-21T15:04:05Z\" is expected" },
	{ HEAD ",\"time\":\"2026-13-21T15:04:05Z\"}", 1,
	  "time: a time such as \"2026-11-21T15:04:05Z\" is expected" },
	{ HEAD ",\"interrupted\":0}", 1, "interrupted: true or false is expected" },
	{ HEAD ",\"threads\":{}}", 1, "threads: an array is expected" },
	{ HEAD ",\"threads\":[{\"tid\":1},2]}", 1, "threads[1]: an object is expected" },
	{ HEAD ",\"threads\":[{}]}", 1, "threads[0].tid: is missing" },
	{ HEAD ",\"threads\":[{\"tid\":1,\"name\":\"12345678901234567\"}]}", 1,
	  "threads[0].name: is longer than 16 bytes" },
	{ HEAD ",\"threads\":[{\"tid\":1,\"name\":\"\\u0000\"}]}", 1,
	  "\\u0000 is not allowed without JSON_ALLOW_NUL" },
	{ HEAD ",\"threads\":[{\"tid\":1,\"name_hex\":\"00\"}]}", 1,
	  "threads[0].name_hex: hexadecimal bytes other than 00 are expected" },
	{ HEAD ",\"threads\":[{\"tid\":1,\"name_hex\":\"1\"}]}", 1,
	  "threads[0].name_hex: hexadecimal bytes are expected" },
	{ HEAD ",\"threads\":[{\"tid\":1,\"cpus\":\"1-0\"}]}", 1,
	  "threads[0].cpus: a list such as \"0-1,3\" is expected, below 1024" },
	{ HEAD ",\"threads\":[{\"tid\":1,\"cpus\":\"1024\"}]}", 1,
	  "threads[0].cpus: a list such as \"0-1,3\" is expected, below 1024" },
	{ HEAD ",\"threads\":[{\"tid\":1,\"cpus\":\"1,\"}]}", 1,
	  "threads[0].cpus: a list such as \"0-1,3\" is expected, below 1024" },
	{ HEAD ",\"threads\":[{\"tid\":1,\"syscalls\":[{\"number\":1,\"mode\":\"64-bit\"}]}]}", 1,
	  "threads[0].syscalls[0].mode: \"32-bit\" or \"x32\" is expected" },
	{ HEAD ",\"threads\":[{\"tid\":1,\"syscalls\":[{\"number\":536870912,\"mode\":\"x32\"}]}]}",
	  1, "threads[0].syscalls[0].number: is larger than 536870911" },
	{ HEAD ",\"threads\":[{\"tid\":1,\"in_flight\":[{},{},{\"count\":-1}]}]}", 1,
	  "threads[0].in_flight[2].count: a whole number, 0 or more, is expected" },
	{ HEAD ",\"threads\":[{\"tid\":1,\"ledger\":{\"user_ns\":[]}}]}", 1,
	  "threads[0].ledger.user_ns: a whole number, 0 or more, is expected" },
	{ HEAD ",\"traces\":{\"stacks\":[{}],\"waits\":[{\"tid\":1,\"start_ns\":1,"
	       "\"user_stack\":1}]}}",
	  1, "traces.waits[0].user_stack: there is no such stack" },
	{ HEAD ",\"traces\":{\"stacks\":[{\"frames\":[{\"address\":\"12\"}]}]}}", 1,
	  "traces.stacks[0].frames[0].address: an address such as \"0x1f\" is expected" },
	{ HEAD ",\"absent\":[{\"section\":\"\\u001b[2J\",\"what\":\"\"}]}", 1,
	  "absent[0].section: has characters other than printable ASCII" },
	{ "{\"schema\":\"kernel_delay/1\",\"type\":\"triggers\",\"windows\":{\"buckets\":[{"
	  "\"le_ns\":64,\"count\":1},{\"le_ns\":64,\"count\":1}]}}",
	  1, "windows.buckets[1].le_ns: is not above that of the bucket before" },
	{ HEAD ",\"threads\":[{\"tid\":1,\"run\":{\"buckets\":[{\"le_ns\":\"18446744073709551615\","
	       "\"count\":\"18446744073709551615\"},{\"le_ns\":5,\"count\":1}]}}]}",
	  1, "threads[0].run.buckets[1].le_ns: is not above that of the bucket before" },
	{ HEAD ",\"threads\":[{\"tid\":1,\"ready\":{\"buckets\":[{\"count\":1}]}}]}", 1,
	  "threads[0].ready.buckets[0].le_ns: is missing" },
	{ HEAD ",\"threads\":[{\"tid\":1,\"ready\":{\"buckets\":{}}}]}", 1,
	  "threads[0].ready.buckets: an array is expected" },
	{ HEAD ",\"threads\":[{\"tid\":1,\"syscalls\":[{\"number\":0,\"buckets\":[{\"le_ns\":1,"
	       "\"count\":1},{\"le_ns\":2,\"count\":-1}]}]}]}",
	  1, "threads[0].syscalls[0].buckets[1].count: a whole number, 0 or more, is expected" },
	{ HEAD
	  ",\"processes\":[{\"pid\":7,\"start_ns\":3},{\"pid\":7},{\"pid\":7,\"start_ns\":3}]}",
	  1, "processes: has process 7 twice" },
	{ HEAD ",\"x\":\"\xff\"}", 1, "unable to decode byte 0xff near '\"'" },
};

TEST(faults)
{
	for (size_t i = 0; i < COUNT(faults); i++) {
		struct seen seen = { 0 };
		struct replay_error error;
		int status = stream_see(faults[i].text, &seen, &error);

		/* jansson may go on in more words, which are its own. */
		if (!strncmp(error.text, faults[i].what, strlen(faults[i].what)))
			error.text[strlen(faults[i].what)] = '\0';
		is_str(error.text, faults[i].what, "what is wrong, %zu", i);
		is_u64(error.line, faults[i].line, "in which line, %zu", i);
		is_i64(status, EX_DATAERR, "status, %zu", i);
	}
}

/* The most memory that this process has had since the last call; see proc(5). */
static uint64_t memory_peak(void)
{
	FILE *status = fopen("/proc/self/status", "r"),
	     *reset = fopen("/proc/self/clear_refs", "w");
	char line[256];
	uint64_t kilobytes = 0;

	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "VmHWM: %" SCNu64, &kilobytes) == 1)
			break;
	need(status && reset && fputs("5", reset) >= 0 && !fclose(reset) && !fclose(status));
	return kilobytes * 1024;
}

/* Distributions with as many buckets as may be, and one more. */
TEST(buckets)
{
	enum { MOST = 16384 };
	struct sample sample = { 0 };
	struct thread_row thread = { .tid = 1, .members = 1 };
	const struct replay_handlers handlers = { 0 };

	sample.threads = &thread;
	sample.n_threads = 1;
	for (uint64_t n = 1; n <= MOST + 1; n++) {
		struct replay_error error;
		char *text;

		need(!distribution_append(&thread.ready_times, 3 * n, n));
		if (n < MOST)
			continue;
		text = report_json_alone(&sample);
		is_i64(text_read(text, &handlers, &error), n > MOST ? EX_DATAERR : 0,
		       "%llu buckets", (unsigned long long)n);
		is_str(error.text,
		       n > MOST ? "threads[0].ready.buckets: has more than 16384 elements" : "",
		       "and why");
		free(text);
	}
	distribution_clear(&thread.ready_times);
}

/* Small files that would take much memory, and deep ones. */
TEST(greed)
{
	enum { MEMORY = 8 << 20, PIECES = 1 << 20 };
	static const char *const pieces[] = { "[",  "{\"a\":", "{},", "[],", "{\"tid\":1},",
					      "1,", "\"\"," };
	const struct replay_handlers handlers = { .memory_max = MEMORY };
	char *text = malloc(PIECES + 64);

	need(text);
	for (size_t i = 0; i < COUNT(pieces); i++) {
		char *at = stpcpy(text, HEAD ",\"threads\":[");
		uint64_t before;
		struct replay_error error;

		while (at < text + PIECES)
			at = stpcpy(at, pieces[i]);
		memory_peak();
		before = memory_peak();
		is_i64(text_read(text, &handlers, &error), EX_DATAERR, "many of %s", pieces[i]);
		ok(strstr(error.text, i < 2 ? "parsing depth" : "too large"), "and why");
		if (!SANITIZED) /* which needs memory of its own */
			ok(memory_peak() <= before + MEMORY, "no more memory than that");
	}
	free(text);
}

/* What is kept of a thread is more than its text, and what was parsed of it. */
TEST(greedy_rows)
{
	enum { MEMORY = 8 << 20, THREADS = 4096 };
	const struct replay_handlers handlers = { .memory_max = MEMORY };
	char *text = malloc(THREADS * 16 + 256);
	struct replay_error error;
	uint64_t before;

	need(text);
	for (int n = THREADS / 4; n <= THREADS; n += THREADS - THREADS / 4) {
		char *at = stpcpy(text, HEAD ",\"threads\":[{\"tid\":1}");

		for (int i = 1; i < n; i++)
			at = stpcpy(at, ",{\"tid\":1}");
		stpcpy(at, "]}");
		memory_peak();
		before = memory_peak();
		is_i64(text_read(text, &handlers, &error), n < THREADS ? 0 : EX_DATAERR,
		       "%d threads: %s", n, error.text);
		ok(n < THREADS || strstr(error.text, "too large"), "and why");
		if (!SANITIZED)
			ok(memory_peak() <= before + MEMORY, "no more memory than that");
	}
	free(text);
}

/* A file that was made to take memory is no reason to take much more than its text. */
TEST(dense)
{
	enum { MEMORY = 80 << 20, PIECES = 1400000 };
	static const char *const pieces[] = { "{},", "{\"tid\":1}," };
	const struct replay_handlers handlers = { 0 };
	char *text = malloc(PIECES + 64);

	need(text);
	for (size_t i = 0; i < COUNT(pieces); i++) {
		char *at = stpcpy(text, HEAD ",\"threads\":[");
		struct replay_error error;
		uint64_t before;

		while (at < text + PIECES)
			at = stpcpy(at, pieces[i]);
		stpcpy(at - 1, "]}");
		memory_peak();
		before = memory_peak();
		is_i64(text_read(text, &handlers, &error), EX_DATAERR, "many of %s", pieces[i]);
		ok(strstr(error.text, "too large"), "and why: %s", error.text);
		if (!SANITIZED)
			ok(memory_peak() <= before + MEMORY, "no more memory than that");
	}
	free(text);
}

/* Distributions, which samples own beside what was parsed; as large as may be. */
TEST(greedy_buckets)
{
	enum { MEMORY = 32 << 20, THREADS = 40, BUCKETS = 1000 };
	const struct replay_handlers handlers = { .memory_max = MEMORY };
	char *text = malloc(THREADS * (BUCKETS + 1) * 40), *at;
	struct replay_error error;
	uint64_t before;

	need(text);
	at = stpcpy(text, HEAD ",\"threads\":[");
	for (int i = 0; i < THREADS; i++) {
		at = stpcpy(at, &",{\"tid\":1,\"run\":{\"buckets\":[{\"le_ns\":0}"[!i]);
		for (int j = 1; j < BUCKETS; j++)
			at += sprintf(at, ",{\"le_ns\":%d,\"count\":1}", j);
		at = stpcpy(at, "]}}");
	}
	stpcpy(at, "]}");
	memory_peak();
	before = memory_peak();
	is_i64(text_read(text, &handlers, &error), 0, "many buckets: %s", error.text);
	if (!SANITIZED)
		ok(memory_peak() <= before + MEMORY, "no more memory than that");
	free(text);
}

TEST(files)
{
	const struct replay_handlers handlers = { sample_see, triggers_see, &(struct seen){ 0 }, 0,
						  false };
	char path[] = "/tmp/test_replay.XXXXXX";
	int fd = mkstemp(path);
	const char *said;
	FILE *in;

	need(fd >= 0 && write(fd, "{\n[}\n", 5) == 5);
	close(fd);
	capture_begin();
	is_i64(replay_open(&in, path) ?: replay_read(in, path, &handlers), EX_DATAERR,
	       "a damaged file");
	unlink(path);
	is_i64(replay_open(&in, path), EX_NOINPUT, "none");
	is_i64(replay_open(&in, "/") ?: replay_read(in, "/", &handlers), EX_IOERR, "a directory");
	said = capture_end();
	ok(strstr(said, ":2: string or '}' expected near '['\n") &&
		   strstr(said, "cannot open /tmp/test_replay.") &&
		   strstr(said, "kernel_delay: /: Is a directory\n"),
	   "messages name the file");
}

/* --- The writer of JSON --- */

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

/* In a list nothing says which bytes they were. */
TEST(text_in_list)
{
	struct json_writer writer;
	FILE *out = tmpfile();
	char *text;

	need(out);
	writer_begin(&writer, out);
	writer_array(&writer, "k");
	writer_text(&writer, NULL, "a\xe2\x82", SIZE_MAX);
	writer_array_end(&writer);
	text = written(out, &writer);
	ok(strstr(text, "[\"a\\uFFFD\\uFFFD\"]"), "%s", text);
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

	for (size_t i = 0; i < COUNT(texts); i++) {
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

	for (size_t i = 0; i < COUNT(clocks); i++) {
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

/* --- All formats --- */

static void full_check(report_function *report, int (*begin)(FILE *out),
		       const struct sample *sample, const char *name)
{
	FILE *full = fopen("/dev/full", "w");
	int error = begin ? begin(full) : 0;

	is_i64(error ?: report(judged(sample), &report_plain, full), -ENOSPC,
	       "%s: no room for a sample", name);
	ok(report(judged(sample), &report_plain, full) < 0, "nor for the next");
	fclose(full);
}

TEST(full_disk)
{
	static const struct trigger_stats stats;
	const struct output_format *format;
	struct thread_row rows[2];
	struct sample sample = everything(rows);
	FILE *full;

	sample.recording = random_recording(&sample);
	for (size_t i = 0; (format = output_format_at(i)); i++)
		if (format->sample)
			full_check(format->sample, format->begin, &sample, format->name);
	full_check(report_openmetrics, NULL, &sample, "openmetrics");
	full_check(report_prometheus, NULL, &sample, "prometheus");
	full = fopen("/dev/full", "w");
	is_i64(report_json_triggers(&stats, full), -ENOSPC, "nor for statistics");
	fclose(full);
	recording_clear(sample.recording);
	free(sample.recording);
	everything_clear(&sample);
}

/* --- Memory --- */

static unsigned int inserts_left = UINT_MAX;

/* In place of the C library's, which fails only without memory. */
void *tsearch(const void *key, void **root, int (*compare)(const void *, const void *))
{
	__typeof__(tsearch) *real;

	*(void **)&real = dlsym(RTLD_NEXT, "tsearch");
	return inserts_left && inserts_left-- ? real(key, root, compare) : NULL;
}

/* Stacks are numbered in a tree: a document without some of them is none. */
TEST(stacks_without_memory)
{
	struct thread_row rows[2];
	struct sample sample = everything(rows);
	FILE *null = fopen("/dev/null", "w");
	unsigned int fit = 0;

	for (inserts_left = fit; report_json(judged(&sample), NULL, null); inserts_left = ++fit)
		;
	ok(fit >= 2, "%u stacks fit, or the sample is refused", fit);
	inserts_left = fit - 1;
	is_i64(report_json(judged(&sample), NULL, null), -ENOMEM, "without memory for the last");
	inserts_left = UINT_MAX;
	fclose(null);
	everything_clear(&sample);
}
