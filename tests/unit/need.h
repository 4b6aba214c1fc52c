/* SPDX-License-Identifier: Apache-2.0 */
/* What a test needs to go on, and does not check. */
#ifndef TESTS_UNIT_NEED_H
#define TESTS_UNIT_NEED_H

#include <stdlib.h>

/* Ends the test program unless this was done. A macro: compilers see what is set afterwards. */
#define need(done)                                                                                 \
	do {                                                                                       \
		if (!(done))                                                                       \
			abort();                                                                   \
	} while (0)

#endif
