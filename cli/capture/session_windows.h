/* SPDX-License-Identifier: Apache-2.0 */
/* The window word and the banks, as user space sees and sets them. */
#ifndef SESSION_WINDOWS_H
#define SESSION_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "session_types.h"

struct session;
struct windows;

/* Opens a window in a free bank: at a time a few ms ahead, or at once if that is over, such as 0.
 * Returns its start. */
uint64_t session_window_open(struct session *session, uint64_t at);

/* Closes the window that is open, of several the oldest. Returns its end; 0 if none is
 * open, or it is not recorded. Nothing is written into its bank after session_settle(). */
uint64_t session_window_close(struct session *session);

/* Takes the window that is open, of several the oldest, or opens one if none is, and says what it
 * is: triggers do nothing to it any more, and without pairs they open no other one before it is let
 * go. Returns false if there is no bank for it just now. */
bool session_window_hold(struct session *session, struct session_view *view);

/* Closes the window that is held. */
void session_window_let_go(struct session *session);

/* Closes the window that is open and opens the next one at the same edge, so that
 * nothing lies between the two; a bank must be free; at a time as above. Returns that edge; 0 if
 * none was open. */
uint64_t session_window_turn(struct session *session, uint64_t at);

/* The oldest of the windows that are closed and not yet released. Returns false
 * if there is none. */
bool session_window_next(const struct session *session, struct session_view *view);

/* The window that is open now, of several the oldest, and what was recorded in it. */
struct session_view session_window_now(const struct session *session);

/* The window that a bank has, from 0 on: about to open (view->gen is 0), open
 * (view->end is KD_NEVER), or ended and not released. Returns false if there is none. */
bool session_window_at(const struct session *session, uint32_t bank, struct session_view *view);

/* True if a window may still be taken although no more are wanted: one is open whose
 * end nothing else decides, or an edge is just being set. */
bool windows_are_busy(const struct windows *windows);

/* True if there is a window of this generation: open, or closed and not released. */
bool windows_have(const struct windows *windows, uint64_t gen);

/* Records of the bank's window for which there was no room in the ring, while it is not
 * released. */
uint64_t windows_traces_lost(const struct windows *windows, uint32_t bank);

/* The bank's window has been read: nothing more is recorded for it, and it may be used
 * again. */
void windows_release(struct windows *windows, uint32_t bank);

/* What triggers do. */

/* They may take that many windows from now on; UINT64_MAX: any number. */
void windows_arm(struct windows *windows, uint64_t count);

/* No trigger does anything any more. */
void windows_disarm(struct windows *windows);

/* How many of those are still to be taken. */
uint64_t windows_wanted(const struct windows *windows);

/* They may take one more. Not with pairs. */
void windows_want_another(struct windows *windows);

/* They take no window before this time (CLOCK_MONOTONIC ns). */
void windows_pause(struct windows *windows, uint64_t until);

/* Windows shorter than this (ns) need not be recorded. */
void windows_keep(struct windows *windows, uint64_t ns);

#endif
