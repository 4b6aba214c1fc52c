// SPDX-License-Identifier: Apache-2.0
/* Recordings are the same after they have been saved and read: as JSON, and as a timeline. And what
 * is said about lines that are not what they should be. */
#include "report.h"

#include <errno.h>
#include <sysexits.h>

#include "cli/base/syscall_set.h"
#include "cli/json/json_recorded.h"
#include "cli/perfetto/perfetto.h"
#include "path_recording.h"
#include "random_recording.h"
#include "random_sample.h"
#include "sanitized.h"
#include "tidy_recording.h"

#define ROUNDS (SANITIZED ? 20U : 400U)
#define MANY (RECORDED_ROWS + 5)

struct text {
	char *bytes;
	size_t length;
};

static struct text written(const struct sample *sample,
			   int (*report)(const struct sample *sample,
					 const struct report_options *options, FILE *out))
{
	static const struct report_options plain;
	struct text text;
	FILE *out = open_memstream(&text.bytes, &text.length);

	need(out && !report(judged(sample), &plain, out) && !fclose(out));
	return text;
}

static bool same(struct text one, struct text other)
{
	bool equal = one.length == other.length && !memcmp(one.bytes, other.bytes, one.length);

	free(one.bytes);
	free(other.bytes);
	return equal;
}

/* What is compared with what is read. */
struct seen {
	const struct sample *sample;
	unsigned int samples, wrong, recordings;
};

static int sample_see(const struct sample *sample, void *context)
{
	struct seen *seen = context;

	seen->samples++;
	seen->recordings += sample->recording != NULL;
	if (!seen->sample)
		return 0;
	seen->wrong += !same(written(sample, report_json), written(seen->sample, report_json));
	seen->wrong += !same(written(sample, report_perfetto),
			     written(seen->sample, report_perfetto));
	return 0;
}

static int text_see(const char *text, size_t length, struct seen *seen, bool recordings,
		    struct replay_error *error)
{
	const struct replay_handlers handlers = { .sample = sample_see,
						  .context = seen,
						  .recordings = recordings,
						  .memory_max = 1 << 26 };
	FILE *in = fmemopen((void *)text, length, "r");
	int status = replay_stream(in, &handlers, error);

	fclose(in);
	return status;
}

/* A sample that has little else. */
static struct sample recorded_sample(void)
{
	struct sample sample = { .number = chance(3),
				 .pid = 7,
				 .start = 1000000 + chance(1ULL << chance(60)) };

	sample.end = sample.start + 1 + chance(1000);
	sample.recording = random_recording(&sample);
	tidy_recording(sample.recording);
	sample.recorded = recording_facts(sample.recording, sample.start);
	return sample;
}

/* A row of each list, and all that kinds may have. First, as for its report alone this program need
 * not go on. */
TEST(golden)
{
	struct sample sample = { .number = 3, .pid = 7, .start = 100, .end = 200 };
	struct recording *made = calloc(1, sizeof(*made));
	struct span *state;
	struct made golden;
	char *json;

	need(made);
	sample.recording = made;
	made->from = 40, made->to = 200, made->wanted = 80, made->memory = 4096;
	made->events = 9, made->lost = 1, made->overwritten = true;
	made_thread(made, 7, 7, "\"\xff\x1b[2J");
	made_thread(made, 9, 0, "kworker/0:1")->of_kernel = true;
	made_wait(made, 7, 90, KD_AWAITED_LOCK, KD_FROM_TASK, 9)->holder = 8;
	state = made_state(made, 7, 100, KD_READY_WOKEN);
	state->cpu = 1, state->call = syscall_number("futex");
	made_state(made, 7, 200, KD_USER)->goes_on = true;
	state = made_state(made, 9, 80, KD_KERNEL);
	state->early = true, state->of_target = false, state->call = KD_CALL_UNKNOWN;
	made_irq(made, 1, 50, 60, true, "nvme0q1");
	made->spans[SPAN_IRQS].all[0].tid = 7, made->spans[SPAN_IRQS].all[0].state = KD_USER;
	made_run(made, 1, 90, 100, 5000);
	made->spans[SPAN_RUNS].all[0].tid = 700;
	made_span(made, SPAN_CALLS,
		  (struct span){ 110, 110, .tid = 7, .call = syscall_number("futex"), .value = -110,
				 .early = true });
	made_span(made, SPAN_CALLS,
		  (struct span){ 120, 120, .tid = 7, .call = KD_CALL_UNKNOWN, .goes_on = true });
	made_span(made, SPAN_HITS, (struct span){ 100, 100, .tid = 7, .role = KD_STOP });
	made_span(made, SPAN_STOLEN, (struct span){ 100, 200, .tid = 7, .value = 40 });
	made_culprit(made, 5000, CULPRIT_TASK, 0, "cron");
	made->culprits[0].is.pid = 700;
	json = report_written(report_json, &sample, NULL);
	golden_keep("json_recording", json);
	made_begin(&golden);
	EACH_LINE(line, json)
	{
		if (line[line_length(line)])
			json_select(golden.out, line, "."); /* the last is the sample's */
	}
	golden_is(made_end(&golden), "recording");
	free(json);
	sample_clear(&sample);
}

