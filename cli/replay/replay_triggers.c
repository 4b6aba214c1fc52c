// SPDX-License-Identifier: Apache-2.0
#include "replay_parts.h"
#include "../report/json_names.h"

static void role(struct reader *reader, const json_t *object, unsigned int role,
		 struct trigger_stats *stats)
{
	const json_t *member = reader_enter(reader, object, json_role_keys[role]);

	if (member) {
		reader_require(reader, member, "trigger");
		stats->names[role] = reader_text(reader, member, "trigger");
		stats->target_only[role] = reader_bool(reader, member, "target_only");
		stats->cost[role] = reader_u64(reader, member, "cost_ns");
		stats->tally.hits[role] = reader_u64(reader, member, "hits");
		for (unsigned int i = 0; i < KD_OUTCOMES; i++)
			stats->tally.outcome[role][i] = reader_u64(reader, member,
								   json_outcome_keys[i]);
	}
	reader_leave(reader);
}

static void windows(struct reader *reader, const json_t *object, struct trigger_stats *stats)
{
	struct kd_tally *tally = &stats->tally;
	const json_t *member = reader_enter(reader, object, "windows");

	if (member) {
		tally->total = reader_u64(reader, member, "total_ns");
		tally->min = ~reader_u64(reader, member, "min_ns");
		tally->max = reader_u64(reader, member, "max_ns");
		replay_distribution(reader, member, &stats->windows);
	}
	reader_leave(reader);
}

static void nested(struct reader *reader, const json_t *object, struct trigger_stats *stats)
{
	const json_t *array, *row;
	size_t n;

	stats->tally.nested = reader_u64(reader, object, "nested");
	array = reader_array(reader, object, "nested_pairs", &n);
	for (size_t i = 0; i < n && !reader->failed; i++) {
		struct nested_pair pair;

		row = reader_element(reader, array, "nested_pairs", i);
		pair.tid = reader_i32(reader, row, "tid");
		reader_name(reader, row, "name", pair.name, sizeof(pair.name));
		pair.start = reader_u64(reader, row, "start_ns");
		pair.end = reader_u64(reader, row, "end_ns");
		if (trigger_stats_add_nested(stats, &pair)) {
			reader->no_memory = true;
			reader_fail(reader, NULL, "no memory");
		}
		reader_leave(reader);
	}
}

void replay_triggers(struct reader *reader, const json_t *object, struct trigger_stats *stats)
{
	stats->lasted = reader_u64(reader, object, "lasted_ns");
	stats->delta = reader_u64(reader, object, "delta_ns");
	stats->same_thread = reader_bool(reader, object, "same_thread");
	stats->skipped = reader_u64(reader, object, "skipped_runs");
	stats->tally.foreign = reader_u64(reader, object, "foreign_hits");
	for (unsigned int i = 0; i < KD_ROLES; i++)
		role(reader, object, i, stats);
	windows(reader, object, stats);
	nested(reader, object, stats);
}
