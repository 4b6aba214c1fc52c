/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of system calls, as given on the command line. */
#ifndef SYSCALL_SET_H
#define SYSCALL_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"
#include "exit_status.h"

/* Members by mode (SYSCALL_NATIVE, SYSCALL_COMPAT) and number in that mode. */
struct syscall_set {
	bool has[KD_CLASS_MODES][KD_CLASSES];
};

/* Adds every number. */
void syscall_set_fill(struct syscall_set *set);

/* Parses a comma-separated list of names, patterns and numbers; a leading ! inverts it. Each
 * matches calls in any mode; a name that this machine lacks, what the C library calls instead, as
 * ppoll for poll on arm64. Returns 0, or an exit status after printing what is wrong with the
 * option's value. */
exit_status syscall_set_read(const char *option, const char *list, struct syscall_set *set);

/* Removes calls that wait for file descriptors: poll, select, epoll_wait and variants. */
void syscall_set_remove_polls(struct syscall_set *set);

/* True if a call is in the set, with the number of struct kd_trace. */
bool syscall_set_has(const struct syscall_set *set, int32_t call);

bool syscall_set_is_empty(const struct syscall_set *set);

/* Prints similar call names as a hint to the previous error; without any, prints otherwise. */
void syscall_set_hint(const char *name, const char *otherwise);

/* --- Names --- */

enum syscall_mode {
	SYSCALL_NATIVE,
	SYSCALL_COMPAT, /* 32-bit programs; on x86-64 also int $0x80 */
	SYSCALL_X32,
	SYSCALL_MODES,
};

/* Mode of a call. Numbers beyond all modes are native. */
enum syscall_mode syscall_mode(uint32_t call);

/* Number of a call in its mode, and the call for a number in a mode. */
uint32_t syscall_plain(uint32_t call);
uint32_t syscall_in_mode(enum syscall_mode mode, uint32_t number);

/* "32-bit", "x32"; "" for native. */
const char *syscall_mode_name(enum syscall_mode mode);

/* Name of a call in its mode, a string constant; NULL if unknown or newer than this program. */
const char *syscall_name(uint32_t call);

/* Native number of a system call; -1: none. */
int syscall_number(const char *name);

/* System call with a name in a mode; -1: none. */
int64_t syscall_find(enum syscall_mode mode, const char *name);

#endif
