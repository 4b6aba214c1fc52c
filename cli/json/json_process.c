// SPDX-License-Identifier: Apache-2.0
/* The processes of a sample; their sums are written only, as they follow from the threads. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "cli/model/verdict.h"
#include "json_fields.h"

#define PROCESS(key, kind, member, ...) FIELD(key, kind, struct process_row, member, __VA_ARGS__)
static const struct field process_fields[] = {
	PROCESS("pid", FIELD_I32, pid, .flags = FIELD_REQUIRED),
	PROCESS("start_ns", FIELD_U64, start, .flags = FIELD_IF_ANY),
	PROCESS("name", FIELD_NAME, name),
	PROCESS("title", FIELD_NAME, title, .flags = FIELD_IF_ANY),
	PROCESS("container", FIELD_NAME, container, .flags = FIELD_IF_ANY),
	PROCESS("image", FIELD_NAME, image, .flags = FIELD_IF_ANY),
	PROCESS("pod", FIELD_NAME, pod, .flags = FIELD_IF_ANY),
	PROCESS("members", FIELD_U32, members, .flags = FIELD_ONE),
	PROCESS("began", FIELD_BOOL, began),
	PROCESS("ended", FIELD_BOOL, ended),
	FIELDS_END,
};

#define SUM(key, member) FIELD(key, FIELD_U64, struct process_sum, member)
static const struct field sum_fields[] = {
	SUM("threads", threads),    SUM("life_ns", life),       SUM("running_ns", running),
	SUM("stolen_ns", stolen),   SUM("ready_ns", ready),     SUM("throttled_ns", throttled),
	SUM("blocked_ns", blocked), SUM("stopped_ns", stopped), SUM("frozen_ns", frozen),
	SUM("busy_ns", busy),       SUM("kept_ns", kept),       FIELDS_END,
};

/* Those first that were kept from running for longest. */
static void processes_write(struct json_writer *writer, const struct json_scope *scope,
			    const struct field *field, const void *structure)
{
	const struct sample *sample = structure;
	struct process_sum *sums = NULL;
	struct verdict verdict = { 0 };
	int error;

	if (!sample->n_processes)
		return;
	error = verdict_find(&verdict, sample);
	if (!error)
		error = processes_sum(sample, &verdict, &sums);
	if (error)
		writer->columns.err = writer->columns.err ?: error;
	writer_array(writer, field->key);
	for (size_t i = 0; sums && i < sample->n_processes; i++) {
		writer_object(writer, NULL);
		json_fields_write(writer, scope, process_fields, sums[i].process);
		json_fields_write(writer, scope, sum_fields, &sums[i]);
		writer_object_end(writer);
	}
	writer_array_end(writer);
	free(sums);
	verdict_clear(&verdict);
}

static void processes_read(struct reader *reader, const json_t *object, const struct field *field,
			   void *structure)
{
	struct sample *sample = structure;
	size_t n;
	const json_t *array = reader_array(reader, object, field->key, &n);

	sample->processes = reader_rows(reader, n, sizeof(*sample->processes));
	for (size_t i = 0; sample->processes && i < n; i++) {
		const json_t *element = reader_element(reader, array, field->key, i);

		json_fields_read(reader, element, process_fields, &sample->processes[i]);
		reader_leave(reader);
	}
	sample->n_processes = sample->processes ? n : 0;
	processes_sort_rows(sample);
	for (size_t i = 1; i < sample->n_processes; i++) {
		const struct process_row *row = &sample->processes[i];

		if (row->pid == row[-1].pid && row->start == row[-1].start)
			reader_fail(reader, field->key, "has process %d twice", (int)row->pid);
	}
}

const struct json_form json_form_processes = { processes_write, processes_read };
