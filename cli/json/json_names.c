// SPDX-License-Identifier: Apache-2.0
#include "json_names.h"

const char *const json_trace_keys[TRACE_KINDS] = {
	[TRACE_CALL] = "syscalls",
	[TRACE_WAIT] = "waits",
	[TRACE_SAMPLE] = "samples",
};
