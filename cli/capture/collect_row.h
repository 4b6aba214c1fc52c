/* SPDX-License-Identifier: Apache-2.0 */
/* From what the maps say of one thread in one window to its row. */
#ifndef COLLECT_ROW_H
#define COLLECT_ROW_H

#include <stdbool.h>

#include "cli/model/sample.h"
#include "session.h"

/* Reads the thread of a slot into a zeroed row, which owns what it gets. Adds one to *torn
 * if it could not be read consistently. Returns 1, 0 if the thread did not live in the
 * window, or a negative errno. */
int collect_row(struct session *session, const struct session_view *view, uint32_t slot,
		struct thread_row *row, uint64_t *torn);

/* Names a hard interrupt by its index in the thread's record; the thread may be NULL if it is one
 * of enum kd_vector. */
void collect_hardirq_name(struct session *session, int index, const struct kd_thread *thread,
			  struct irq_row *row);

/* Names a soft interrupt by its vector. */
void collect_softirq_name(uint32_t vector, struct irq_row *row);

/* Whether another CPU sends those of this index. */
bool collect_hardirq_is_sent(int index);

/* A system call's row. */
struct call_row collect_call(uint32_t number, const struct kd_count *count);

#endif
