/* SPDX-License-Identifier: Apache-2.0 */
/* Report for programs: one JSON object per line. Format: kernel_delay-json(5) and
 * man/kernel_delay.schema.json; replay.h reads it. */
#ifndef JSON_H
#define JSON_H

#include <stdio.h>

#include "cli/model/report_options.h"
#include "cli/model/sample.h"
#include "cli/model/trigger_stats.h"

struct summary;
struct comparison;

/* Writes and flushes all data of a finished sample. Ignores options: nothing is left out.
 * Returns 0 or a negative errno. */
int report_json(const struct sample *sample, const struct report_options *options, FILE *out);

/* Writes and flushes statistics over several samples. Returns as above. */
int report_json_summary(const struct summary *summary, const struct report_options *options,
			FILE *out);

/* Writes and flushes the differences from an earlier capture. Returns as above. */
int report_json_comparison(const struct comparison *comparison,
			   const struct report_options *options, FILE *out);

/* Writes and flushes the trigger statistics of a run. Returns as above. */
int report_json_triggers(const struct trigger_stats *stats, FILE *out);

/* --- Words --- */

/* Words shared by the writer and the reader of JSON. They are a promise: within a major version
 * they are added to, never changed. See kernel_delay-json(5). */

#define JSON_SCHEMA_NAME "kernel_delay"
#define JSON_SCHEMA JSON_SCHEMA_NAME "/1" /* its major version */

#define JSON_SAMPLE "sample"
#define JSON_RECORDING "recording"
#define JSON_RECORDED "recorded"
#define JSON_TRIGGERS "triggers"
#define JSON_SUMMARY "summary"
#define JSON_COMPARISON "comparison"

/* Machine whose system call names are built in, as in uname(1). */
#if defined(__x86_64__)
#define JSON_MACHINE "x86_64"
#elif defined(__aarch64__)
#define JSON_MACHINE "aarch64"
#endif

extern const char *const json_trace_keys[TRACE_KINDS];

#endif
