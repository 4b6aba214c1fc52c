/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of samples and statistics that are saved as JSON and read again. */
#ifndef TESTS_UNIT_REPLAYED_H
#define TESTS_UNIT_REPLAYED_H

#include <stdlib.h>
#include <string.h>

#include "cli/json/json.h"
#include "cli/json/json_parts.h"
#include "cli/json/replay.h"
#include "golden.h"
#include "tap.h"

static struct {
	json_t *root;
	struct reader reader;
	struct sample sample;
	struct trigger_stats stats;
	char *json; /* all that was written since the last comparison */
	size_t length;
} replayed;

static void replayed_clear(void)
{
	sample_clear(&replayed.sample);
	trigger_stats_clear(&replayed.stats);
	memset(&replayed.stats, 0, sizeof(replayed.stats));
	reader_clear(&replayed.reader);
	json_decref(replayed.root);
	replayed.root = NULL;
}

/* Keeps the line and parses it. */
static void replayed_load(FILE *out)
{
	json_error_t error;
	size_t length;
	char *line = golden_read(out, &length);

	fclose(out);
	replayed_clear();
	if (!length || strchr(line, '\n') != line + length - 1)
		ok(false, "a line");
	replayed.root = json_loadb(line, length, JSON_REJECT_DUPLICATES, &error);
	if (!replayed.root) {
		ok(false, "JSON: %s", error.text);
		abort();
	}
	replayed.json = realloc(replayed.json, replayed.length + length + 1);
	memcpy(replayed.json + replayed.length, line, length + 1);
	replayed.length += length;
	free(line);
}

static void replayed_check(void)
{
	if (!replayed.reader.failed)
		return;
	ok(false, "replayed: %s", replayed.reader.error);
	abort();
}

/* Forgets what was written so far. */
__attribute__((unused)) static void replayed_forget(void)
{
	free(replayed.json);
	replayed.json = NULL;
	replayed.length = 0;
}

/* The sample, without its recording, after it was saved and read; valid up to the next call. */
__attribute__((unused)) static const struct sample *replayed_sample(const struct sample *sample)
{
	struct sample alone = *sample;
	FILE *out = tmpfile();

	alone.recording = NULL;
	if (report_json(&alone, NULL, out))
		abort();
	replayed_load(out);
	replay_sample(&replayed.reader, replayed.root, &replayed.sample);
	replayed_check();
	return &replayed.sample;
}

__attribute__((unused)) static const struct trigger_stats *
replayed_triggers(const struct trigger_stats *stats)
{
	FILE *out = tmpfile();

	if (report_json_triggers(stats, out))
		abort();
	replayed_load(out);
	replay_triggers(&replayed.reader, replayed.root, &replayed.stats);
	replayed_check();
	return &replayed.stats;
}

/* Compares with the golden file of the text, and the JSON with that of the JSON. */
__attribute__((unused)) static void replayed_compare(FILE *out, const char *name)
{
	char json_name[128];
	FILE *json = tmpfile();

	golden_compare(out, name);
	if (!replayed.length) {
		fclose(json);
		return;
	}
	fwrite(replayed.json, 1, replayed.length, json);
	snprintf(json_name, sizeof(json_name), "json_%s", name);
	golden_compare(json, json_name);
	replayed_forget();
}

#endif
