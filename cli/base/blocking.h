/* SPDX-License-Identifier: Apache-2.0 */
/* What may take as long as others like: opening and writing outputs, and printing messages. While
 * one thread is at that, another may act for it: see signals_when_stuck(). */
#ifndef BLOCKING_H
#define BLOCKING_H

/* Around that. Calls may be nested; errno stays. */
void blocking_begin(void);
void blocking_end(void);

/* From now on it is this thread's turn but in between; until then both do nothing, as they do in
 * other threads. */
void blocking_watched(void);
void blocking_unwatched(void);

/* Of the other thread: waits for its turn, and gives it back. */
void blocking_turn_take(void);
void blocking_turn_end(void);

#endif
