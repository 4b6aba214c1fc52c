/* SPDX-License-Identifier: Apache-2.0 */
/* The same probes without semaphores. */
#define PLAIN
#include "sdt.c"
