/* SPDX-License-Identifier: Apache-2.0 */
/* What a sandbox has to leave out in a program that is built with sanitizers: their
 * run time makes system calls of its own and reserves terabytes of addresses. */
#ifndef TESTS_UNIT_SANITIZED_H
#define TESTS_UNIT_SANITIZED_H

#include "cli/base/clock.h"
#include "cli/sandbox/sandbox.h"

#define SANITIZED SANDBOX_SANITIZED

#endif
