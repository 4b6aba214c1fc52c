// SPDX-License-Identifier: Apache-2.0
/* Trigger statistics as JSON, both ways. */
#include <errno.h>
#include <stdlib.h>

#include "cli/model/words.h"
#include "json.h"
#include "json_fields.h"

/* Keys are a promise: they are added to, never changed. */

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

/* Skips a role without a trigger; of: enum kd_role. */
static void role_write(struct json_writer *writer, const struct json_scope *scope,
		       const struct field *field, const void *structure)
{
	if (!((const struct trigger_stats *)structure)->names[field->of])
		return;
	writer_object(writer, field->key);
	json_fields_write(writer, scope, field->fields, structure);
	writer_object_end(writer);
}

static void role_read(struct reader *reader, const json_t *object, const struct field *field,
		      void *structure)
{
	const json_t *member = reader_enter(reader, object, field->key);

	if (member)
		json_fields_read(reader, member, field->fields, structure);
	reader_leave(reader);
}

static const struct json_form role_form = { role_write, role_read };

static void seen_write(struct json_writer *writer, const struct json_scope *scope,
		       const struct field *field, const void *structure)
{
	(void)scope;
	writer_u64(writer, field->key, trigger_stats_seen(structure));
}

static const struct json_form seen_form = { seen_write, NULL };

static const struct field duty_fields[] = {
	STATS("off_ns", FIELD_U64, duty.off),
	STATS("off_phases", FIELD_U64, duty.phases),
	STATS("dropped_windows", FIELD_U64, duty.dropped),
	STATS("on_work_ns", FIELD_U64, duty.worked_on),
	STATS("off_work_ns", FIELD_U64, duty.worked_off),
	JSON_FORM("seen_permille", seen_form),
	FIELDS_END,
};

static void windows_write(struct json_writer *writer, const struct json_scope *scope,
			  const struct field *field, const void *structure)
{
	const struct trigger_stats *stats = structure;
	const struct kd_tally *tally = &stats->tally;
	const struct durations windows = {
		.ended = &stats->windows,
		.min = ~tally->min,
		.max = tally->max,
	};

	(void)scope;
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

static const struct field stats_fields[] = {
	STATS("lasted_ns", FIELD_U64, lasted),
	STATS("armed_ns", FIELD_U64, from, .flags = FIELD_IF_ANY),
	STATS("disarmed_ns", FIELD_U64, to, .flags = FIELD_IF_ANY),
	STATS("delta_ns", FIELD_U64, delta),
	STATS("same_thread", FIELD_BOOL, same_thread),
	STATS("skipped_runs", FIELD_U64, skipped),
	STATS("dropped_hits", FIELD_U64, dropped, .flags = FIELD_IF_ANY),
	STATS("foreign_hits", FIELD_U64, tally.foreign),
	STATS("outside_hits", FIELD_U64, tally.outside, .flags = FIELD_IF_ANY),
	{ .key = "start",
	  .kind = FIELD_FORM,
	  .form = &role_form,
	  .fields = start_fields,
	  .of = KD_START },
	{ .key = "stop",
	  .kind = FIELD_FORM,
	  .form = &role_form,
	  .fields = stop_fields,
	  .of = KD_STOP },
	STATS("payer", FIELD_OBJECT, payer, .fields = payer_fields, .flags = FIELD_IF_ANY),
	{ .key = "duty", .kind = FIELD_OBJECT, .fields = duty_fields },
	JSON_FORM("windows", windows_form),
	STATS("nested", FIELD_U64, tally.nested),
	FIELD_LIST("nested_pairs", struct trigger_stats, nested, .fields = nested_fields),
	FIELDS_END,
};

/* A start still without its stop when the run ends is unmatched. */
static void unmatched_count(struct kd_tally *tally, enum kd_role role)
{
	uint64_t decided = 0;

	for (unsigned int i = 0; i < KD_OUTCOMES; i++)
		decided += tally->outcome[role][i];
	if (tally->hits[role] > decided)
		tally->outcome[role][KD_HIT_UNMATCHED] += tally->hits[role] - decided;
}

int report_json_triggers(const struct trigger_stats *stats, FILE *out)
{
	const struct json_scope scope = { 0 };
	struct trigger_stats *shown = malloc(sizeof(*shown)); /* too large for the stack */
	struct json_writer writer;

	if (!shown)
		return -ENOMEM;
	*shown = *stats;
	unmatched_count(&shown->tally, KD_START);
	unmatched_count(&shown->tally, KD_STOP);
	writer_begin(&writer, out);
	writer_object(&writer, NULL);
	writer_word(&writer, "schema", JSON_SCHEMA);
	writer_word(&writer, "type", JSON_TRIGGERS);
	json_fields_write(&writer, &scope, stats_fields, shown);
	writer_object_end(&writer);
	free(shown);
	return writer_end(&writer);
}

void replay_triggers(struct reader *reader, const json_t *object, struct trigger_stats *stats)
{
	json_fields_read(reader, object, stats_fields, stats);
}
