/* SPDX-License-Identifier: Apache-2.0 */
/* What had the CPU while a thread was ready. */
#ifndef TEXT_CULPRITS_H
#define TEXT_CULPRITS_H

struct text;
struct thread_row;

/* Section on what had the CPU while a thread was ready; nothing if it never was. */
void text_culprits(struct text *text, const struct thread_row *thread);

#endif
