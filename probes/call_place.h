/* SPDX-License-Identifier: Apache-2.0 */
/* Tracepoints of single system calls. */
#ifndef CALL_PLACE_H
#define CALL_PLACE_H

#include <stdbool.h>

#include "resolve.h"

/* The number of the system call whose own tracepoint (syscalls:sys_enter_NAME or
 * sys_exit_NAME) a place is; *exit says which of the two. -1 if it is none, or one
 * whose number is not known. */
int place_call(const struct place *place, bool *exit);

#endif
