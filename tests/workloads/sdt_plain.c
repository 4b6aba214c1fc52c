/* SPDX-License-Identifier: Apache-2.0 */
/* The probes of sdt.c, without semaphores. */
#define PLAIN
#include "sdt.c"
