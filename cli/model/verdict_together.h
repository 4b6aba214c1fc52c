/* SPDX-License-Identifier: Apache-2.0 */
/* One row of what a culprit took by several causes: each may be small, and the sum the most. */
#ifndef VERDICT_TOGETHER_H
#define VERDICT_TOGETHER_H

#include "verdict_row.h"

/* What other causes than the largest have of the sum, at least: less is not worth a sentence. */
#define VERDICT_TOGETHER_LEAST 10 /* percent */

/* Sums up the rows of the culprit that took more, by several causes, than each other row has, and
 * marks them. own: the target's process. The sum has no threads yet. Returns false if there is
 * none. */
bool verdict_together(struct verdict_row *rows, size_t n, pid_t own, struct verdict_row *sum);

#endif
