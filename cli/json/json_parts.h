/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of JSON that several objects share, both ways, and the objects. After a fault
 * reader->failed is set, and what was filled so far is to be cleared as if there were none. */
#ifndef JSON_PARTS_H
#define JSON_PARTS_H

#include "cli/model/sample.h"
#include "cli/model/trigger_stats.h"
#include "json_writer.h"
#include "replay_reader.h"

/* Fills a zeroed sample. Texts and stacks are the reader's and the document's, the
 * rest is released by sample_clear(). */
void replay_sample(struct reader *reader, const json_t *object, struct sample *sample);

/* Fills zeroed statistics. Texts are the document's, the rest is released by
 * trigger_stats_clear(). */
void replay_triggers(struct reader *reader, const json_t *object, struct trigger_stats *stats);

/* Writes a sample's recording: a line of what there is once, and lines of rows, at most so many. */
int json_recording(const struct sample *sample, FILE *out);

/* Writes members with shares of the durations, and "buckets" of those that are over;
 * nothing if there are none of these. */
void json_distribution(struct json_writer *writer, const struct durations *durations);

/* Fills a zeroed distribution, to be released by distribution_clear(), by what the member
 * "buckets" says, if it is there. */
void replay_distribution(struct reader *reader, const json_t *object,
			 struct distribution *distribution);

#endif
