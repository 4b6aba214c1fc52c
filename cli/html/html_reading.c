// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "html_reading.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json/json_names.h"
#include "cli/json/json_writer.h"
#include "cli/model/verdict.h"
#include "cli/model/words.h"
#include "cli/text/text_sentences.h"

int html_words(FILE *out)
{
	struct json_writer writer;

	writer_begin(&writer, out);
	writer_object(&writer, NULL);
	writer_object(&writer, "states");
	for (size_t i = 0; i < LEDGER_STATES; i++)
		writer_word(&writer, ledger_words[i].key, ledger_words[i].title);
	writer_object_end(&writer);
	writer_object(&writer, "causes");
	for (size_t i = 0; i < CAUSES; i++)
		writer_word(&writer, cause_words[i].key, cause_words[i].title);
	writer_object_end(&writer);
	writer_object(&writer, "awaited");
	for (size_t i = 0; i < KD_AWAITED_KINDS; i++)
		writer_word(&writer, awaited_words[i].key, awaited_words[i].title);
	writer_object_end(&writer);
	writer_object_end(&writer);
	return writer_end(&writer);
}

/* A list of lines. */
static void lines_write(struct json_writer *writer, const char *key, char *text)
{
	char *line;

	writer_array(writer, key);
	while ((line = strsep(&text, "\n")))
		if (*line)
			writer_text(writer, NULL, line, SIZE_MAX);
	writer_array_end(writer);
}

typedef int (*sentences_writer)(const struct sample *sample, const struct verdict *verdict,
				FILE *out);

static int sentences_write(struct json_writer *writer, const char *key, sentences_writer write,
			   const struct sample *sample, const struct verdict *verdict)
{
	char *text = NULL;
	size_t length;
	FILE *lines = open_memstream(&text, &length);
	int error = lines ? write(sample, verdict, lines) : -errno;

	if (lines && fclose(lines) && !error)
		error = -ENOMEM;
	if (!error)
		lines_write(writer, key, text);
	free(text);
	return error;
}

static void threads_write(struct json_writer *writer, const struct verdict *verdict)
{
	writer_array(writer, "threads");
	for (size_t i = 0; i < verdict->n_threads; i++) {
		const struct verdict_thread *thread = &verdict->threads[i];

		writer_array(writer, NULL);
		writer_u64(writer, NULL, thread->busy);
		writer_u64(writer, NULL, thread->kept);
		writer_u64(writer, NULL, thread->longest);
		writer_array_end(writer);
	}
	writer_array_end(writer);
}

static void left_out_write(struct json_writer *writer, const struct html_part *part)
{
	writer_object(writer, "left_out");
	for (size_t kind = 0; kind < TRACE_KINDS; kind++)
		writer_u64(writer, json_trace_keys[kind], part->lists[kind].left_out);
	writer_u64(writer, "interruptions", part->interruptions_left_out);
	writer_object_end(writer);
}

static void stacks_write(struct json_writer *writer, const struct html_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		writer_array(writer, NULL);
		writer_u64(writer, NULL, list->stacks[i].row);
		writer_u64(writer, NULL, list->stacks[i].total);
		writer_u64(writer, NULL, list->stacks[i].count);
		writer_array_end(writer);
	}
	if (!list->others.count)
		return;
	writer_array(writer, NULL);
	writer_i64(writer, NULL, -1);
	writer_u64(writer, NULL, list->others.total);
	writer_u64(writer, NULL, list->others.count);
	writer_array_end(writer);
}

static void lists_write(struct json_writer *writer, const struct html_part *part)
{
	writer_object(writer, "stacks");
	for (size_t kind = 0; kind < TRACE_KINDS; kind++) {
		writer_array(writer, json_trace_keys[kind]);
		stacks_write(writer, &part->lists[kind]);
		writer_array_end(writer);
	}
	writer_object_end(writer);
}

int html_reading(const struct sample *whole, const struct html_part *part, FILE *out)
{
	struct verdict verdict = { 0 };
	struct json_writer writer;
	int error = verdict_find(&verdict, whole), failed;

	writer_begin(&writer, out);
	writer_object(&writer, NULL);
	error = error ?: sentences_write(&writer, "verdict", report_text_verdict, whole, &verdict);
	error = error ?: sentences_write(&writer, "next", report_text_advice, whole, &verdict);
	error = error ?: sentences_write(&writer, "notes", report_text_notes, whole, &verdict);
	threads_write(&writer, &verdict);
	left_out_write(&writer, part);
	lists_write(&writer, part);
	writer_object_end(&writer);
	failed = writer_end(&writer);
	verdict_clear(&verdict);
	return error ?: failed;
}
