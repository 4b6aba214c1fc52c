/* SPDX-License-Identifier: Apache-2.0 */
/* What of a summary is worth showing first. */
#ifndef SUMMARY_RANK_H
#define SUMMARY_RANK_H

#include "summary.h"

/* The measures of a thread that were ever not 0 and are known, n of them: first those that vary
 * most, then those that are largest. Times that are sums count as their share of a window, longest
 * times as well, counts after them. Returns n; order has room for all measures. */
size_t summary_rank_measures(const struct summary *summary, const struct summary_thread *thread,
			     size_t *order);

/* Whether it varies enough to be told where there is little room: by a thousandth of the window. */
bool summary_varies(const struct summary *summary, const struct summary_thread *thread,
		    size_t measure);

/* Threads: first those that were kept from running for the longest time, then those that were
 * busy. order has room for all. */
void summary_rank_threads(const struct summary *summary, const struct summary_thread **order);

#endif