/* What differs in time and result alone is of one kind. */
TEST(kinds)
{
	struct sample sample = { .number = 1, .pid = 7, .start = 5, .end = 200 };
	struct recording *made = calloc(1, sizeof(*made));
	struct text text;
	const char *kinds;

	need(made);
	sample.recording = made;
	made->to = sample.end;
	for (int i = 0; i < 5; i++)
		made_span(made, SPAN_CALLS,
			  (struct span){ 10U * i, 10U * i + i, .tid = 7, .call = 1, .value = i });
	text = written(&sample, report_json);
	kinds = strstr(text.bytes, "\"kinds\":[{");
	ok(kinds && strchr(kinds, ']') &&
		   !memmem(kinds, (size_t)(strchr(kinds, ']') - kinds), "},{", 3),
	   "calls of one kind");
	ok(strstr(text.bytes, "\"result\":[0,1,2,3,4]") != NULL, "with their results");
	free(text.bytes);
	sample_clear(&sample);
}

TEST(round_trip)
{
	struct seen seen = { 0 };
	unsigned int refused = 0;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct sample sample = recorded_sample();
		struct text text = written(&sample, report_json);
		struct replay_error error;

		seen.sample = &sample;
		if (text_see(text.bytes, text.length, &seen, true, &error)) {
			if (!refused++)
				printf("# %lu: %s\n", error.line, error.text);
		}
		free(text.bytes);
		sample_clear(&sample);
	}
	is_u64(refused, 0, "all recordings are read");
	is_u64(seen.recordings, ROUNDS, "with their samples");
	is_u64(seen.wrong, 0, "and are the same, as JSON and as timelines");
}

/* More rows than a line has, all different. */
TEST(many)
{
	struct sample sample = { .number = 1, .pid = 7, .start = 5, .end = 5 + MANY * 3 };
	struct recording *recording = calloc(1, sizeof(*recording));
	struct replay_error error;
	struct seen seen = { .sample = &sample };
	unsigned int lines = 0;
	struct text text;

	need(recording);
	sample.recording = recording;
	recording->to = sample.end;
	for (size_t i = 0; i < MANY; i++)
		made_span(recording, SPAN_STATES,
			  (struct span){ .start = 5 + 3 * i,
					 .end = 7 + 3 * i,
					 .tid = (pid_t)(i / 100),
					 .call = (int32_t)(i % 5),
					 .waker = (pid_t)i,
					 .state = KD_BLOCKED });
	text = written(&sample, report_json);
	for (size_t i = 0; i < text.length; i++)
		lines += text.bytes[i] == '\n';
	is_u64(lines, 1 + MANY / RECORDED_ROWS + 1 + 1, "lines are bounded");
	is_i64(text_see(text.bytes, text.length, &seen, true, &error), 0, "all are read: %s",
	       error.text);
	is_u64(seen.wrong, 0, "and are the same");
	is_i64(text_see(text.bytes, text.length - 1, &seen, false, &error), 0,
	       "who does not want them");
	is_u64(seen.samples, 2, "has the sample");
	is_u64(seen.recordings, 1, "without");
	free(text.bytes);
	sample_clear(&sample);
}

#define LINE(type) "{\"schema\":\"kernel_delay/1\",\"type\":\"" type "\",\"number\":1,"
#define BEGIN LINE("recording") "\"start_ns\":1,\"end_ns\":9,\"rows\":{\"states\":2,\"hits\":1}"
#define ROWS LINE("recorded") "\"list\":\"states\",\"rows\":2,\"start_ns\":2,"
#define KINDS "\"kinds\":[{\"tid\":7,\"cpu\":0},{\"tid\":5,\"cpu\":0}]"
#define HIT                                                                                        \
	LINE("recorded")                                                                           \
	"\"list\":\"hits\",\"rows\":1,\"start_ns\":2,\"kinds\":[{\"tid\":7,\"trigger\":\"stop\"}]" \
	"}"
#define SAMPLE LINE("sample") "\"window\":{\"start_ns\":1,\"end_ns\":2}}"

