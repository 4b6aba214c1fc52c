/* SPDX-License-Identifier: Apache-2.0 */
/* Looks through functions in a process that has no privileges: a decoder is a large program,
 * and whoever made the target chose what it reads. */
#ifndef RETURNS_CHILD_H
#define RETURNS_CHILD_H

#include "returns.h"

/* Does returns_search() for n functions; what is found is still to be confirmed. Returns 0;
 * -ENOPKG if there is no decoder; -ETIMEDOUT or -EPIPE if the process took too long or died;
 * another -errno. The caller gives *returns, of n, to returns_child_free(). */
int returns_child_search(struct returns **returns, const struct function_code *functions, size_t n);

/* NULL is allowed. */
void returns_child_free(struct returns *returns, size_t n);

#endif
