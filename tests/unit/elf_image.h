/* SPDX-License-Identifier: Apache-2.0 */
/* Small shared objects, made by hand so that every byte of them is known. */
#ifndef TESTS_UNIT_ELF_IMAGE_H
#define TESTS_UNIT_ELF_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/elf/elf_file.h"
#include "need.h"

/* Two segments, whose addresses are not their offsets. */
#define TEXT_OFFSET 0x200
#define TEXT_ADDRESS 0x401200UL
#define TEXT_SIZE 0x100
#define DATA_OFFSET 0x300
#define DATA_ADDRESS 0x512300UL
#define DATA_SIZE 0x200
#define DYNAMIC_OFFSET 0x340
#define DYNSTR_OFFSET 0x400
#define SECTIONS_OFFSET 0x500

#define IMAGE_SONAME "libimage.so.7"
#define IMAGE_SECTIONS 16
#define IMAGE_ROOM (96 << 10)

#if defined(__x86_64__)
#define IMAGE_MACHINE_64 EM_X86_64
#define IMAGE_MACHINE_32 EM_386
#else
#define IMAGE_MACHINE_64 EM_AARCH64
#define IMAGE_MACHINE_32 EM_NONE /* no program of 32 bits can be probed */
#endif

struct image {
	uint8_t bytes[IMAGE_ROOM];
	size_t size;
	bool is_64;
	Elf64_Shdr sections[IMAGE_SECTIONS];
	size_t n_sections;
	char names[512];
	size_t names_size;
};

/* A table of symbols that grows. */
struct image_symbols {
	uint8_t entries[8192];
	size_t size;
	char strings[8192];
	size_t strings_size;
	bool is_64;
};

struct image_notes {
	uint8_t bytes[4096];
	size_t size;
	bool is_64;
};

static inline void image_append(struct image *image, const void *data, size_t size)
{
	image->size = (image->size + 7) & ~7ULL;
	need(image->size + size <= IMAGE_ROOM);
	memcpy(image->bytes + image->size, data, size);
	image->size += size;
}

/* Adds a section; returns its header, whose links and address may be set. */
static inline Elf64_Shdr *image_section(struct image *image, const char *name, uint32_t type,
					const void *data, size_t size)
{
	Elf64_Shdr *section = &image->sections[image->n_sections++];

	image_append(image, data, size);
	*section = (Elf64_Shdr){ (uint32_t)image->names_size, type, .sh_offset = image->size - size,
				 .sh_size = size };
	strcpy(image->names + image->names_size, name);
	image->names_size += strlen(name) + 1;
	return section;
}

static void image_segment(struct image *image, size_t index, uint32_t type, uint32_t flags,
			  uint32_t offset, uint32_t address, uint32_t size, uint32_t memory)
{
	const Elf64_Phdr wide = { type, flags, offset, address, 0, size, memory, 0 };
	const Elf32_Phdr narrow = { type, offset, address, 0, size, memory, flags, 0 };

	if (image->is_64)
		memcpy(image->bytes + sizeof(Elf64_Ehdr) + index * sizeof(wide), &wide,
		       sizeof(wide));
	else
		memcpy(image->bytes + sizeof(Elf32_Ehdr) + index * sizeof(narrow), &narrow,
		       sizeof(narrow));
}

static void image_dynamic(struct image *image)
{
	static const uint64_t tags[][2] = {
		{ DT_SONAME, 1 },
		{ DT_STRTAB, DATA_ADDRESS + DYNSTR_OFFSET - DATA_OFFSET },
		{ DT_STRSZ, sizeof(IMAGE_SONAME) + 1 },
		{ DT_NULL, 0 },
	};

	for (size_t i = 0; i < sizeof(tags) / sizeof(*tags); i++) {
		if (image->is_64)
			memcpy(image->bytes + DYNAMIC_OFFSET + i * 16, tags[i], 16);
		else
			memcpy(image->bytes + DYNAMIC_OFFSET + i * 8,
			       (uint32_t[]){ (uint32_t)tags[i][0], (uint32_t)tags[i][1] }, 8);
	}
	strcpy((char *)image->bytes + DYNSTR_OFFSET + 1, IMAGE_SONAME);
}

static inline void image_init(struct image *image, bool is_64)
{
	memset(image, 0, sizeof(*image));
	image->is_64 = is_64;
	image->size = SECTIONS_OFFSET;
	image->n_sections = 1; /* the first means none */
	image->names_size = 1;
	image_segment(image, 0, PT_LOAD, PF_R | PF_X, TEXT_OFFSET, TEXT_ADDRESS, TEXT_SIZE,
		      TEXT_SIZE);
	image_segment(image, 1, PT_LOAD, PF_R | PF_W, DATA_OFFSET, DATA_ADDRESS, DATA_SIZE,
		      2 * DATA_SIZE);
	image_segment(image, 2, PT_DYNAMIC, PF_R, DYNAMIC_OFFSET,
		      DATA_ADDRESS + DYNAMIC_OFFSET - DATA_OFFSET, 0x80, 0x80);
	image_dynamic(image);
}

