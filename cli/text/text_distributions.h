/* SPDX-License-Identifier: Apache-2.0 */
/* Distributions of a thread's durations. */
#ifndef TEXT_DISTRIBUTIONS_H
#define TEXT_DISTRIBUTIONS_H

struct columns;
struct sample;
struct thread_row;

/* Section on distributions of a thread's durations: a table of quantiles, then a chart of each
 * by powers of two. Nothing without any. */
void text_distributions(struct columns *columns, const struct sample *sample,
			const struct thread_row *thread);

#endif
