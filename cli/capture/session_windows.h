/* SPDX-License-Identifier: Apache-2.0 */
/* The window word and the banks, as user space sees and sets them. Part of the
 * session. Times count from the session's epoch. */
#ifndef SESSION_WINDOWS_H
#define SESSION_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"

struct kernel_delay__data_word;

struct windows {
	struct kernel_delay__data_word *shared;
	uint32_t banks, last; /* last: the bank that was used last by user space */
	uint64_t epoch;
	bool pairs;    /* of one thread: several windows may be open */
	uint32_t held; /* the bank that windows_hold() has taken; KD_NO_BANK: none */
	int token;     /* map to take the right to set edges from; -1: not needed */
};

/* Opens a window in a free bank; one must be free and no window open. It starts at that time
 * (since the epoch), which should be a few ms ahead, or at once if that is over. Returns its
 * start. */
uint64_t windows_open(struct windows *windows, uint64_t at);

/* Closes the window that is open, of several the oldest. Returns its end; 0 if none
 * is open (a trigger has closed it), or there was no bank for it. */
uint64_t windows_close(struct windows *windows);

/* Closes the window that is open and opens the next one at the same edge, in a free
 * bank; one must be free. The edge is at that time, as above. Returns it; 0 if none is open. */
uint64_t windows_turn(struct windows *windows, uint64_t at);

/* Takes the window that is open, of several the oldest, or opens one if none is: triggers do
 * nothing to it any more, and without pairs they open no other one before windows_let_go(). Returns
 * its bank; KD_NO_BANK if there is none for it just now. */
uint32_t windows_hold(struct windows *windows);

/* Closes the window that is held. Returns its end. */
uint64_t windows_let_go(struct windows *windows);

/* Copies the window that is open, of several the oldest. Returns its bank; KD_NO_BANK
 * if there is none. */
uint32_t windows_current(const struct windows *windows, struct kd_window *window);

/* Copies what a bank has. Returns false if it is free. The generation is 0 if its
 * window is about to open; its end KD_NEVER while it is open. */
bool windows_at(const struct windows *windows, uint32_t bank, struct kd_window *window);

/* True if a window may still be taken although no more are wanted: one is open whose
 * end nothing else decides, or an edge is just being set. */
bool windows_are_busy(const struct windows *windows);

/* Copies the oldest of the closed windows that have not been released. Returns
 * its bank; KD_NO_BANK if there is none. */
uint32_t windows_closed(const struct windows *windows, struct kd_window *window);

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
