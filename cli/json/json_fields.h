/* SPDX-License-Identifier: Apache-2.0 */
/* Structures described by cli/model/field.h as members of JSON objects, both ways. */
#ifndef JSON_FIELDS_H
#define JSON_FIELDS_H

#include "cli/model/field.h"
#include "cli/model/sample.h"
#include "cli/model/trigger_stats.h"
#include "json_writer.h"
#include "replay_reader.h"

/* Writes a structure's members into the open object. */
void json_fields_write(struct json_writer *writer, const struct field *fields,
		       const void *structure);

/* Fills a zeroed structure with the members of an object. */
void json_fields_read(struct reader *reader, const json_t *object, const struct field *fields,
		      void *structure);

/* True if any field of a structure is nonzero. */
bool json_fields_any(const struct field *fields, const void *structure);

/* Writes a time on CLOCK_MONOTONIC as one of the wall clock, as far as that is known at the start
 * of the writer's sample; nothing if it is 0. */
void writer_moment(struct json_writer *writer, const char *key, uint64_t moment);

/* Writes and reads one kind of field of structure. read is NULL for derived data. */
struct json_form {
	void (*write)(struct json_writer *writer, const struct field *field, const void *structure);
	void (*read)(struct reader *reader, const json_t *object, const struct field *field,
		     void *structure);
};

/* A row with a form instead of a single member. */
#define JSON_FORM(text, of, ...)                                                                   \
	{                                                                                          \
		.key = (text), .kind = FIELD_FORM, .form = &(of), __VA_ARGS__                      \
	}

/* Forms with several members. */
extern const struct json_form json_form_in_call; /* an int32_t: a call, or KD_CALL_* */
extern const struct json_form json_form_traces;

/* Tables of whole documents, and of what their forms write; tests/lint/fields.c prints them. */
extern const struct field json_sample_fields[], json_trigger_fields[], json_trace_fields[],
	json_trace_row_fields[], json_stack_fields[], json_open_fields[];

/* JSON objects, and parts that several of them share, both ways. After a fault reader->failed is
 * set, and what was filled so far must be cleared as usual. */

/* Fills a zeroed sample. The reader and the document own texts and stacks; sample_clear() frees
 * the rest. */
void replay_sample(struct reader *reader, const json_t *object, struct sample *sample);

/* Fills zeroed statistics. The document owns texts; trigger_stats_clear() frees the rest. */
void replay_triggers(struct reader *reader, const json_t *object, struct trigger_stats *stats);

/* Begins a document of a type with its schema; writer_object_end() and writer_end() end it. */
void json_document(struct json_writer *writer, const char *type, FILE *out);

/* Writes a sample's recording: a line of single facts, then lines with up to RECORDED_ROWS rows
 * each. */
int json_recording(const struct sample *sample, FILE *out);

/* Writes quantiles of the durations, and "buckets" of ended ones; nothing if none ended. */
void json_distribution(struct json_writer *writer, const struct durations *durations);

/* Fills a zeroed distribution from the member "buckets", if present. Clear it with
 * distribution_clear(). */
void replay_distribution(struct reader *reader, const json_t *object,
			 struct distribution *distribution);

#endif
