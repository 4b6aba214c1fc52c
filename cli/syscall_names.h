/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the system calls of the architecture this was compiled for. */
#ifndef SYSCALL_NAMES_H
#define SYSCALL_NAMES_H

#include <stdint.h>

/* The name of a system call, a string constant; NULL if there is no such call
 * or it is newer than this program. */
const char *syscall_name(uint32_t number);

/* The number of the system call of this name; -1 if there is none. */
int syscall_number(const char *name);

#endif
