/* SPDX-License-Identifier: Apache-2.0 */
#include "notes.h"

#include <stdio.h>

#include "cli/base/syscall_set.h"

const char *call_name(const struct pftrace *trace, char text[static CALL_NAME], int32_t call)
{
	const char *name = call >= 0 && !trace->sample->foreign_calls ? syscall_name((uint32_t)call)
								      : NULL;

	if (name)
		snprintf(text, CALL_NAME, "%s", name);
	else if (call >= 0)
		snprintf(text, CALL_NAME, "system call %u", syscall_plain((uint32_t)call));
	else
		snprintf(text, CALL_NAME, "system call");
	return text;
}

void call_mode_note(struct pftrace *trace, int32_t call)
{
	if (call >= 0)
		note_word(trace, NOTE_MODE, syscall_mode_name(syscall_mode((uint32_t)call)));
}

void times_note(struct pftrace *trace, const struct span *span, uint64_t start, uint64_t end)
{
	if (span->start != start || !end)
		note_u64(trace, NOTE_START, start);
	if (end && (span->start != start || span->end != end))
		note_u64(trace, NOTE_DURATION, end - start);
	if (!end)
		note_bool(trace, NOTE_UNFINISHED, true);
}
