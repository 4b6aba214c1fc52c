/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSON_PARTS_H
#define JSON_PARTS_H

#include "../sample.h"
#include "json_writer.h"

/* Writes an object of an array for a thread. */
void json_thread(struct json_writer *writer, const struct sample *sample,
		 const struct thread_row *thread);

/* Writes the member "traces", or nothing if none were asked for and none are there. */
void json_traces(struct json_writer *writer, const struct sample *sample);

/* Writes members with shares of the durations between min and max, and "buckets"; nothing
 * if there are none. */
void json_distribution(struct json_writer *writer, const struct distribution *distribution,
		       uint64_t min, uint64_t max);

/* Writes the members "number" and "name" of a system call, the latter if known. */
void json_syscall(struct json_writer *writer, const struct sample *sample, uint32_t number);

#endif
