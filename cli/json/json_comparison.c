// SPDX-License-Identifier: Apache-2.0
/* Differences from an earlier capture: written only, as they follow from samples. */
#include "cli/model/comparison.h"
#include "json.h"
#include "json_names.h"
#include "json_writer.h"

/* Keys are a promise: they are added to, never changed. */

static void side_write(struct json_writer *writer, const char *key,
		       const struct comparison_side *side)
{
	writer_object(writer, key);
	writer_real(writer, "mean", side->mean);
	writer_real(writer, "stddev", side->deviation);
	writer_object_end(writer);
}

static void difference_write(struct json_writer *writer, const struct difference *difference)
{
	const struct course_subject *subject = difference->subject;
	const struct measure *measure = difference->measure;

	writer_object(writer, NULL);
	if (measure) {
		writer_text(writer, "thread", subject->name, sizeof(subject->name));
		writer_word(writer, "measure", measure->key);
	} else {
		writer_word(writer, "cause", cause_words[subject->cause].key);
		writer_text(writer, "who", subject->name, sizeof(subject->name));
		writer_word(writer, "measure", "ns");
	}
	writer_bool(writer, "per_second", !measure || measure->merge == MERGE_SUM);
	side_write(writer, "before", &difference->before);
	side_write(writer, "now", &difference->now);
	writer_real(writer, "change", difference->now.mean - difference->before.mean);
	writer_real(writer, "p", difference->p);
	writer_object_end(writer);
}

int report_json_comparison(const struct comparison *comparison,
			   const struct report_options *options, FILE *out)
{
	struct json_writer writer;

	(void)options;
	writer_begin(&writer, out);
	writer_object(&writer, NULL);
	writer_word(&writer, "schema", JSON_SCHEMA);
	writer_word(&writer, "type", JSON_COMPARISON);
	writer_u64(&writer, "samples_before", comparison->before->samples);
	writer_u64(&writer, "samples_now", comparison->now->samples);
	writer_bool(&writer, "too_few", comparison->few);
	writer_word(&writer, "test", "Mann-Whitney U");
	writer_real(&writer, "p_limit", comparison->limit);
	writer_u64(&writer, "tested", comparison->tested);
	writer_u64(&writer, "left_out", comparison->before->left_out + comparison->now->left_out);
	writer_array(&writer, "differences");
	for (size_t i = 0; i < comparison->n; i++)
		difference_write(&writer, &comparison->all[i]);
	writer_array_end(&writer);
	writer_object_end(&writer);
	return writer_end(&writer);
}
