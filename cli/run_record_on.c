// SPDX-License-Identifier: Apache-2.0
#include "run_record_on.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/log.h"

exit_status record_on_open(struct record_on **out, const char *text, uint64_t hold,
			   const struct fail_recorded *recorded)
{
	struct record_on *record_on = calloc(1, sizeof(*record_on));

	*out = record_on;
	if (!record_on)
		return log_no_memory();
	record_on->text = text;
	record_on->hold = hold;
	return fail_if_new(&record_on->condition, "--record-on", &text,
			   strcmp(text, RECORD_ON_SIGNAL) != 0, recorded);
}

exit_status record_on_look(struct record_on *record_on, struct sample *sample, bool next_follows,
			   bool *wanted)
{
	struct fulfilled *fulfilled = &record_on->fulfilled;
	const struct excess *excess = fail_if_excess(record_on->condition, 0);
	exit_status status;

	fail_if_reset(record_on->condition);
	status = fail_if_check(record_on->condition, sample, ++record_on->windows);
	if (excess && excess->times) {
		snprintf(fulfilled->condition, sizeof(fulfilled->condition), "%s", record_on->text);
		fulfilled->by = *excess;
		if (!record_on->until)
			record_on->until = u64_add(sample->end, record_on->hold);
		*wanted |= !excess->so_far || sample->end >= record_on->until;
	} else {
		*wanted |= record_on->until; /* it ended where the window before did */
	}
	*wanted |= record_on->until && !next_follows;
	if (*wanted) {
		sample->fulfilled = *fulfilled;
		*fulfilled = (struct fulfilled){ 0 };
		record_on->until = 0;
	}
	return status;
}

void record_on_close(struct record_on *record_on)
{
	if (!record_on)
		return;
	fail_if_free(record_on->condition);
	free(record_on);
}
