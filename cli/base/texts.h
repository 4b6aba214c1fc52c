/* SPDX-License-Identifier: Apache-2.0 */
/* Text put together piece by piece, and lists of CPUs. */
#ifndef TEXTS_H
#define TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Adds to a text in a buffer of that size, cut to fit between characters. */
__attribute__((format(printf, 3, 4))) void text_append(char *text, size_t size, const char *fmt,
						       ...);

/* Takes off the beginning of a character (UTF-8) at the end of a text that was cut. */
void text_end_whole(char *text);

/* The last component of a path; NULL for NULL. */
const char *path_last(const char *path);

/* Writes bits 0 to below cpus, a multiple of 64, as the kernel writes lists: "0-3,8"; "" for none.
 * beyond adds "1024+" for those that have no bit. "..." replaces what does not fit. */
void cpu_list_text(char *text, size_t size, const uint64_t *words, unsigned int cpus, bool beyond);

/* Adds those of such a list that are below most to the words. False at the first error. */
bool cpu_list_parse(const char *text, uint64_t *words, unsigned long most);

#endif
