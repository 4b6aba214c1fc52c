// SPDX-License-Identifier: Apache-2.0
/* Keys are a promise: they are added to, never changed. */
#include "json_verdict.h"

#include "cli/model/user_wait.h"
#include "cli/model/verdict.h"
#include "json.h"

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
		writer_word(writer, "policy", culprit_policies[who->policy]);
		writer_i64(writer, "priority", who->priority);
	}
	if (who->work)
		writer_text(writer, "work", who->work, WORK_LEN);
	if (who->stopped_by[0])
		writer_word(writer, "stopped_by", who->stopped_by);
	if (who->group[0])
		writer_text(writer, "group", who->group, sizeof(who->group));
	if (who->parent)
		writer_i64(writer, "parent_pid", who->parent);
	if (who->parent_name[0])
		writer_text(writer, "parent_name", who->parent_name, sizeof(who->parent_name));
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
	writer_moment(writer, "longest_at", row->began);
	if (row->before)
		writer_bool(writer, "longest_began_before", true);
	if (row->culprits > 1)
		writer_u64(writer, "culprits", row->culprits);
	who_write(writer, &row->who);
	if (row->at && row->at->fd >= 0) {
		writer_object(writer, "at");
		writer_i64(writer, "fd", row->at->fd);
		writer_text(writer, "what", descriptor_text(row->at, at), sizeof(at));
		writer_u64(writer, "ns", row->at_ns);
		writer_object_end(writer);
	}
	if (row->wait.function) {
		writer_object(writer, "program");
		writer_text(writer, "function", row->wait.function, USER_FUNCTION_LEN);
		if (row->wait.user)
			writer_word(writer, "waits_for", row->wait.user->words);
		writer_u64(writer, "ns", row->wait_ns);
		writer_object_end(writer);
	}
	if (row->lock) {
		writer_object(writer, "lock");
		writer_text(writer, "symbol", row->lock->symbol, SIZE_MAX);
		if (row->lock->offset)
			writer_u64(writer, "offset", row->lock->offset);
		if (row->lock->object)
			writer_text(writer, "object", row->lock->object, SIZE_MAX);
		writer_u64(writer, "ns", row->lock_ns);
		writer_object_end(writer);
	}
	if (row->chained) {
		writer_u64(writer, "chained_ns", row->chained);
		writer_u64(writer, "seen_ns", row->seen);
	}
	if (row->requests.count) {
		writer_u64(writer, "requests", row->requests.count);
		writer_u64(writer, "request_total_ns", row->requests.total);
		writer_u64(writer, "request_max_ns", row->requests.max);
		writer_moment(writer, "request_max_at", row->requests.began);
		if (row->queued)
			writer_u64(writer, "request_queued_ns", row->queued);
	}
	if (row->idle[KD_IDLE_ALLOWED] | row->idle[KD_IDLE_BARRED] | row->idle[KD_IDLE_NONE]) {
		writer_u64(writer, "waited_idle_allowed_ns", row->idle[KD_IDLE_ALLOWED]);
		writer_u64(writer, "waited_idle_barred_ns", row->idle[KD_IDLE_BARRED]);
		writer_u64(writer, "waited_idle_none_ns", row->idle[KD_IDLE_NONE]);
	}
	writer_u64(writer, "threads", row->threads);
	writer_i64(writer, "worst_tid", row->worst->tid);
	writer_u64(writer, "worst_ns", row->worst_ns);
	writer_word(writer, "evidence", cause_words[row->cause].evidence);
	writer_object_end(writer);
}

/* The first sentence, if it is about one culprit by several causes. */
static void culprit_write(struct json_writer *writer, const struct verdict *verdict,
			  const struct verdict_row *row)
{
	writer_object(writer, "largest_culprit");
	who_write(writer, &row->who);
	writer_u64(writer, "ns", row->ns);
	writer_share(writer, "share", row->ns, verdict->busy);
	writer_u64(writer, "longest_ns", row->longest);
	writer_moment(writer, "longest_at", row->began);
	writer_array(writer, "causes");
	for (unsigned int i = 0; i < row->n_parts; i++) {
		writer_object(writer, NULL);
		writer_word(writer, "cause", cause_words[row->parts[i].cause].key);
		writer_u64(writer, "ns", row->parts[i].ns);
		writer_object_end(writer);
	}
	writer_array_end(writer);
	writer_u64(writer, "threads", row->threads);
	writer_i64(writer, "worst_tid", row->worst->tid);
	writer_u64(writer, "worst_ns", row->worst_ns);
	writer_object_end(writer);
}

static void verdict_write(struct json_writer *writer, const struct field *field,
			  const void *structure)
{
	const struct sample *sample = structure;
	const struct verdict *verdict = sample->verdict;

	if (verdict->subject)
		writer_i64(writer, "verdict_tid", verdict->subject->tid);
	writer_u64(writer, "busy_ns", verdict->busy);
	writer_u64(writer, "kept_ns", verdict->delay);
	writer_u64(writer, "unexplained_ns", verdict->unexplained);
#define TIME_WRITE(member, key, ...) writer_u64(writer, key, verdict->member);
	EACH_THREAD_TIME(TIME_WRITE)
	writer_array(writer, field->key);
	for (size_t i = 0; i < verdict->n_blamed; i++)
		row_write(writer, verdict, &verdict->rows[i]);
	writer_array_end(writer);
	if (verdict->n_told_blamed && verdict->told[0].n_parts)
		culprit_write(writer, verdict, &verdict->told[0]);
}

const struct json_form json_verdict_form = { verdict_write, NULL };
