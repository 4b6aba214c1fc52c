/* SPDX-License-Identifier: Apache-2.0 */
/* Brackets for operations that may block forever: opening and writing outputs, and printing
 * messages. Meanwhile another thread may act for this one: see signals_when_stuck(). */
#ifndef BLOCKING_H
#define BLOCKING_H

/* Begin and end such an operation. Calls nest; errno is preserved. */
void blocking_begin(void);
void blocking_end(void);

/* Make this the watched thread, or no longer. Elsewhere blocking_begin() and blocking_end() do
 * nothing. */
void blocking_watched(void);
void blocking_unwatched(void);

/* For the other thread: wait until it may act, and return control. */
void blocking_turn_take(void);
void blocking_turn_end(void);

#endif
