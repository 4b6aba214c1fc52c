/* SPDX-License-Identifier: Apache-2.0 */
/* Sections of a thread. */
#ifndef TEXT_THREAD_H
#define TEXT_THREAD_H

struct text;
struct thread_row;

/* Adds a thread's TID, or the number of threads in its row, and its name: 27 columns. */
void text_thread_id(struct text *text, const struct thread_row *thread);

/* Writes all sections of a thread with data; for a row of silent threads, only the row. */
void text_thread(struct text *text, const struct thread_row *thread);

#endif
