// SPDX-License-Identifier: Apache-2.0
#include "cfi_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PIECE 16384
#define MAX_PART (64UL << 20) /* what the largest browsers have is a third of it */

enum piece { PIECE_UNREAD, PIECE_READ, PIECE_FAILED };

int cfi_part_open(struct cfi_part *part, const struct elf_file *file, uint64_t offset,
		  uint64_t address, uint64_t size)
{
	uint64_t end;

	*part = (struct cfi_part){ .file = file, .offset = offset, .address = address };
	if (offset > elf_file_size(file) || size > elf_file_size(file) - offset ||
	    __builtin_add_overflow(address, size, &end))
		return -EBADMSG;
	if (size > MAX_PART)
		return -E2BIG;
	part->size = size;
	part->bytes = malloc(size + 1); /* pages of it that are not read take no memory */
	part->pieces = calloc(size / PIECE + 1, 1);
	return part->bytes && part->pieces ? 0 : -ENOMEM;
}

void cfi_part_close(struct cfi_part *part)
{
	free(part->bytes);
	free(part->pieces);
}

static bool piece_read(struct cfi_part *part, size_t piece)
{
	size_t from = piece * PIECE;
	size_t size = part->size - from < PIECE ? part->size - from : PIECE;

	if (part->pieces[piece] == PIECE_UNREAD)
		part->pieces[piece] = elf_file_read(part->file, part->offset + from,
						    part->bytes + from, size)
					      ? PIECE_FAILED
					      : PIECE_READ;
	return part->pieces[piece] == PIECE_READ;
}

const uint8_t *cfi_part_at(struct cfi_part *part, uint64_t address, size_t n)
{
	uint64_t from = address - part->address;

	if (address < part->address || from > part->size || n > part->size - from)
		return NULL;
	for (size_t piece = from / PIECE; piece * PIECE < from + n; piece++) {
		if (!piece_read(part, piece))
			return NULL;
	}
	return part->bytes + from;
}

struct cfi_reader cfi_reader_new(const uint8_t *bytes, size_t size, uint64_t address)
{
	return (struct cfi_reader){
		.at = bytes,
		.end = bytes ? bytes + size : NULL,
		.address = address,
		.failed = !bytes,
	};
}

const uint8_t *cfi_read_bytes(struct cfi_reader *reader, uint64_t n)
{
	const uint8_t *bytes = reader->at;

	if (reader->failed || n > (uint64_t)(reader->end - reader->at)) {
		reader->failed = true;
		return NULL;
	}
	reader->at += n;
	reader->address += n;
	return bytes;
}

/* The files read have this machine's byte order, see elf_file_open(). */
#define DEFINE_READ(name, type)                                                                    \
	type name(struct cfi_reader *reader)                                                       \
	{                                                                                          \
		const uint8_t *bytes = cfi_read_bytes(reader, sizeof(type));                       \
		type value = 0;                                                                    \
                                                                                                   \
		if (bytes)                                                                         \
			memcpy(&value, bytes, sizeof(value));                                      \
		return value;                                                                      \
	}

DEFINE_READ(cfi_read_u8, uint8_t)
DEFINE_READ(cfi_read_u16, uint16_t)
DEFINE_READ(cfi_read_u32, uint32_t)
DEFINE_READ(cfi_read_u64, uint64_t)

static uint64_t leb_read(struct cfi_reader *reader, bool is_signed)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 70; shift += 7) {
		uint8_t byte = cfi_read_u8(reader);

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if (is_signed && byte & 0x40 && shift < 57)
			value |= ~0ULL << (shift + 7);
		return reader->failed ? 0 : value;
	}
	reader->failed = true;
	return 0;
}

uint64_t cfi_read_uleb(struct cfi_reader *reader)
{
	return leb_read(reader, false);
}

int64_t cfi_read_sleb(struct cfi_reader *reader)
{
	return (int64_t)leb_read(reader, true);
}

static uint64_t format_read(struct cfi_reader *reader, uint8_t format)
{
	switch (format) {
	case CFI_PE_ABSPTR:
	case CFI_PE_UDATA8:
	case CFI_PE_SDATA8:
		return cfi_read_u64(reader);
	case CFI_PE_UDATA2:
		return cfi_read_u16(reader);
	case CFI_PE_UDATA4:
		return cfi_read_u32(reader);
	case CFI_PE_SDATA2:
		return (uint64_t)(int64_t)(int16_t)cfi_read_u16(reader);
	case CFI_PE_SDATA4:
		return (uint64_t)(int64_t)(int32_t)cfi_read_u32(reader);
	default:
		reader->failed = true;
		return 0;
	}
}

uint64_t cfi_read_pointer(struct cfi_reader *reader, uint8_t encoding)
{
	uint64_t at = reader->address;
	uint64_t value = format_read(reader, encoding & CFI_PE_FORMAT);

	switch (encoding & CFI_PE_BASE) {
	case CFI_PE_ABSPTR:
		return value;
	case CFI_PE_PCREL:
		return value ? value + at : 0; /* 0 is no pointer, whatever the base */
	default:
		reader->failed = true;
		return 0;
	}
}
