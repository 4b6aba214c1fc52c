// SPDX-License-Identifier: Apache-2.0
#include "run_record_on.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/log.h"

exit_status record_on_open(struct record_on **out, const char *text,
			   const struct fail_recorded *recorded)
{
	struct record_on *record_on = calloc(1, sizeof(*record_on));

	*out = record_on;
	if (!record_on)
		return log_no_memory();
	return fail_if_new(&record_on->condition, "--record-on", &text,
			   strcmp(text, RECORD_ON_SIGNAL) != 0, recorded);
}

exit_status record_on_look(struct record_on *record_on, const struct sample *sample, bool *wanted)
{
	uint64_t before = fail_if_times(record_on->condition);
	int status = fail_if_check(record_on->condition, sample, ++record_on->windows);

	*wanted = fail_if_times(record_on->condition) > before;
	return status;
}

void record_on_close(struct record_on *record_on)
{
	if (!record_on)
		return;
	fail_if_free(record_on->condition);
	free(record_on);
}
