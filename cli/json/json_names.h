/* SPDX-License-Identifier: Apache-2.0 */
/* Words shared by the writer and the reader of JSON. They are a promise: within a major version
 * they are added to, never changed. See kernel_delay-json(5). */
#ifndef JSON_NAMES_H
#define JSON_NAMES_H

#include "cli/model/sample.h"

#define JSON_SCHEMA_NAME "kernel_delay"
#define JSON_SCHEMA_MAJOR 1
#define JSON_SCHEMA "kernel_delay/1"

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
