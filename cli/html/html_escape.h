/* SPDX-License-Identifier: Apache-2.0 */
/* Text inside of a page. */
#ifndef HTML_ESCAPE_H
#define HTML_ESCAPE_H

#include <stdio.h>

enum html_escape {
	HTML_TEXT, /* between elements: nothing of it is an element or a reference */
	HTML_JSON, /* inside of a script element, which it cannot end; it stays the same JSON */
};

/* A stream that writes to another one, which stays the caller's, and escapes on the way. Closing
 * it does not flush that one. Returns NULL with errno set. */
FILE *html_escape_open(FILE *out, enum html_escape escape);

#endif