static const struct {
	const char *text;
	unsigned long line;
	const char *what;
} faults[] = {
	{ BEGIN "}\n" ROWS KINDS "}\n" HIT "\n" SAMPLE, 0, "" },
	{ BEGIN "}\n" LINE("recorded") "\"list\":\"of the future\"}\n" ROWS KINDS "}\n" HIT SAMPLE,
	  0, "" },
	{ BEGIN "}\n" ROWS KINDS "}\n" HIT "\n", 0,
	  "the file ends before the sample of a recording" },
	{ BEGIN "}\n" BEGIN "}\n", 2, "the sample of the recording before is missing" },
	{ ROWS KINDS "}\n" SAMPLE, 1, "the recording that these rows are of is missing" },
	{ BEGIN "}\n" SAMPLE, 2, "of the recording states are missing" },
	{ BEGIN "}\n" ROWS KINDS "}\n" SAMPLE, 3, "of the recording hits are missing" },
	{ BEGIN "}\n" HIT HIT, 2, "rows: is larger than what is left, 0" },
	{ BEGIN "}\n" LINE("recorded") "\"list\":\"states\",\"rows\":16385}", 2,
	  "rows: is larger than 16384" },
	{ LINE("recording") "\"start_ns\":9,\"end_ns\":1}\n" SAMPLE, 1,
	  "start_ns: is behind end_ns" },
	{ LINE("recording") "\"start_ns\":1,\"end_ns\":1}\n" LINE(
		  "sample") "\"number\":2,\"window\":{}}",
	  2, "duplicate object key" },
	{ LINE("recording") "\"start_ns\":1,\"end_ns\":1}\n{\"schema\":\"kernel_delay/1\","
			    "\"type\":\"sample\",\"number\":2,\"window\":{\"start_ns\":1,\"end_"
			    "ns\":2}}",
	  2, "number: is not that of the recording before it" },
	{ BEGIN ",\"threads\":[{\"pid\":7}]}", 1, "threads[0].tid: is missing" },
	{ BEGIN ",\"threads\":[{\"tid\":7},{\"tid\":7}]}", 1,
	  "threads: are not in the order of their TIDs" },
	{ BEGIN ",\"culprits\":[{\"key\":7,\"is\":{\"kind\":\"task\"}},{\"key\":7,\"is\":{\"kind\":"
		"\"idle\"}}]}",
	  1, "culprits: are not in the order of their keys" },
	{ BEGIN "}\n" ROWS KINDS ",\"kind\":[0,1]}", 2, "row 1 is out of order" },
	{ BEGIN "}\n" ROWS KINDS ",\"ns\":[2,0],\"after_ns\":[0,-1]}", 2, "row 1 is out of order" },
	{ BEGIN "}\n" ROWS KINDS ",\"kind\":[0,2]}", 2, "kind: [1]: there is no such kind" },
	{ BEGIN "}\n" ROWS KINDS ",\"kind\":[0,-1]}", 2,
	  "kind: [1] is no number that it may have" },
	{ BEGIN "}\n" ROWS KINDS ",\"kind\":[0]}", 2, "kind: has 1 numbers for 2 rows" },
	{ BEGIN "}\n" ROWS KINDS ",\"ns\":[0,-1]}", 2, "ns: [1] is no number that it may have" },
	{ BEGIN "}\n" ROWS KINDS ",\"ns\":{}}", 2, "ns: an array is expected" },
	{ BEGIN "}\n" ROWS KINDS ",\"after_ns\":[0,-3]}", 2,
	  "after_ns: [1]: there is no such time" },
	{ BEGIN "}\n" ROWS KINDS ",\"after_ns\":[0,1.5]}", 2,
	  "after_ns: [1] is no number that it may have" },
	{ BEGIN "}\n" ROWS "\"kinds\":[{\"tid\":7}]}", 2, "kinds[0].cpu: is missing" },
	{ BEGIN "}\n" ROWS "\"kinds\":[{\"tid\":7,\"cpu\":65536}]}", 2,
	  "kinds[0].cpu: there are no more than 65,536 CPUs" },
	{ BEGIN "}\n" ROWS "\"kinds\":[]}", 2, "kind: [0]: there is no such kind" },
};

TEST(faults)
{
	for (size_t i = 0; i < COUNT(faults); i++) {
		struct seen seen = { 0 };
		struct replay_error error;
		const char *what = faults[i].what;
		int status = text_see(faults[i].text, strlen(faults[i].text), &seen, true, &error);

		if (!strncmp(error.text, what, strlen(what)) && *what)
			error.text[strlen(what)] = '\0';
		is_str(error.text, what, "what is wrong, %zu", i);
		is_u64(error.line, faults[i].line, "in which line, %zu", i);
		is_i64(status, *what ? EX_DATAERR : 0, "status, %zu", i);
	}
}

/* Lines of a few bytes that stand for many rows. */
TEST(greed)
{
	const char rows[] = LINE("recorded") "\"list\":\"states\",\"rows\":16384,\"start_ns\":2,"
					     "\"kinds\":[{\"tid\":7,\"cpu\":0}]}\n";
	const struct replay_handlers handlers = { .recordings = true, .memory_max = 8 << 20 };
	struct replay_error error;
	struct text text;
	FILE *out = open_memstream(&text.bytes, &text.length), *in;

	fputs(LINE("recording") "\"start_ns\":1,\"end_ns\":9,\"rows\":{\"states\":10000000}}\n",
	      out);
	for (int i = 0; i < 100; i++)
		fputs(rows, out);
	fclose(out);
	in = fmemopen(text.bytes, text.length, "r");
	is_i64(replay_stream(in, &handlers, &error), EX_DATAERR, "a recording of much memory");
	is_str(error.text, "the recording is too large", "and why");
	fclose(in);
	free(text.bytes);
}
