/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions on samples: METRIC > VALUE, for the exit status of scripts. */
#ifndef FAIL_IF_H
#define FAIL_IF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/base/exit_status.h"
#include "cli/model/sample.h"
#include "fail_if_condition.h"

struct fail_if;
struct comparison;

/* Parses n conditions of an option, such as "ready.max>1ms" or "thread(pmd*).softirq.pct>=2.5";
 * the texts must outlive *out. Returns 0, or an exit status after printing what is wrong. The
 * caller calls fail_if_free() in either case. */
exit_status fail_if_new(struct fail_if **out, const char *option, const char *const *texts,
			size_t n, const struct fail_recorded *recorded);

/* Checks a sample, the number-th of the run. Returns 0, or EX_DATAERR after printing which data
 * the sample lacks. */
exit_status fail_if_check(struct fail_if *fail_if, const struct sample *sample, uint64_t number);

/* Forgets earlier values over the limits. */
void fail_if_reset(struct fail_if *fail_if);

/* Checks the differences from a saved capture; NULL: none. Returns 0, or EX_DATAERR after
 * printing that there are too few samples. */
exit_status fail_if_compare(struct fail_if *fail_if, const struct comparison *comparison);

/* Value that exceeded a condition; NULL: no such condition. */
const struct excess *fail_if_excess(const struct fail_if *fail_if, size_t index);

/* Prints an error for each condition that was exceeded. Returns true if any was. */
bool fail_if_tell(const struct fail_if *fail_if);

/* NULL is allowed. */
void fail_if_free(struct fail_if *fail_if);

#endif
