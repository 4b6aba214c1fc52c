/* SPDX-License-Identifier: Apache-2.0 */
/* Resources of threads and processes. */
#ifndef TEXT_RESOURCES_H
#define TEXT_RESOURCES_H

#include <stddef.h>

struct text;
struct thread_row;

/* Section on what a thread read and wrote; nothing if all is 0. */
void text_io(struct text *text, const struct thread_row *thread);

/* Section on counted events; nothing without any. */
void text_counters(struct text *text, const struct thread_row *thread);

/* Section on resources of up to most processes; nothing without --resources. */
void text_usages(struct text *text, size_t most);

#endif
