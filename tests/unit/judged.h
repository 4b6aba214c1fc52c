/* SPDX-License-Identifier: Apache-2.0 */
/* Finished samples, which have a verdict. */
#ifndef TESTS_UNIT_JUDGED_H
#define TESTS_UNIT_JUDGED_H

#include <stdlib.h>

#include "cli/model/verdict.h"
#include "need.h"

/* The sample with its verdict, up to the next call. What it owns stays the caller's. */
static const struct sample *judged(const struct sample *sample)
{
	static struct sample copy;
	static struct verdict verdict;

	copy = *sample;
	verdict_clear(&verdict);
	need(!verdict_find(&verdict, &copy));
	return &copy;
}

#endif
