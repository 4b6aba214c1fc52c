/* SPDX-License-Identifier: Apache-2.0 */
/* What a test needs to go on, and does not check. */
#ifndef TESTS_UNIT_NEED_H
#define TESTS_UNIT_NEED_H

#include <stdbool.h>
#include <stdlib.h>

/* Ends the test program unless this was done. */
static inline void need(bool done)
{
	if (!done)
		abort();
}

#endif
