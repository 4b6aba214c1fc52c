/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of samples, compared with golden files: whole, or the parts of the text and of the JSON
 * that a test is about. Each report is made twice, of the sample and of what is read from its
 * JSON, and so is the JSON; both must be the same. */
#ifndef TESTS_UNIT_REPORT_H
#define TESTS_UNIT_REPORT_H

#include "lines.h"

#include "cli/json/json.h"
#include "cli/json/replay.h"
#include "cli/text/text.h"
#include "golden.h"
#include "judged.h"
#include "tap.h"

#define JSON_WIDTH 170 /* columns of a line; what is longer has several */

/* Paragraphs of the text that have such a line, and, if they begin with a dot, members of the
 * JSON, as jq has it: .threads[].name */
#define PARTS(...) ((const char *const[]){ __VA_ARGS__, NULL })

typedef int report_function(const struct sample *sample, const struct report_options *options,
			    FILE *out);

static const struct report_options report_plain;

/* --- Reports, and what becomes of them --- */

/* The caller frees it. */
static char *report_written(report_function *report, const struct sample *sample,
			    const struct report_options *options)
{
	FILE *out = tmpfile();

	if (report(judged(sample), options, out))
		ok(false, "it is written");
	return golden_text(out);
}

static char *report_written_triggers(int (*report)(const struct trigger_stats *stats, FILE *out),
				     const struct trigger_stats *stats)
{
	FILE *out = tmpfile();

	if (report(stats, out))
		ok(false, "it is written");
	return golden_text(out);
}

/* What is made again of what was read. */
struct again {
	report_function *report;
	const struct report_options *options;
	char *text, *json;
};

static int again_see(const struct sample *sample, void *context)
{
	struct again *again = context;

	again->text = report_written(again->report, sample, again->options);
	again->json = report_written(report_json, sample, NULL);
	return 0;
}

static int again_see_triggers(const struct trigger_stats *stats, void *context)
{
	struct again *again = context;

	again->text = report_written_triggers(report_text_triggers, stats);
	again->json = report_written_triggers(report_json_triggers, stats);
	return 0;
}

/* Whether the JSON, which is a line, makes the same text and JSON. Says nothing if it is so. */
static bool report_survives(const char *json, const char *text, struct again again)
{
	const struct replay_handlers handlers = { again_see, again_see_triggers, &again, 0, false };
	FILE *in = fmemopen((void *)json, strlen(json), "r");
	struct replay_error error;
	bool same = !replay_stream(in, &handlers, &error) && again.text && again.json &&
		    line_length(json) == strlen(json);

	fclose(in);
	if (!same)
		printf("# %s\n", error.text);
	else if (strcmp(json, again.json))
		golden_difference(again.json, json);
	else if (strcmp(text, again.text))
		golden_difference(again.text, text);
	same = same && !strcmp(json, again.json) && !strcmp(text, again.text);
	free(again.text);
	free(again.json);
	return same;
}

/* The JSON of a sample without its recording, which is the caller's. */
static char *report_json_alone(const struct sample *sample)
{
	struct sample alone = *sample;

	alone.recording = NULL;
	return report_written(report_json, &alone, NULL);
}

/* One test: the report, which is the caller's, is the same once the sample was saved and read. */
__attribute__((unused)) static char *report_checked(report_function *report,
						    const struct sample *sample,
						    const struct report_options *options,
						    const char *what)
{
	char *text = report_written(report, sample, options), *json = report_json_alone(sample);

	ok(report_survives(json, text, (struct again){ report, options, NULL, NULL }),
	   "%s: is the same after it was saved and read", what);
	free(json);
	return text;
}

/* --- Parts of the JSON, byte by byte --- */

/* Of a value, or of a key. */
static size_t json_length(const char *value)
{
	const char *at = value;
	int depth = 0;

	do {
		if (*at == '"')
			for (at++; *at != '"'; at++)
				at += *at == '\\';
		depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
		at++;
	} while (depth || !strchr(":,]}\n", *at));
	return (size_t)(at - value);
}

/* Steps through an object or array: at is where it begins, or behind a value of it. */
struct json_walk {
	const char *at;
	bool object;
	const char *key, *value;
};

