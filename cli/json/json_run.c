// SPDX-License-Identifier: Apache-2.0
/* What a run has besides its samples: triggers, statistics over samples, and differences from an
 * earlier capture. Keys are a promise: they are added to, never changed. */
#include "cli/model/comparison.h"
#include "cli/model/summary.h"
#include "cli/model/words.h"
#include "json.h"
#include "json_fields.h"
#include "json_writer.h"

/* --- Triggers, both ways --- */

#define STATS(key, kind, member, ...) FIELD(key, kind, struct trigger_stats, member, __VA_ARGS__)

/* Members of a role are elements of arrays. */
#define OUTCOME(key, role, hit) STATS(key, FIELD_U64, tally.outcome[role][hit]),
#define START_OUTCOME(hit, key, title) OUTCOME(key, KD_START, hit)
#define STOP_OUTCOME(hit, key, title) OUTCOME(key, KD_STOP, hit)
#define ROLE(role)                                                                                 \
	STATS("trigger", FIELD_TEXT, names[role], .flags = FIELD_REQUIRED),                        \
		STATS("target_only", FIELD_BOOL, target_only[role]),                               \
		STATS("cost_ns", FIELD_U64, cost[role]),                                           \
		STATS("hits", FIELD_U64, tally.hits[role]),                                        \
		STATS("condition_false", FIELD_U64, tally.unmet[role], .flags = FIELD_IF_ANY),     \
		STATS("condition_unread", FIELD_U64, tally.unread[role], .flags = FIELD_IF_ANY)

static const struct field start_fields[] = {
	ROLE(KD_START),
	OUTCOME_WORDS(START_OUTCOME) /* "used" and so on */
	FIELDS_END,
};

static const struct field stop_fields[] = {
	ROLE(KD_STOP),
	OUTCOME_WORDS(STOP_OUTCOME) /* "used" and so on */
	FIELDS_END,
};

#define PAYER(key, kind, member) FIELD(key, kind, struct probe_payer, member)
static const struct field payer_fields[] = {
	PAYER("tid", FIELD_I32, tid),
	PAYER("name", FIELD_NAME, name),
	PAYER("cost_ns", FIELD_U64, cost),
	PAYER("cpu_ns", FIELD_U64, cpu),
	FIELDS_END,
};

static void coverage_write(struct json_writer *writer, const struct field *field,
			   const void *structure)
{
	writer_u64(writer, field->key, trigger_stats_coverage(structure));
}

static const struct json_form coverage_form = { coverage_write, NULL };

static const struct field duty_fields[] = {
	STATS("off_ns", FIELD_U64, duty.off),
	STATS("off_phases", FIELD_U64, duty.phases),
	STATS("dropped_windows", FIELD_U64, duty.dropped),
	STATS("on_work_ns", FIELD_U64, duty.worked_on),
	STATS("off_work_ns", FIELD_U64, duty.worked_off),
	JSON_FORM("seen_permille", coverage_form),
	FIELDS_END,
};

static void windows_write(struct json_writer *writer, const struct field *field,
			  const void *structure)
{
	const struct trigger_stats *stats = structure;
	const struct kd_tally *tally = &stats->tally;
	const struct durations windows = {
		.ended = &stats->windows,
		.min = ~tally->min,
		.max = tally->max,
	};

	if (!stats->windows.n)
		return;
	writer_object(writer, field->key);
	writer_u64(writer, "count", distribution_count(&stats->windows));
	writer_u64(writer, "total_ns", tally->total);
	writer_u64(writer, "min_ns", ~tally->min);
	writer_u64(writer, "max_ns", tally->max);
	json_distribution(writer, &windows);
	writer_object_end(writer);
}

static void windows_read(struct reader *reader, const json_t *object, const struct field *field,
			 void *structure)
{
	const json_t *member = reader_enter(reader, object, field->key);
	struct trigger_stats *stats = structure;

	if (member) {
		stats->tally.total = reader_u64(reader, member, "total_ns");
		stats->tally.min = ~reader_u64(reader, member, "min_ns");
		stats->tally.max = reader_u64(reader, member, "max_ns");
		replay_distribution(reader, member, &stats->windows);
	}
	reader_leave(reader);
}

static const struct json_form windows_form = { windows_write, windows_read };

#define NESTED(key, kind, member) FIELD(key, kind, struct nested_pair, member)
static const struct field nested_fields[] = {
	NESTED("tid", FIELD_I32, tid),
	NESTED("name", FIELD_NAME, name),
	NESTED("start_ns", FIELD_U64, start),
	NESTED("end_ns", FIELD_U64, end),
	FIELDS_END,
};

const struct field json_trigger_fields[] = {
	STATS("lasted_ns", FIELD_U64, lasted),
	STATS("armed_ns", FIELD_U64, from, .flags = FIELD_IF_ANY),
	STATS("disarmed_ns", FIELD_U64, to, .flags = FIELD_IF_ANY),
	STATS("delta_ns", FIELD_U64, delta),
	STATS("same_thread", FIELD_BOOL, same_thread),
	STATS("skipped_runs", FIELD_U64, skipped),
	STATS("dropped_hits", FIELD_U64, dropped, .flags = FIELD_IF_ANY),
	STATS("foreign_hits", FIELD_U64, tally.foreign),
	STATS("outside_hits", FIELD_U64, tally.outside, .flags = FIELD_IF_ANY),
	{ .key = "start", .kind = FIELD_OBJECT, .fields = start_fields, .flags = FIELD_IF_ANY },
	{ .key = "stop", .kind = FIELD_OBJECT, .fields = stop_fields, .flags = FIELD_IF_ANY },
	STATS("payer", FIELD_OBJECT, payer, .fields = payer_fields, .flags = FIELD_IF_ANY),
	{ .key = "duty", .kind = FIELD_OBJECT, .fields = duty_fields },
	JSON_FORM("windows", windows_form),
	STATS("nested", FIELD_U64, tally.nested),
	FIELD_LIST("nested_pairs", struct trigger_stats, nested, .fields = nested_fields),
	FIELDS_END,
};

int report_json_triggers(const struct trigger_stats *stats, FILE *out)
{
	struct json_writer writer;

	json_document(&writer, JSON_TRIGGERS, out);
	json_fields_write(&writer, json_trigger_fields, stats);
	writer_object_end(&writer);
	return writer_end(&writer);
}

void replay_triggers(struct reader *reader, const json_t *object, struct trigger_stats *stats)
{
	json_fields_read(reader, object, json_trigger_fields, stats);
}

/* --- Statistics: only written, since they follow from samples --- */

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
	json_document(&writer, JSON_SUMMARY, out);
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
	json_document(&writer, JSON_COMPARISON, out);
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
