// SPDX-License-Identifier: Apache-2.0
/* What kept the process from running: written only, as it follows from the rest of a sample. */
#define _GNU_SOURCE
#include <sched.h>

#include "cli/model/verdict.h"
#include "json_fields.h"

static const char *policy_name(uint32_t policy)
{
	static const char *const names[] = {
		[SCHED_OTHER] = "SCHED_OTHER", [SCHED_FIFO] = "SCHED_FIFO",
		[SCHED_RR] = "SCHED_RR",       [SCHED_BATCH] = "SCHED_BATCH",
		[SCHED_IDLE] = "SCHED_IDLE",   [SCHED_DEADLINE] = "SCHED_DEADLINE",
	};
	const char *name = policy < sizeof(names) / sizeof(*names) ? names[policy] : NULL;

	return name ? name : "unknown";
}

static void who_write(struct json_writer *writer, const struct verdict_who *who)
{
	writer_object(writer, "who");
	if (who->tid)
		writer_i64(writer, "tid", who->tid);
	if (who->pid)
		writer_i64(writer, "pid", who->pid);
	if (who->comm[0])
		writer_text(writer, "comm", who->comm, sizeof(who->comm));
	if (who->scheduled) {
		writer_word(writer, "policy", policy_name(who->policy));
		writer_i64(writer, "priority", who->priority);
	}
	if (who->period_ns) {
		writer_u64(writer, "quota_ns", who->quota_ns);
		writer_u64(writer, "period_ns", who->period_ns);
	}
	writer_object_end(writer);
}

static void row_write(struct json_writer *writer, const struct verdict *verdict,
		      const struct verdict_row *row)
{
	char at[DESCRIPTOR_TEXT_LEN];

	writer_object(writer, NULL);
	writer_word(writer, "cause", cause_words[row->cause].key);
	writer_u64(writer, "ns", row->ns);
	writer_share(writer, "share", row->ns, verdict->busy);
	writer_u64(writer, "count", row->count);
	writer_u64(writer, "longest_ns", row->longest);
	who_write(writer, &row->who);
	if (row->at && row->at->fd >= 0) {
		writer_object(writer, "at");
		writer_i64(writer, "fd", row->at->fd);
		writer_text(writer, "what", descriptor_text(row->at, at), sizeof(at));
		writer_u64(writer, "ns", row->at_ns);
		writer_object_end(writer);
	}
	if (row->requests.count) {
		writer_u64(writer, "requests", row->requests.count);
		writer_u64(writer, "request_total_ns", row->requests.total);
		writer_u64(writer, "request_max_ns", row->requests.max);
	}
	writer_u64(writer, "threads", row->threads);
	writer_i64(writer, "worst_tid", row->worst->tid);
	writer_u64(writer, "worst_ns", row->worst_ns);
	writer_word(writer, "evidence", cause_words[row->cause].evidence);
	writer_object_end(writer);
}

static void verdict_write(struct json_writer *writer, const struct json_scope *scope,
			  const struct field *field, const void *structure)
{
	struct verdict verdict = { 0 };
	int error = verdict_find(&verdict, structure);

	(void)scope;
	if (error)
		writer->columns.err = writer->columns.err ?: error;
	writer_u64(writer, "busy_ns", verdict.busy);
	writer_u64(writer, "kept_ns", verdict.kept);
	writer_u64(writer, "unexplained_ns", verdict.unexplained);
	writer_array(writer, field->key);
	for (size_t i = 0; i < verdict.n_blamed; i++)
		row_write(writer, &verdict, &verdict.rows[i]);
	writer_array_end(writer);
	verdict_clear(&verdict);
}

const struct json_form json_form_verdict = { verdict_write, NULL };