static bool json_step(struct json_walk *walk)
{
	if (strchr("}]", *walk->at) || strchr("}]", walk->at[1]))
		return false;
	walk->key = walk->value = walk->at + 1;
	if (walk->object)
		walk->value += json_length(walk->key) + 1;
	walk->at = walk->value + json_length(walk->value);
	return true;
}

/* The members of a row, which is an element of an array, share lines as far as they fit. */
static void json_print(FILE *out, const char *value, int depth, bool row)
{
	struct json_walk walk = { .at = value, .object = *value == '{' };
	size_t length = json_length(value), column = JSON_WIDTH;
	const char *comma = "";

	if ((*value != '{' && *value != '[') || length + (size_t)depth <= JSON_WIDTH) {
		fprintf(out, "%.*s", (int)length, value);
		return;
	}
	putc(*value, out);
	for (; json_step(&walk); comma = ",") {
		size_t member = (size_t)(walk.at - walk.key) + strlen(",");

		fputs(comma, out);
		if (!row || column + member > JSON_WIDTH) {
			fprintf(out, "\n%*s", depth + 1, "");
			column = (size_t)depth + 1;
		}
		column += member;
		fprintf(out, "%.*s", (int)(walk.value - walk.key), walk.key);
		json_print(out, walk.value, depth + 1, !walk.object);
	}
	fprintf(out, "\n%*s%c", depth, "", value[length - 1]);
}

/* Prints what a path leads to, such as .threads[].name */
static void json_select(FILE *out, const char *value, const char *path)
{
	struct json_walk walk = { .at = value, .object = *value == '{' };
	size_t length = *path ? strcspn(path + 1, ".[") : 0;

	if (!*path || !path[1]) {
		json_print(out, value, 0, false);
		putc('\n', out);
		return;
	}
	while (json_step(&walk)) {
		if (*path == '[')
			json_select(out, walk.value, path + strlen("[]"));
		else if (!strncmp(walk.key + 1, path + 1, length) && walk.key[1 + length] == '"')
			json_select(out, walk.value, path + 1 + length);
	}
}

/* --- Golden files --- */

/* Paragraphs, which end at an empty line, in which there is this. */
static void paragraphs_select(FILE *out, const char *text, const char *const *parts)
{
	while (*text) {
		const char *end = strstr(text, "\n\n");
		size_t length = end ? (size_t)(end + 2 - text) : strlen(text);

		for (size_t i = 0; parts[i]; i++) {
			if (*parts[i] == '.' || !memmem(text, length, parts[i], strlen(parts[i])))
				continue;
			fprintf(out, "%.*s", (int)length, text);
			break;
		}
		text += length;
	}
}

/* Compares the parts of a report, or all if there are none, with the golden file of this name.
 * Frees text and JSON. */
__attribute__((unused)) static void parts_are_golden(char *text, char *json, const char *name,
						     const char *const *parts)
{
	char kept[128];
	struct made made;

	snprintf(kept, sizeof(kept), "json_%s", name);
	golden_keep(kept, json);
	made_begin(&made);
	paragraphs_select(made.out, text, parts ? parts : PARTS(""));
	for (const char *const *part = parts ? parts : PARTS("."); *part; part++) {
		if (**part != '.')
			continue;
		fprintf(made.out, "%s\n", *part);
		json_select(made.out, json, *part);
	}
	golden_is(made_end(&made), name);
	free(text);
	free(json);
}

/* Two tests: the report is the same once its sample was saved and read, and as in the golden file
 * of this name. */
__attribute__((unused)) static void is_golden(const struct sample *sample,
					      const struct report_options *options,
					      const char *name, const char *const *parts)
{
	char *text = report_checked(report_text, sample, options, name);
	char *json = report_json_alone(sample);

	parts_are_golden(text, json, name, parts);
}

__attribute__((unused)) static void is_golden_triggers(const struct trigger_stats *stats,
						       const char *name, const char *const *parts)
{
	char *text = report_written_triggers(report_text_triggers, stats);
	char *json = report_written_triggers(report_json_triggers, stats);

	ok(report_survives(json, text, (struct again){ 0 }), "%s: is the same after it was saved",
	   name);
	parts_are_golden(text, json, name, parts);
}

#endif
