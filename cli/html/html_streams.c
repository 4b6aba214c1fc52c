// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "html_streams.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* In what fopencookie(3) calls to write, 0 is an error. */

/* --- Text --- */

struct text_stream {
	FILE *out;
	size_t left; /* bytes that may follow */
	bool cut;
};

static void escaped_write(FILE *out, const char *bytes, size_t size)
{
	size_t plain = 0;

	for (size_t i = 0; i < size; i++) {
		if (bytes[i] != '<' && bytes[i] != '&')
			continue;
		fwrite(bytes + plain, 1, i - plain, out);
		fputs(bytes[i] == '<' ? "&lt;" : "&amp;", out);
		plain = i + 1;
	}
	fwrite(bytes + plain, 1, size - plain, out);
}

static ssize_t text_write(void *cookie, const char *bytes, size_t size)
{
	struct text_stream *stream = cookie;
	size_t taken = size;

	if (!stream->cut && size > stream->left) {
		const char *end = memchr(bytes + stream->left, '\n', size - stream->left);

		/* The line may go on in what is written next. */
		stream->cut = end;
		taken = end ? (size_t)(end + 1 - bytes) : size;
	} else if (stream->cut) {
		taken = 0;
	}
	escaped_write(stream->out, bytes, taken);
	stream->left -= taken < stream->left ? taken : stream->left;
	return ferror(stream->out) ? 0 : (ssize_t)size;
}

static int text_close(void *cookie)
{
	struct text_stream *stream = cookie;

	if (stream->cut)
		fputs("# NOTE: The rest of the text is left out of this page, but not of its data: "
		      "kernel_delay --replay makes it of the JSON that can be saved here.\n",
		      stream->out);
	free(stream);
	return 0;
}

FILE *html_text_open(FILE *out, size_t most)
{
	const cookie_io_functions_t functions = { .write = text_write, .close = text_close };
	struct text_stream *stream = malloc(sizeof(*stream));
	FILE *file;

	if (!stream)
		return NULL;
	*stream = (struct text_stream){ .out = out, .left = most };
	file = fopencookie(stream, "w", functions);
	if (!file)
		free(stream);
	return file;
}

/* --- Packed --- */

#define LINE 57                      /* bytes, for 76 columns */
#define GZIP_WINDOW (MAX_WBITS + 16) /* the largest, and a header of gzip's */

struct packed_stream {
	FILE *out;
	z_stream deflate;
	size_t used; /* of the line */
	unsigned char line[LINE];
};

static void line_write(struct packed_stream *stream)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char text[LINE / 3 * 4];
	size_t length = 0;

	memset(stream->line + stream->used, 0, LINE - stream->used);
	for (size_t i = 0; i < stream->used; i += 3) {
		const unsigned char *at = stream->line + i;
		unsigned int bits = (unsigned int)at[0] << 16 | (unsigned int)at[1] << 8 | at[2];

		for (int shift = 18; shift >= 0; shift -= 6)
			text[length++] = digits[bits >> shift & 63];
	}
	for (size_t missing = (3 - stream->used % 3) % 3; missing; missing--)
		text[length - missing] = '=';
	fwrite(text, 1, length, stream->out);
	fputs("\n", stream->out);
	stream->used = 0;
}

static void bytes_add(struct packed_stream *stream, const unsigned char *bytes, size_t size)
{
	while (size) {
		size_t room = LINE - stream->used, n = size < room ? size : room;

		memcpy(stream->line + stream->used, bytes, n);
		stream->used += n;
		bytes += n;
		size -= n;
		if (stream->used == LINE)
			line_write(stream);
	}
}

/* Hands over what deflate has for now, or at the end all of it. */
static void deflate_on(struct packed_stream *stream, int flush)
{
	unsigned char packed[1 << 12];

	do {
		stream->deflate.next_out = packed;
		stream->deflate.avail_out = sizeof(packed);
		deflate(&stream->deflate, flush);
		bytes_add(stream, packed, sizeof(packed) - stream->deflate.avail_out);
	} while (!stream->deflate.avail_out);
}

static ssize_t packed_write(void *cookie, const char *bytes, size_t size)
{
	struct packed_stream *stream = cookie;

	stream->deflate.next_in = (unsigned char *)bytes; /* which it only reads */
	stream->deflate.avail_in = (unsigned int)size;    /* of a stream's buffer */
	deflate_on(stream, Z_NO_FLUSH);
	return ferror(stream->out) ? 0 : (ssize_t)size;
}

static int packed_close(void *cookie)
{
	struct packed_stream *stream = cookie;

	stream->deflate.avail_in = 0;
	deflate_on(stream, Z_FINISH);
	if (stream->used)
		line_write(stream);
	deflateEnd(&stream->deflate);
	free(stream);
	return 0;
}

FILE *html_packed_open(FILE *out)
{
	const cookie_io_functions_t functions = { .write = packed_write, .close = packed_close };
	struct packed_stream *stream = calloc(1, sizeof(*stream));
	FILE *file;

	if (!stream)
		return NULL;
	stream->out = out;
	if (deflateInit2(&stream->deflate, Z_BEST_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		free(stream);
		errno = ENOMEM;
		return NULL;
	}
	file = fopencookie(stream, "w", functions);
	if (!file) {
		deflateEnd(&stream->deflate);
		free(stream);
	}
	return file;
}
