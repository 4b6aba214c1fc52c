/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the kernel side's log-linear histograms (see KD_SUB). */
#ifndef DISTRIBUTION_H
#define DISTRIBUTION_H

#include <stdint.h>

#include "../bpf/kernel_delay.h"

/* How many values the histogram holds. */
uint64_t distribution_count(const uint64_t places[KD_DURATIONS]);

/* The value that a share of all values (in 1/1000, at most 1000) does not exceed,
 * at most 1/KD_SUB too large; 0 if there is no value. */
uint64_t distribution_permille(const uint64_t places[KD_DURATIONS], unsigned int permille);

/* The largest value that is counted in a place. */
uint64_t distribution_limit(unsigned int place);

#endif
