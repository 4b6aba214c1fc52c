/* SPDX-License-Identifier: Apache-2.0 */
/* From JSON objects to what reports are given. After a fault, reader->failed is set
 * and what was filled so far is to be cleared as if there were none. */
#ifndef REPLAY_PARTS_H
#define REPLAY_PARTS_H

#include "replay_reader.h"
#include "../distribution.h"
#include "../sample.h"
#include "../trigger_stats.h"

/* Fills a zeroed sample. Texts and stacks are the reader's and the document's, the
 * rest is released by sample_clear(). */
void replay_sample(struct reader *reader, const json_t *object, struct sample *sample);

/* Fills a zeroed row, to be released by thread_clear(). */
void replay_thread(struct reader *reader, const json_t *object, struct thread_row *thread);

/* Fills what the member "traces" says, if it is there. */
void replay_traces(struct reader *reader, const json_t *object, struct trace_list *traces);

/* Fills a zeroed distribution, to be released by distribution_clear(), by what the member
 * "buckets" says, if it is there. */
void replay_distribution(struct reader *reader, const json_t *object,
			 struct distribution *distribution);

/* Fills zeroed statistics. Texts are the document's, the rest is released by
 * trigger_stats_clear(). */
void replay_triggers(struct reader *reader, const json_t *object, struct trigger_stats *stats);

#endif
