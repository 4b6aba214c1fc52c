/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of system calls, as the command line names them. */
#ifndef SYSCALL_SET_H
#define SYSCALL_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"
#include "exit_status.h"

/* Whether a call is in the set, by its mode (SYSCALL_NATIVE, SYSCALL_COMPAT) and its
 * number in that. */
struct syscall_set {
	bool has[KD_CLASS_MODES][KD_CLASSES];
};

/* Every number. */
void syscall_set_fill(struct syscall_set *set);

/* Reads a list: names, patterns of names and numbers, separated by commas; or, after
 * a !, all but these. Each stands for calls of any mode. Returns 0; or, after printing what is
 * wrong with the value of this option, an exit status. */
exit_status syscall_set_read(const char *option, const char *list, struct syscall_set *set);

/* Takes out the calls that wait for file descriptors: poll, select, epoll_wait and
 * their variants. */
void syscall_set_remove_polls(struct syscall_set *set);

/* Whether it has a call, as struct kd_trace says it. */
bool syscall_set_has(const struct syscall_set *set, int32_t call);

bool syscall_set_is_empty(const struct syscall_set *set);

/* Prints the names of calls that are close to a wrong one, as a hint to the error before
 * it; or the text `otherwise` where none is. */
void syscall_set_hint(const char *name, const char *otherwise);

/* --- Their names --- */

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
