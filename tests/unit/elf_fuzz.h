/* SPDX-License-Identifier: Apache-2.0 */
/* ELF files to be damaged, and what damages them. */
#ifndef TESTS_UNIT_ELF_FUZZ_H
#define TESTS_UNIT_ELF_FUZZ_H

#include <lzma.h>
#include <stdlib.h>

#include "elf_image.h"
#include "fuzz.h"
#include "need.h"

static void table_make(struct image_symbols *table, bool is_64)
{
	char name[64];

	symbols_init(table, is_64);
	symbols_add(table, "variable", DATA_ADDRESS, 8, STT_OBJECT);
	for (unsigned int i = 0; i < 24; i++) {
		sprintf(name, "function_%u%s", i, i % 5 ? "" : "@@VERSION");
		symbols_add(table, name, TEXT_ADDRESS + 8 * i, 8, i % 7 ? STT_FUNC : STT_GNU_IFUNC);
	}
}

static void seed_notes(struct image *image)
{
	static const uint8_t id[20] = { 1, 2, 3 };
	struct image_notes notes = { .is_64 = image->is_64 };

	notes_add(&notes, "GNU", NT_GNU_BUILD_ID, id, sizeof(id));
	image_section(image, ".note.gnu.build-id", SHT_NOTE, notes.bytes, notes.size);
	notes.size = 0;
	for (unsigned int i = 0; i < 8; i++)
		notes_add_site(&notes, TEXT_ADDRESS + 4 * i, 0x403000, i % 2 ? DATA_ADDRESS : 0,
			       "provider", "probe");
	image_section(image, ".note.stapsdt", SHT_NOTE, notes.bytes, notes.size);
	image_section(image, ".stapsdt.base", SHT_PROGBITS, "", 1)->sh_addr = 0x403000;
}

/* With all symbols; then stripped, with packed ones. Without a checksum what is
 * wrong with them is not found before they are read. */
__attribute__((unused)) static void seed_make(struct image *image, bool is_64, bool stripped)
{
	static struct image_symbols table;
	static struct image inner;
	uint16_t versions[26] = { 0 };
	uint8_t packed[16384];
	size_t size = 0;
	uint32_t index;

	table_make(&table, is_64);
	image_init(image, is_64);
	seed_notes(image);
	index = image_symbols(image, &table, SHT_DYNSYM);
	image_section(image, ".gnu.version", SHT_GNU_versym, versions, sizeof(versions))->sh_link =
		index;
	image_section(image, ".gnu_debuglink", SHT_PROGBITS, "no.such.file\0\0\0\0\1\2\3\4", 20);
	if (stripped) {
		image_init(&inner, is_64);
		image_symbols(&inner, &table, SHT_SYMTAB);
		image_finish(&inner);
		need(lzma_easy_buffer_encode(0, LZMA_CHECK_NONE, NULL, inner.bytes, inner.size,
					     packed, &size, sizeof(packed)) == LZMA_OK);
		image_section(image, ".gnu_debugdata", SHT_PROGBITS, packed, size);
	} else {
		image_symbols(image, &table, SHT_SYMTAB);
	}
	image_finish(image);
}

/* A number that is at the edge of something. */
static uint64_t edge(size_t size)
{
	const uint64_t own[] = { size,         size - 1,     size + 1, UINT64_MAX - size,
				 TEXT_ADDRESS, DATA_ADDRESS, 24,       16 };
	uint64_t width = chance(64); /* 2 to the power of that, less one, or a type of sections */
	uint64_t value = chance(3)   ? own[chance(8)]
			 : chance(2) ? chance(12)
				     : (1ULL << width) - chance(2);

	return value + (chance(4) ? 0 : chance(16));
}

/* Half of the changes are made to the headers, which are most of what can be wrong. */
static size_t location(const struct image *image, size_t size)
{
	size_t headers = image->n_sections * (image->is_64 ? 64 : 40);

	switch (chance(4)) {
	case 0:
		return chance(0x120);
	case 1:
		return size > headers ? size - headers + chance(headers) : chance(size);
	default:
		return chance(size);
	}
}

__attribute__((unused)) static void mutate(uint8_t *bytes, size_t *size, const struct image *image)
{
	static const size_t widths[] = { 1, 2, 4, 8 };
	uint64_t value;

	if (!chance(16))
		*size = chance(*size) + 1;
	for (uint64_t changes = 1 + chance(6); changes; changes--) {
		size_t width = widths[chance(4)], at = location(image, *size);

		if (at + width > *size)
			continue;
		if (chance(3)) {
			at -= at % width;
			value = edge(*size);
			memcpy(bytes + at, &value, width);
		} else {
			bytes[at] ^= (uint8_t)(1U << chance(8));
		}
	}
}

#endif
