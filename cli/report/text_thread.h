/* SPDX-License-Identifier: Apache-2.0 */
/* One thread's block of the text report. */
#ifndef TEXT_THREAD_H
#define TEXT_THREAD_H

#include "../sample.h"
#include "columns.h"

/* The sample that is being written, and what is looked up once for it. */
struct text {
	struct columns columns;
	const struct sample *sample;
	int64_t poll, ppoll; /* their numbers, -1 if there are none */
};

/* Writes all sections of a thread that have data; of several silent threads
 * in one row, just that row. */
void text_thread(struct text *text, const struct thread_row *thread);

#endif
