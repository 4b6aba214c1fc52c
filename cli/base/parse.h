/* SPDX-License-Identifier: Apache-2.0 */
/* Strict number parsers: the entire text counts; no white space, no sign. */
#ifndef PARSE_H
#define PARSE_H

#include <stddef.h>
#include <stdint.h>

/* Parses a decimal number from min to max. Returns 0; -EINVAL if the text is not a number;
 * -ERANGE if out of range. Sets *value only on success. */
int parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value);

/* Parses a duration: a decimal number, maybe with fraction and exponent (0.5, .5, 5., 1e-3),
 * directly followed by ns, us, ms, s or min. A number without unit counts in bare_unit_ns (1 to
 * 60 s in ns; 0: only 0 is allowed). The result is exact, but truncated (not rounded) to ns, for
 * any number of digits. Returns 0; -EINVAL if the text is no such duration; -EDOM if it lacks a
 * unit; -ERANGE above max. Sets *ns only on success. */
int parse_duration(const char *text, uint64_t bare_unit_ns, uint64_t max, uint64_t *ns);

/* --- Decimal numbers as text, in any locale --- */

#define NUMBER_LEN 27 /* 20 digits, 6 separators, NUL */

/* Write the number with digits only, or grouped by three with ','. Return the length. */
size_t number_plain(char text[static NUMBER_LEN], uint64_t number);
size_t number_grouped(char text[static NUMBER_LEN], uint64_t number);

/* Writes part as a percentage of total with two decimals, rounded to nearest; 0.00 if total is
 * 0. Returns text, as the others below do. */
const char *number_percent(char text[static NUMBER_LEN], uint64_t part, uint64_t total);

/* For people: a time with unit in three digits, 1.04 s, 12.7 ms, 380 us, in days above 100,000
 * s; and part as a percentage of total: 12 %, 1.2 %, <0.1 %; 0 % if total is 0, 999 % at most.
 * Both have at most 8 characters. */
const char *number_time(char text[static NUMBER_LEN], uint64_t ns);
const char *number_share(char text[static NUMBER_LEN], uint64_t part, uint64_t total);

/* A time as users type it, in whole milliseconds or else microseconds: 20 ms. */
const char *number_limit(char text[static NUMBER_LEN], uint64_t ns);

/* The same as expressions; the text lives in the enclosing block. */
#define AS_PERCENT(part, total) number_percent((char[NUMBER_LEN]){ 0 }, part, total)
#define AS_TIME(ns) number_time((char[NUMBER_LEN]){ 0 }, ns)
#define AS_SHARE(part, total) number_share((char[NUMBER_LEN]){ 0 }, part, total)
#define AS_LIMIT(ns) number_limit((char[NUMBER_LEN]){ 0 }, ns)

#endif
