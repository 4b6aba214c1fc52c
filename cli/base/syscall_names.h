/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the system calls of the architecture this was compiled for, in each mode in
 * which a thread can make them. A call is a number with its mode, see KD_CALL_COMPAT. */
#ifndef SYSCALL_NAMES_H
#define SYSCALL_NAMES_H

#include <stdint.h>

enum syscall_mode {
	SYSCALL_NATIVE,
	SYSCALL_COMPAT, /* of 32-bit programs; on x86-64 also by int $0x80 */
	SYSCALL_X32,
	SYSCALL_MODES,
};

/* A call's mode. A number so large that it is none of any mode is native. */
enum syscall_mode syscall_mode(uint32_t call);

/* A call's number in its mode, and the call that a mode's number is. */
uint32_t syscall_plain(uint32_t call);
uint32_t syscall_in_mode(enum syscall_mode mode, uint32_t number);

/* "32-bit", "x32"; of the native one "". */
const char *syscall_mode_name(enum syscall_mode mode);

/* The name of a call in its mode, a string constant; NULL if there is no such call
 * or it is newer than this program. */
const char *syscall_name(uint32_t call);

/* The native number of the system call of this name; -1 if there is none. */
int syscall_number(const char *name);

/* The call of this name in this mode; -1 if there is none. */
int64_t syscall_find(enum syscall_mode mode, const char *name);

#endif
