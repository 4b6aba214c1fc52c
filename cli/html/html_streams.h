/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that write to another one, which stays the caller's, and change what passes, so that
 * nothing of it is an element or ends one. Closing them does not flush that one. */
#ifndef HTML_STREAMS_H
#define HTML_STREAMS_H

#include <stdio.h>

/* Text, between elements. What is beyond so many bytes is left out, from the end of a line on, and
 * a last line says so. Returns NULL with errno set. */
FILE *html_text_open(FILE *out, size_t most);

/* Any bytes, as lines of base64 of what gzip makes of them: JSON takes a seventh of its size.
 * Returns as above. */
FILE *html_packed_open(FILE *out);

#endif
