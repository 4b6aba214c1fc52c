/* SPDX-License-Identifier: Apache-2.0 */
/* Queues of numbers that BPF programs take from, too. The kernel may refuse the map's lock where
 * that is a resilient one (rqspinlock, since 6.15): here that is waited for. */
#ifndef SESSION_QUEUE_H
#define SESSION_QUEUE_H

#include <stdint.h>

/* Return 0, or -1 with errno set: ENOENT if it is empty, E2BIG if it is full. */
int queue_put(int fd, uint32_t number);
int queue_take(int fd, uint32_t *number);

#endif
