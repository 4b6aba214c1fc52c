/* SPDX-License-Identifier: Apache-2.0 */
/* The window word and the banks, as user space sees and sets them. Part of the
 * session. Times count from the session's epoch. */
#ifndef SESSION_WINDOWS_H
#define SESSION_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "../../bpf/kernel_delay.h"

struct kernel_delay__data_word;

struct windows {
	struct kernel_delay__data_word *shared;
	uint32_t banks, last; /* last: the bank that was used last by user space */
	uint64_t epoch;
	int token; /* map to take the right to set edges from; -1: not needed */
};

/* Opens a window in a free bank; one must be free and no window open. Returns
 * its start. */
uint64_t windows_open(struct windows *windows);

/* Closes the window that is open. Returns its end; 0 if none is open (a trigger
 * has closed it). */
uint64_t windows_close(struct windows *windows);

/* Copies the window that is open. Returns its bank; KD_NO_BANK if there is none. */
uint32_t windows_current(const struct windows *windows, struct kd_window *window);

/* Copies the oldest of the closed windows that have not been released. Returns
 * its bank; KD_NO_BANK if there is none. */
uint32_t windows_closed(const struct windows *windows, struct kd_window *window);

/* True if some bank holds this generation. */
bool windows_have(const struct windows *windows, uint64_t gen);

/* The bank's window has been read: it may be used again. */
void windows_release(struct windows *windows, uint32_t bank);

#endif
