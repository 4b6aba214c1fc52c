/* SPDX-License-Identifier: Apache-2.0 */
/* Files whose call frame information is made of given instructions. */
#ifndef TESTS_UNIT_FRAMES_IMAGE_H
#define TESTS_UNIT_FRAMES_IMAGE_H

#include "elf_image.h"
#include "need.h"

#define FRAMES_ADDRESS (TEXT_ADDRESS + 0x10000)

/* DWARF's numbers of registers: the return address, the last one, and the first that is none. */
#if defined(__x86_64__)
#define RETURN_REGISTER 16
#define LAST_REGISTER 16
#else
#define RETURN_REGISTER 30
#define LAST_REGISTER 31
#endif
#define NO_REGISTER (LAST_REGISTER + 1)

struct frames_program {
	const uint8_t *bytes;
	size_t size;
};

/* As every compiler's CIE begins: the CFA is rsp + 8, and the return address below it. */
static const uint8_t frames_begin[] = { 0x0c, 7, 8, 0x90, 1 };

struct frames {
	uint8_t bytes[80 << 10];
	size_t size;
};

static inline void frames_put(struct frames *frames, const void *bytes, size_t size)
{
	need(frames->size + size <= sizeof(frames->bytes));
	if (size)
		memcpy(frames->bytes + frames->size, bytes, size);
	frames->size += size;
}

static inline void frames_put_u32(struct frames *frames, uint64_t value)
{
	uint32_t narrow = (uint32_t)value;

	frames_put(frames, &narrow, sizeof(narrow));
}

/* Fills in an entry's length. */
static inline void frames_end(struct frames *frames, size_t begin)
{
	uint32_t length = (uint32_t)(frames->size - begin - sizeof(length));

	memcpy(frames->bytes + begin, &length, sizeof(length));
}

/* One CIE, and FDEs for the n equal parts of the code. Pointers are relative to where they are. */
static inline struct elf_file *
frames_file(struct frames_program cie, const struct frames_program *fdes, uint32_t n, bool signal)
{
	static const uint8_t fixed[] = { 1, 0x78, RETURN_REGISTER, 1, 0x1b };
	static struct frames frames;
	static struct image image;

	frames.size = 0;
	frames_put_u32(&frames, 0);
	frames_put_u32(&frames, 0);
	frames_put(&frames, signal ? "\1zRS" : "\1zR", signal ? 5 : 4);
	frames_put(&frames, fixed, sizeof(fixed));
	frames_put(&frames, cie.bytes, cie.size);
	frames_end(&frames, 0);
	for (uint32_t i = 0; i < n; i++) {
		size_t at = frames.size;

		frames_put_u32(&frames, 0);
		frames_put_u32(&frames, at + 4);
		frames_put_u32(&frames,
			       TEXT_ADDRESS + i * (TEXT_SIZE / n) - (FRAMES_ADDRESS + frames.size));
		frames_put_u32(&frames, TEXT_SIZE / n);
		frames_put(&frames, "", 1);
		frames_put(&frames, fdes[i].bytes, fdes[i].size);
		frames_end(&frames, at);
	}
	frames_put_u32(&frames, 0);
	image_init(&image, true);
	for (size_t i = 0; i < TEXT_SIZE; i += 8) /* calls, here and there */
		image.bytes[TEXT_OFFSET + i] = 0xe8;
	image_section(&image, ".eh_frame", SHT_PROGBITS, frames.bytes, frames.size)->sh_addr =
		FRAMES_ADDRESS;
	image_finish(&image);
	return image_open(&image);
}

#endif
