/* SPDX-License-Identifier: Apache-2.0 */
/* Strict readers of numbers: the whole text counts; no white space, no sign. */
#ifndef PARSE_H
#define PARSE_H

#include <stddef.h>
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

/* --- Decimal numbers as text, whatever the locale --- */

#define NUMBER_LEN 27 /* 20 digits, 6 separators, NUL */

/* Writes the number to text, digits only or in groups of three separated by
 * ','. Returns the length. */
size_t number_plain(char text[static NUMBER_LEN], uint64_t number);
size_t number_grouped(char text[static NUMBER_LEN], uint64_t number);

/* Writes part as a percentage of whole with two decimals, rounded to the
 * nearest; 0.00 if whole is 0. Returns the length. */
size_t number_percent(char text[static NUMBER_LEN], uint64_t part, uint64_t whole);

/* Writes what people read: a time with its unit, in three digits: 1.04 s, 12.7 ms, 380 us;
 * days if it is more than 100,000 s. And part as a percentage of whole: 12 %, 1.2 %, <0.1 %; 0 %
 * if whole is 0, 999 % at most. Both have at most 8 characters. Return the length. */
size_t number_time(char text[static NUMBER_LEN], uint64_t ns);
size_t number_share(char text[static NUMBER_LEN], uint64_t part, uint64_t whole);

/* A time as people give it, in whole milliseconds or else microseconds: 20 ms. Returns the
 * length. */
size_t number_limit(char text[static NUMBER_LEN], uint64_t ns);

#endif
