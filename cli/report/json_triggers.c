// SPDX-License-Identifier: Apache-2.0
#include "json.h"
#include "json_names.h"
#include "json_parts.h"
#include "json_writer.h"

static void role(struct json_writer *writer, const struct trigger_stats *stats, unsigned int role)
{
	const struct kd_tally *tally = &stats->tally;
	uint64_t decided = 0;

	if (!stats->names[role])
		return;
	writer_object(writer, json_role_keys[role]);
	writer_text(writer, "trigger", stats->names[role], SIZE_MAX);
	writer_bool(writer, "target_only", stats->target_only[role]);
	writer_u64(writer, "cost_ns", stats->cost[role]);
	writer_u64(writer, "hits", tally->hits[role]);
	for (unsigned int i = 0; i < KD_OUTCOMES; i++) {
		uint64_t count = tally->outcome[role][i];

		decided += count;
		/* A start whose stop has not come when the run ends. */
		if (i == KD_HIT_UNMATCHED && tally->hits[role] > decided)
			count += tally->hits[role] - decided;
		writer_u64(writer, json_outcome_keys[i], count);
	}
	writer_object_end(writer);
}

static void durations(struct json_writer *writer, const struct trigger_stats *stats)
{
	const struct kd_tally *tally = &stats->tally;

	if (!stats->windows.n)
		return;
	writer_object(writer, "windows");
	writer_u64(writer, "count", distribution_count(&stats->windows));
	writer_u64(writer, "total_ns", tally->total);
	writer_u64(writer, "min_ns", ~tally->min);
	writer_u64(writer, "max_ns", tally->max);
	json_distribution(writer, &stats->windows, ~tally->min, tally->max);
	writer_object_end(writer);
}

static void nested(struct json_writer *writer, const struct trigger_stats *stats)
{
	writer_u64(writer, "nested", stats->tally.nested);
	writer_array(writer, "nested_pairs");
	for (size_t i = 0; i < stats->n_nested; i++) {
		const struct nested_pair *pair = &stats->nested[i];

		writer_object(writer, NULL);
		writer_i64(writer, "tid", pair->tid);
		writer_text(writer, "name", pair->name, sizeof(pair->name));
		writer_u64(writer, "start_ns", pair->start);
		writer_u64(writer, "end_ns", pair->end);
		writer_object_end(writer);
	}
	writer_array_end(writer);
}

int report_json_triggers(const struct trigger_stats *stats, FILE *out)
{
	struct json_writer writer;

	writer_begin(&writer, out);
	writer_object(&writer, NULL);
	writer_word(&writer, "schema", JSON_SCHEMA);
	writer_word(&writer, "type", JSON_TRIGGERS);
	writer_u64(&writer, "lasted_ns", stats->lasted);
	writer_u64(&writer, "delta_ns", stats->delta);
	writer_bool(&writer, "same_thread", stats->same_thread);
	writer_u64(&writer, "skipped_runs", stats->skipped);
	writer_u64(&writer, "foreign_hits", stats->tally.foreign);
	for (unsigned int i = 0; i < KD_ROLES; i++)
		role(&writer, stats, i);
	durations(&writer, stats);
	nested(&writer, stats);
	writer_object_end(&writer);
	return writer_end(&writer);
}
