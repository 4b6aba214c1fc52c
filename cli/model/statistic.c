// SPDX-License-Identifier: Apache-2.0
#include "statistic.h"

#include <math.h>

double statistic_deviation(const struct statistic *statistic, uint64_t n)
{
	return n > 1 ? sqrt(statistic->squares / (double)(n - 1)) : 0;
}

double statistic_jitter(const struct statistic *statistic, uint64_t n)
{
	return n > 1 ? statistic->steps / (double)(n - 1) : 0;
}
