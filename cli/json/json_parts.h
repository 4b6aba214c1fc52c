/* SPDX-License-Identifier: Apache-2.0 */
/* JSON objects, and parts that several of them share, both ways. After a fault reader->failed is
 * set, and what was filled so far must be cleared as usual. */
#ifndef JSON_PARTS_H
#define JSON_PARTS_H

#include "cli/model/sample.h"
#include "cli/model/trigger_stats.h"
#include "json_writer.h"
#include "replay_reader.h"

/* Fills a zeroed sample. The reader and the document own texts and stacks; sample_clear() frees
 * the rest. */
void replay_sample(struct reader *reader, const json_t *object, struct sample *sample);

/* Fills zeroed statistics. The document owns texts; trigger_stats_clear() frees the rest. */
void replay_triggers(struct reader *reader, const json_t *object, struct trigger_stats *stats);

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
