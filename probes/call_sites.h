/* SPDX-License-Identifier: Apache-2.0 */
/* Tracepoints of single system calls. */
#ifndef CALL_SITES_H
#define CALL_SITES_H

#include <stdbool.h>

#include "resolve.h"

/* The number of the system call whose own tracepoint (syscalls:sys_enter_NAME or
 * sys_exit_NAME) a site is; *exit says which of the two. -1 if it is none, or one
 * whose number is not known. */
int site_call(const struct site *site, bool *exit);

#endif
