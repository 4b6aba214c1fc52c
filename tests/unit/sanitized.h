/* SPDX-License-Identifier: Apache-2.0 */
/* What a sandbox has to leave out in a program that is built with sanitizers: their
 * run time makes system calls of its own and reserves terabytes of addresses. */
#ifndef TESTS_UNIT_SANITIZED_H
#define TESTS_UNIT_SANITIZED_H

#include "cli/base/clock.h"
#include "cli/stack/sandbox.h"

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define SANITIZED (SANDBOX_WITHOUT_FILTER | SANDBOX_WITHOUT_MEMORY_LIMIT | SANDBOX_WITHOUT_SILENCE)
#else
#define SANITIZED 0U
#endif

#endif
