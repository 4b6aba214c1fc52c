/* SPDX-License-Identifier: Apache-2.0 */
/* How fuzz targets take an input to pieces. Where it has ended, numbers are 0 and parts
 * empty: any bytes are an input. */
#ifndef TESTS_FUZZ_INPUT_H
#define TESTS_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What libFuzzer calls (llvm.org/docs/LibFuzzer.html): once, and with each input. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* What has to be true of whatever was made of an input. libFuzzer reports an abort(). */
#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition))                                                                  \
			abort();                                                                   \
	} while (0)

struct input {
	const uint8_t *at;
	size_t left;
};

/* Copies the next bytes; zeros follow the last. */
static inline void input_copy(struct input *input, void *to, size_t size)
{
	size_t n = size < input->left ? size : input->left;

	if (n)
		memcpy(to, input->at, n);
	memset((uint8_t *)to + n, 0, size - n);
	input->at += n;
	input->left -= n;
}

static inline uint8_t input_u8(struct input *input)
{
	uint8_t value;

	input_copy(input, &value, sizeof(value));
	return value;
}

static inline uint16_t input_u16(struct input *input)
{
	uint16_t value;

	input_copy(input, &value, sizeof(value));
	return value;
}

static inline uint64_t input_u64(struct input *input)
{
	uint64_t value;

	input_copy(input, &value, sizeof(value));
	return value;
}

/* The next bytes, size of them unless fewer are left; points into the input. */
static inline struct input input_take(struct input *input, size_t size)
{
	struct input part = { input->at, size < input->left ? size : input->left };

	input->at += part.left;
	input->left -= part.left;
	return part;
}

/* A part with its length before it, in two bytes. */
static inline struct input input_part(struct input *input)
{
	size_t size = input_u16(input);

	return input_take(input, size);
}

/* A copy of exactly that size, whose end the sanitizer guards. The caller frees it. */
static inline void *input_copy_of(struct input part)
{
	uint8_t *copy = malloc(part.left ? part.left : 1);

	MUST(copy);
	if (part.left)
		memcpy(copy, part.at, part.left);
	return copy;
}

/* The same as a text. */
static inline char *input_text_of(struct input part)
{
	char *text = malloc(part.left + 1);

	MUST(text);
	if (part.left)
		memcpy(text, part.at, part.left);
	text[part.left] = '\0';
	return text;
}

/* The same as a file, which the caller closes. */
static inline int input_file_of(struct input part)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	MUST(fd >= 0 && write(fd, part.at, part.left) == (ssize_t)part.left);
	return fd;
}

#endif
