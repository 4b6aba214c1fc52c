// SPDX-License-Identifier: Apache-2.0
/* Data over several samples: only written, since it follows from them. Keys are a promise: they
 * are added to, never changed. */
#include "cli/model/comparison.h"
#include "cli/model/summary.h"
#include "json.h"
#include "json_writer.h"

/* --- Statistics --- */

static void statistic_write(struct json_writer *writer, const struct statistic *statistic,
			    uint64_t n)
{
	writer_real(writer, "min", statistic->min);
	writer_real(writer, "mean", statistic->mean);
	writer_real(writer, "max", statistic->max);
	writer_real(writer, "stddev", statistic_deviation(statistic, n));
	writer_real(writer, "jitter", statistic_jitter(statistic, n));
	writer_real(writer, "ewma", statistic->ewma);
}

static void measures_write(struct json_writer *writer, const struct summary *summary,
			   const struct summary_thread *thread)
{
	writer_array(writer, "measures");
	for (size_t i = 0; i < summary->measures.n; i++) {
		const struct statistic *value = summary_value(thread, i);
		struct statistic rate;

		if (!value || !(value->max > 0))
			continue;
		writer_object(writer, NULL);
		writer_word(writer, "measure", summary->measures.all[i].key);
		statistic_write(writer, value, thread->n);
		writer_u64(writer, "peak_sample", value->peak);
		if (summary_rate(summary, thread, i, &rate)) {
			writer_object(writer, "per_second");
			statistic_write(writer, &rate, thread->n);
			writer_object_end(writer);
		}
		writer_object_end(writer);
	}
	writer_array_end(writer);
}

static void thread_write(struct json_writer *writer, const struct summary *summary,
			 const struct summary_thread *thread, const char *key)
{
	writer_object(writer, key);
	if (thread != &summary->all) {
		writer_i64(writer, "tid", thread->tid);
		if (thread->pid)
			writer_i64(writer, "pid", thread->pid);
		writer_text(writer, "name", thread->name, sizeof(thread->name));
	}
	writer_u64(writer, "members", thread->members);
	writer_u64(writer, "samples", thread->n);
	writer_u64(writer, "first_sample", thread->first);
	writer_u64(writer, "last_sample", thread->last);
	writer_bool(writer, "ended", thread->ended);
	writer_array(writer, "kept_shares");
	for (size_t i = 0; i < summary_points(summary); i++)
		writer_real(writer, NULL, summary_point(summary, thread, i));
	writer_array_end(writer);
	measures_write(writer, summary, thread);
	writer_object_end(writer);
}

int report_json_summary(const struct summary *summary, const struct report_options *options,
			FILE *out)
{
	struct json_writer writer;

	(void)options;
	writer_begin(&writer, out);
	writer_object(&writer, NULL);
	writer_word(&writer, "schema", JSON_SCHEMA);
	writer_word(&writer, "type", JSON_SUMMARY);
	writer_u64(&writer, "samples", summary->samples);
	writer_u64(&writer, "duration_ns", summary->ns);
	writer_real(&writer, "ewma_alpha", summary->alpha);
	writer_u64(&writer, "threads_came", summary->came);
	writer_u64(&writer, "threads_went", summary->went);
	writer_u64(&writer, "left_out", summary->left_out);
	writer_u64(&writer, "samples_per_point", summary->span);
	thread_write(&writer, summary, &summary->all, "all");
	writer_array(&writer, "threads");
	for (size_t i = 0; i < summary->n; i++)
		thread_write(&writer, summary, &summary->threads[i], NULL);
	writer_array_end(&writer);
	writer_object_end(&writer);
	return writer_end(&writer);
}

/* --- Differences from an earlier capture --- */

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
	const struct series_subject *subject = difference->subject;
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
