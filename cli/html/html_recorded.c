// SPDX-License-Identifier: Apache-2.0
#include "html_recorded.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/json/json_recorded.h"
#include "cli/json/json_writer.h"
#include "html_lanes.h"

#define KINDS_MOST 4096 /* what is beyond has its state alone */

struct writing {
	struct json_writer writer;
	struct json_scope scope;
	struct html_lanes lanes;
	struct recorded_kinds kinds;
};

/* --- Kinds --- */

/* Of CPUs role is 1, which states have not. */
static struct recorded_kind kind_of(const struct html_lane *lane, size_t row)
{
	struct recorded_row packed = { 0 };
	struct recorded_kind kind = { 0 };

	if (lane->states) {
		recorded_lists[0].pack(&lane->states[row], &packed);
		packed.kind.tid = 0;
		return packed.kind;
	}
	kind.role = 1;
	kind.tid = lane->runs[row].tid;
	kind.own = lane->runs[row].source == CPU_RUN_TARGET;
	kind.early = lane->runs[row].source == CPU_RUN_ROW;
	kind.key = kind.early ? lane->runs[row].key : 0;
	return kind;
}

static void run_write(struct writing *writing, const struct recorded_kind *kind)
{
	const struct cpu_run run = {
		.tid = kind->tid,
		.key = kind->key,
		.source = kind->own     ? CPU_RUN_TARGET
			  : kind->early ? CPU_RUN_ROW
					: CPU_RUN_OTHER,
	};
	bool is_idle = kind->early && !kind->tid && kind->key == KD_WHO_IDLE;
	char name[CPU_RUN_NAME_LEN];

	writer_word(&writing->writer, "state",
		    html_class_keys[kind->own ? HTML_OWN
				    : is_idle ? HTML_IDLE
					      : HTML_OTHER]);
	writer_text(&writing->writer, "name", cpu_run_name(&run, writing->lanes.recording, name),
		    sizeof(name));
}

static void kinds_write(struct writing *writing)
{
	writer_array(&writing->writer, "kinds");
	for (size_t i = 0; i < writing->kinds.n; i++) {
		const struct recorded_kind *kind = &writing->kinds.of[i];

		writer_object(&writing->writer, NULL);
		if (kind->role)
			run_write(writing, kind);
		else
			json_fields_write(&writing->writer, &writing->scope,
					  recorded_lists[0].fields, kind);
		writer_object_end(&writing->writer);
	}
	writer_array_end(&writing->writer);
}

/* --- Lanes --- */

/* The number of a piece's kind; -1: it has parts. */
static int64_t kind_number(struct writing *writing, const struct html_lane *lane,
			   const struct html_piece *piece)
{
	struct recorded_kind kind;
	size_t number;

	if (piece->rows > 1)
		return -1;
	kind = kind_of(lane, piece->row);
	number = recorded_kinds_number(&writing->kinds, &kind);
	return number < KINDS_MOST ? (int64_t)number : -1;
}

static void parts_write(struct writing *writing, const struct html_piece *piece)
{
	struct json_writer *writer = &writing->writer;

	writer_array(writer, NULL);
	for (unsigned int class = 0; class < HTML_CLASSES; class ++) {
		if (!piece->ns[class])
			continue;
		writer_u64(writer, NULL, class);
		writer_u64(writer, NULL, piece->ns[class]);
	}
	writer_array_end(writer);
}

static int pieces_write(struct writing *writing, const struct html_lane *lane)
{
	struct json_writer *writer = &writing->writer;
	struct html_piece *pieces;
	size_t n;
	int error = html_lane_pieces(&writing->lanes, lane, &pieces, &n);
	int64_t *kinds = error ? NULL : calloc(n + 1, sizeof(*kinds));

	if (!kinds) {
		free(pieces);
		return -ENOMEM;
	}
	writer_array(writer, "kind");
	for (size_t i = 0; i < n; i++)
		writer_i64(writer, NULL, kinds[i] = kind_number(writing, lane, &pieces[i]));
	writer_array_end(writer);
	writer_array(writer, "after");
	for (size_t i = 0; i < n; i++)
		writer_u64(writer, NULL,
			   pieces[i].start - (i ? pieces[i - 1].end : writing->lanes.from));
	writer_array_end(writer);
	writer_array(writer, "ns");
	for (size_t i = 0; i < n; i++)
		writer_u64(writer, NULL, pieces[i].end - pieces[i].start);
	writer_array_end(writer);
	writer_array(writer, "parts");
	for (size_t i = 0; i < n; i++)
		if (kinds[i] < 0)
			parts_write(writing, &pieces[i]);
	writer_array_end(writer);
	free(pieces);
	free(kinds);
	return 0;
}

static int lane_write(struct writing *writing, const struct html_lane *lane)
{
	struct json_writer *writer = &writing->writer;
	int error;

	writer_object(writer, NULL);
	if (lane->states) {
		const struct recorded_thread *thread = recording_thread(writing->lanes.recording,
									lane->tid);

		writer_i64(writer, "tid", lane->tid);
		writer_text(writer, "name", thread->name, sizeof(thread->name));
		writer_bool(writer, "own", thread->of_target);
	} else {
		writer_u64(writer, "cpu", lane->cpu);
	}
	writer_u64(writer, "merged_ns", lane->merged);
	error = pieces_write(writing, lane);
	writer_object_end(writer);
	return error;
}

static int lanes_write(struct writing *writing, const char *key, const struct html_lane *lanes,
		       size_t n)
{
	int error = 0;

	writer_array(&writing->writer, key);
	for (size_t i = 0; i < n && !error; i++)
		error = lane_write(writing, &lanes[i]);
	writer_array_end(&writing->writer);
	return error;
}

/* --- All --- */

static int all_write(struct writing *writing, const struct sample *sample)
{
	struct json_writer *writer = &writing->writer;
	const struct html_lanes *lanes = &writing->lanes;
	int error;

	writer_object(writer, NULL);
	writer_i64(writer, "from_ns", (int64_t)(lanes->from - sample->start));
	writer_array(writer, "classes");
	for (unsigned int i = 0; i < HTML_CLASSES; i++)
		writer_word(writer, NULL, html_class_keys[i]);
	writer_array_end(writer);
	error = lanes_write(writing, "threads", lanes->threads, lanes->n_threads)
			?: lanes_write(writing, "cpus", lanes->cpus, lanes->n_cpus);
	kinds_write(writing);
	writer_object(writer, "left_out");
	writer_u64(writer, "threads", lanes->threads_left_out);
	writer_u64(writer, "cpus", lanes->cpus_left_out);
	writer_object_end(writer);
	writer_object_end(writer);
	return error;
}

int html_recorded(const struct sample *sample, FILE *out)
{
	struct writing writing = { .scope.sample = sample };
	int error = recorded_kinds_begin(&writing.kinds, KINDS_MOST)
			    ?: html_lanes_make(&writing.lanes, sample);
	int failed = 0;

	if (!error) {
		writer_begin(&writing.writer, out);
		error = all_write(&writing, sample);
		failed = writer_end(&writing.writer);
	}
	html_lanes_clear(&writing.lanes);
	recorded_kinds_free(&writing.kinds);
	return error ?: failed;
}
