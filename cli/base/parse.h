/* SPDX-License-Identifier: Apache-2.0 */
/* Strict readers of numbers: the whole text counts; no white space, no sign. */
#ifndef PARSE_H
#define PARSE_H

#include <stdint.h>

/* Reads a decimal number of at least min and at most max. Returns 0; -EINVAL if
 * the text is no such number; -ERANGE if it is too small or too large. *value
 * is set on success only. */
int parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value);

/* Reads a duration: a decimal number, which may have a fraction and an exponent
 * (0.5, .5, 5., 1e-3), directly followed by ns, us, ms, s or min, or by nothing
 * and then in units of bare_unit_ns (1 to 60 s in ns; 0: then only 0 is a duration).
 * The result is exact, but cut off (not rounded) to whole nanoseconds, however many
 * digits there are. Returns 0; -EINVAL if the text is no such duration; -EDOM if it
 * is a number that needs a unit; -ERANGE if it is more than max. *ns is set on
 * success only. */
int parse_duration(const char *text, uint64_t bare_unit_ns, uint64_t max, uint64_t *ns);

#endif
