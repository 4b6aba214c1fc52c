/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions on samples: METRIC > VALUE, for scripts that want a status. */
#ifndef FAIL_IF_H
#define FAIL_IF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/base/exit_status.h"
#include "cli/model/excess.h"
#include "cli/model/sample.h"
#include "fail_if_condition.h"

struct fail_if;
struct comparison;

/* Reads n conditions of an option, such as "ready.max>1ms" or "thread(pmd*).softirq.pct>=2.5";
 * the texts have to outlive *out. Returns 0; or, after printing what is wrong with one, an exit
 * status. The caller ends it with fail_if_free(), also after an error. */
exit_status fail_if_new(struct fail_if **out, const char *option, const char *const *texts,
			size_t n, const struct fail_recorded *recorded);

/* Looks at a sample, the number-th of the run. Returns 0, or after printing what a condition is
 * about that the sample does not hold, EX_DATAERR. */
exit_status fail_if_check(struct fail_if *fail_if, const struct sample *sample, uint64_t number);

/* Forgets what has exceeded its conditions. */
void fail_if_reset(struct fail_if *fail_if);

/* Looks at the differences from a saved capture; NULL: none. Returns 0, or after printing that
 * there are too few samples to tell, EX_DATAERR. */
exit_status fail_if_compare(struct fail_if *fail_if, const struct comparison *comparison);

/* What exceeded the condition at an index; NULL: there is no such condition. */
const struct excess *fail_if_excess(const struct fail_if *fail_if, size_t index);

/* Prints what exceeded, an error for each condition. Returns true if any did. */
bool fail_if_tell(const struct fail_if *fail_if);

/* NULL is allowed. */
void fail_if_free(struct fail_if *fail_if);

#endif
