/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of system calls, by number, as the command line names them. */
#ifndef SYSCALL_SET_H
#define SYSCALL_SET_H

#include <stdbool.h>

#include "../bpf/kernel_delay.h"

/* Whether a call is in the set, by its number. */
struct syscall_set {
	bool has[KD_CLASSES];
};

/* Every number. */
void syscall_set_fill(struct syscall_set *set);

/* Reads a list: names, patterns of names and numbers, separated by commas; or, after
 * a !, all but these. Returns 0; or, after printing what is wrong with the value of
 * this option, an exit status. */
int syscall_set_read(const char *option, const char *list, struct syscall_set *set);

/* Takes out the calls that wait for file descriptors: poll, select, epoll_wait and
 * their variants. */
void syscall_set_remove_polls(struct syscall_set *set);

bool syscall_set_is_empty(const struct syscall_set *set);

#endif
