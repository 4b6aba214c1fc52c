/* SPDX-License-Identifier: Apache-2.0 */
/* Makes foreign text (thread names, interrupt names, arguments) safe to print: it can affect
 * neither the terminal nor the layout of a table. */
#ifndef ESCAPE_H
#define ESCAPE_H

#include <stddef.h>
#include <stdint.h>

/* Space for any text of that many bytes, escaped, with its NUL. */
#define ESCAPE_SIZE(length) (4 * (length) + 1)

/* Escapes text, up to length bytes or a NUL, into out. Printable UTF-8 is kept, including quotes
 * and spaces. Backslash becomes \\, and tab, line feed and carriage return become \t, \n, \r.
 * The rest becomes \xNN per byte: other control characters, invalid UTF-8, and characters that
 * are invisible or change the text direction. Text that does not fit is cut between characters,
 * never inside one or an escape. Unless size is 0, out ends with a NUL. Returns its length. */
size_t escape_text(char *out, size_t size, const char *text, size_t length);

/* Decodes a character of at most length bytes. Returns its bytes; 0 if they are invalid UTF-8:
 * truncated, overlong, or a surrogate. */
size_t utf8_decode(const char *text, size_t length, uint32_t *code);

/* Replaces control characters except line feeds. For text that another process of this program
 * should have escaped, but may be compromised. */
void escape_controls(char *text, size_t length);

/* Terminal columns of an escaped text, in any locale. East Asian wide characters and most emoji
 * take two, combining marks none. */
size_t escape_width(const char *escaped);

#endif