static void image_header(struct image *image, uint64_t sections)
{
	uint16_t n = (uint16_t)image->n_sections, names = (uint16_t)(n - 1);
#define IMAGE_HEADER(bits)                                                                         \
	{                                                                                          \
		{ ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS##bits, ELFDATA2LSB, EV_CURRENT },   \
			ET_DYN, IMAGE_MACHINE_##bits, EV_CURRENT, 0, sizeof(Elf##bits##_Ehdr),     \
			(Elf##bits##_Off)sections, 0, sizeof(Elf##bits##_Ehdr),                    \
			sizeof(Elf##bits##_Phdr), 3, sizeof(Elf##bits##_Shdr), n, names            \
	}
	const Elf64_Ehdr header = IMAGE_HEADER(64);
	const Elf32_Ehdr narrow = IMAGE_HEADER(32);

	if (image->is_64)
		memcpy(image->bytes, &header, sizeof(header));
	else
		memcpy(image->bytes, &narrow, sizeof(narrow));
}

/* Adds the section headers and the file's: nothing can be added afterwards. */
static inline void image_finish(struct image *image)
{
	Elf64_Shdr *names = image_section(image, ".shstrtab", SHT_STRTAB, "", 0);
	uint64_t start;

	image_append(image, image->names, image->names_size);
	names->sh_offset = image->size - image->names_size;
	names->sh_size = image->names_size;
	start = (image->size + 7) & ~7ULL;
	for (size_t i = 0; i < image->n_sections; i++) {
		const Elf64_Shdr *section = &image->sections[i];

		if (image->is_64) {
			image_append(image, section, sizeof(*section));
			continue;
		}
		image_append(image,
			     &(Elf32_Shdr){ section->sh_name, section->sh_type,
					    (uint32_t)section->sh_flags, (uint32_t)section->sh_addr,
					    (uint32_t)section->sh_offset,
					    (uint32_t)section->sh_size, section->sh_link, 0, 0,
					    (uint32_t)section->sh_entsize },
			     sizeof(Elf32_Shdr));
	}
	image_header(image, start);
}

/* A copy that the reader may keep and free. */
static inline void *image_copy(const struct image *image)
{
	void *copy = malloc(image->size);

	need(copy);
	return memcpy(copy, image->bytes, image->size);
}

/* Opens one that is finished. The caller closes it. */
static inline struct elf_file *image_open(const struct image *image)
{
	struct elf_file *file;

	need(!elf_file_open_image(&file, image_copy(image), image->size));
	return file;
}

static inline void symbols_init(struct image_symbols *symbols, bool is_64)
{
	memset(symbols, 0, sizeof(*symbols));
	symbols->is_64 = is_64;
	symbols->size = is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	symbols->strings_size = 1;
}

/* Adds a symbol whose name begins at an offset of the strings. */
static inline void symbols_add_at(struct image_symbols *symbols, uint32_t name, uint64_t address,
				  uint64_t size, unsigned int type, uint16_t section)
{
	unsigned char info = (unsigned char)ELF64_ST_INFO(STB_GLOBAL, type);
	Elf64_Sym wide = { name, info, 0, section, address, size };
	Elf32_Sym narrow = { name, (uint32_t)address, (uint32_t)size, info, 0, section };
	size_t entry = symbols->is_64 ? sizeof(wide) : sizeof(narrow);

	need(symbols->size + entry <= sizeof(symbols->entries));
	memcpy(symbols->entries + symbols->size,
	       symbols->is_64 ? (const void *)&wide : (const void *)&narrow, entry);
	symbols->size += entry;
}

/* Adds a symbol; returns where its name is in the strings. */
static inline uint32_t symbols_add(struct image_symbols *symbols, const char *name,
				   uint64_t address, uint64_t size, unsigned int type)
{
	uint32_t at = (uint32_t)symbols->strings_size;

	need(at + strlen(name) + 1 <= sizeof(symbols->strings));
	strcpy(symbols->strings + at, name);
	symbols->strings_size += strlen(name) + 1;
	symbols_add_at(symbols, at, address, size, type, 1);
	return at;
}

/* Adds a table and its strings; returns the index of the table's section. */
static inline uint32_t image_symbols(struct image *image, const struct image_symbols *symbols,
				     uint32_t type)
{
	bool dynamic = type == SHT_DYNSYM;
	Elf64_Shdr *section = image_section(image, dynamic ? ".dynsym" : ".symtab", type,
					    symbols->entries, symbols->size);

	section->sh_entsize = symbols->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	section->sh_link = (uint32_t)image->n_sections;
	image_section(image, dynamic ? ".dynstr" : ".strtab", SHT_STRTAB, symbols->strings,
		      symbols->strings_size);
	return section->sh_link - 1;
}

static void notes_append(struct image_notes *notes, const void *data, size_t size)
{
	need(notes->size + size + 3 <= sizeof(notes->bytes));
	memcpy(notes->bytes + notes->size, data, size);
	notes->size += size;
}

static inline void notes_add(struct image_notes *notes, const char *name, uint32_t type,
			     const void *desc, size_t size)
{
	Elf64_Nhdr header = { (uint32_t)strlen(name) + 1, (uint32_t)size, type };

	notes_append(notes, &header, sizeof(header));
	notes_append(notes, name, strlen(name) + 1);
	notes->size = (notes->size + 3) & ~3ULL;
	notes_append(notes, desc, size);
	notes->size = (notes->size + 3) & ~3ULL;
}

/* Adds the note of a USDT site. */
static inline void notes_add_site(struct image_notes *notes, uint64_t address, uint64_t base,
				  uint64_t semaphore, const char *provider, const char *name)
{
	uint64_t wide[3] = { address, base, semaphore };
	uint32_t narrow[3] = { (uint32_t)address, (uint32_t)base, (uint32_t)semaphore };
	size_t size = notes->is_64 ? sizeof(wide) : sizeof(narrow);
	char desc[512];

	memcpy(desc, notes->is_64 ? (const void *)wide : (const void *)narrow, size);
	size += (size_t)sprintf(desc + size, "%s", provider) + 1;
	size += (size_t)sprintf(desc + size, "%s", name) + 1;
	size += (size_t)sprintf(desc + size, "-4@%%eax") + 1;
	notes_add(notes, "stapsdt", 3, desc, size);
}

#endif
