// SPDX-License-Identifier: Apache-2.0
#include "run_selection.h"

#include <stdio.h>
#include <string.h>

#include "cli/base/arith.h"

/* Stands for no condition: only samples requested by the operator are reported. */
#define RECORD_ON_SIGNAL "signal"

exit_status selection_open(struct selection *selection, const char *text, uint64_t hold,
			   const struct fail_recorded *recorded)
{
	*selection = (struct selection){ .each = !text, .text = text, .hold = hold };
	return selection->each ? 0
			       : fail_if_new(&selection->condition, "--record-on", &text,
					     strcmp(text, RECORD_ON_SIGNAL) != 0, recorded);
}

exit_status selection_look(struct selection *selection, struct sample *sample, bool next_follows,
			   bool *wanted)
{
	struct fulfilled *fulfilled = &selection->fulfilled;
	const struct excess *excess;
	exit_status status;

	*wanted |= selection->each;
	if (selection->each)
		return 0;
	excess = fail_if_excess(selection->condition, 0);
	fail_if_reset(selection->condition);
	status = fail_if_check(selection->condition, sample, ++selection->windows);
	if (excess && excess->times) {
		snprintf(fulfilled->condition, sizeof(fulfilled->condition), "%s", selection->text);
		fulfilled->by = *excess;
		if (!selection->until)
			selection->until = u64_add(sample->end, selection->hold);
		*wanted |= !excess->so_far || sample->end >= selection->until;
	} else {
		*wanted |= selection->until; /* the wait ended where the previous window did */
	}
	*wanted |= selection->until && !next_follows;
	if (*wanted) {
		sample->fulfilled = *fulfilled;
		*fulfilled = (struct fulfilled){ 0 };
		selection->until = 0;
	}
	return status;
}

void selection_close(struct selection *selection)
{
	fail_if_free(selection->condition);
	*selection = (struct selection){ 0 };
}
