/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings that are read: lines in front of the sample that they belong to. */
#ifndef REPLAY_RECORDING_H
#define REPLAY_RECORDING_H

#include "cli/model/recording.h"
#include "json_recorded.h"
#include "replay_reader.h"

/* One of which not all has been read. All 0: there is none. */
struct replay_recording {
	struct recording *recording;   /* NULL: there is none */
	uint64_t number;               /* of the sample */
	uint64_t rows[RECORDED_LISTS]; /* that are still to come */
	uint64_t memory, memory_max;   /* that they take, and may, bytes */
};

/* Begins one, by the line that has what there is once. The caller clears it in any case. */
void replay_recording_begin(struct replay_recording *pending, struct reader *reader,
			    const json_t *object);

/* Adds the rows of a line. */
void replay_recording_add(struct replay_recording *pending, struct reader *reader,
			  const json_t *object);

/* The recording of the sample with this number, which is the caller's from now on; NULL: it has
 * none, or after a fault: some of it is missing. */
struct recording *replay_recording_end(struct replay_recording *pending, struct reader *reader,
				       uint64_t number);

void replay_recording_clear(struct replay_recording *pending);

#endif
