/* SPDX-License-Identifier: Apache-2.0 */
#include "path_slices.h"

#include <stdio.h>

#include "cli/model/words.h"
#include "perfetto_fields.h"
#include "tracks.h"

/* Of another thread than the path's, behind its name. */
static void row_name(const struct pftrace *trace, const struct path_row *row, char *text,
		     size_t size)
{
	const struct critical_path *path = &trace->sample->path;
	char words[PATH_TEXT_LEN];

	path_row_text(row, trace->sample->foreign_calls, words);
	if (row->thread.tid == path->thread.tid || !row->thread.tid)
		snprintf(text, size, "%s", words);
	else
		snprintf(text, size, "%.*s[%d]: %s", KD_COMM_LEN, row->thread.name,
			 (int)row->thread.tid, words);
}

static void row_write(struct pftrace *trace, const struct path_row *row)
{
	uint64_t track = track_uuid(TRACK_PATH, 0);
	struct span span = { row->start, row->end };
	char name[PATH_TEXT_LEN + KD_COMM_LEN + 16];

	if (!pftrace_clip(trace, &span) || span.start == span.end)
		return;
	row_name(trace, row, name, sizeof(name));
	event_begin(trace, TYPE_SLICE_BEGIN, track, span.start);
	event_category(trace, CATEGORY_PATH);
	event_name(trace, name, sizeof(name));
	if (row->thread.tid)
		note_i64(trace, NOTE_TID, row->thread.tid);
	if (row->thread.pid)
		note_i64(trace, NOTE_PID, row->thread.pid);
	note_u64(trace, NOTE_LEGS, row->legs);
	for (unsigned int i = 0; i < LEDGER_STATES && row->legs > 1; i++)
		if (row->parts[i])
			note_u64(trace, note_of_state((enum ledger_state)i), row->parts[i]);
	if (row->reason != PATH_FOLLOWED && row->reason < PATH_REASONS)
		note_word(trace, NOTE_REASON, path_reason_keys[row->reason]);
	event_end(trace);
	slice_end(trace, track, span.end);
}

void path_slices_write(struct pftrace *trace)
{
	const struct critical_path *path = &trace->sample->path;

	if (!path->thread.tid)
		return;
	tracks_write_path(trace);
	for (size_t i = 0; i < path->n_rows; i++)
		row_write(trace, &path->rows[i]);
}
