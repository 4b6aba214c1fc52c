/* SPDX-License-Identifier: Apache-2.0 */
/* Windows: the word and the banks, as seen and set by user space. */
#ifndef SESSION_WINDOWS_H
#define SESSION_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "types.h"

struct session;

/* Opens a window in a free bank: at a time a few ms ahead, or at once if that is past, such as
 * 0. Returns its start. */
uint64_t session_window_open(struct session *session, uint64_t at);

/* Closes the oldest open window. Returns its end; 0 if none is open, or it is not recorded. After
 * session_settle(), nothing is written into its bank. */
uint64_t session_window_close(struct session *session);

/* Holds the oldest open window, or opens one, and sets *view. Triggers then leave that window
 * alone, and without pairs open no other one until it is let go. Returns false if no bank is free
 * right now. */
bool session_window_hold(struct session *session, struct session_view *view);

/* Closes the held window. */
void session_window_let_go(struct session *session);

/* Closes the open window and opens the next one at the same edge, without a gap; a bank must be
 * free. The time is as for session_window_open(). Returns the edge; 0 if no window was open. */
uint64_t session_window_turn(struct session *session, uint64_t at);

/* Finds the oldest window that is closed and not released. Returns false if there is none. */
bool session_window_next(const struct session *session, struct session_view *view);

/* Takes the next one, if it began no later than a given time (since the session's epoch): a longer
 * one does not free its bank any more. Returns false if there is none. */
bool session_window_take(struct session *session, uint64_t until, struct session_view *view);

/* Returns the oldest window that is open now, with its records. */
struct session_view session_window_now(const struct session *session);

/* Finds the window in a bank, from 0 on: about to open (view->gen is 0), open (view->end is
 * KD_NEVER), or ended and not released. Returns false if there is none. */
bool session_window_at(const struct session *session, uint32_t bank, struct session_view *view);

/* Returns the start, at most `least`, of the oldest window that is open or unread; times are
 * CLOCK_MONOTONIC ns. */
uint64_t session_windows_since(const struct session *session, uint64_t least);

/* True if a window may still be taken although no more are wanted: an open one has no other end, or
 * an edge is being set. */
bool windows_are_busy(const struct windows *windows);

/* True if this generation has a window that is open, or closed and not released. */
bool windows_have(const struct windows *windows, uint64_t gen);

/* Returns how many records of the bank's window did not fit into the ring, or could not be kept;
 * valid until its release. */
uint64_t windows_traces_lost(const struct windows *windows, uint32_t bank);
void windows_trace_lost(struct windows *windows, uint32_t bank);

/* Releases the bank of a window that has been read: nothing more is recorded for it, and it may
 * be reused. */
void windows_release(struct windows *windows, uint32_t bank);

/* Lets triggers take this many windows from now on; UINT64_MAX: any number. */
void windows_arm(struct windows *windows, uint64_t count);

/* Stops all triggers. */
void windows_disarm(struct windows *windows);

/* Returns how many windows are still to be taken. */
uint64_t windows_wanted(const struct windows *windows);

/* Lets triggers take one more. Not with pairs. */
void windows_want_another(struct windows *windows);

/* Lets triggers take no window before this time (CLOCK_MONOTONIC ns). */
void windows_pause(struct windows *windows, uint64_t until);

#endif
