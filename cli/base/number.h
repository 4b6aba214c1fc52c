/* SPDX-License-Identifier: Apache-2.0 */
/* Decimal numbers as text, whatever the locale. */
#ifndef NUMBER_H
#define NUMBER_H

#include <stddef.h>
#include <stdint.h>

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
