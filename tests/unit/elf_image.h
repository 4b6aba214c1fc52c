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
#define IMAGE_MACHINE EM_X86_64
#define IMAGE_MACHINE_32 EM_386
#else
#define IMAGE_MACHINE EM_AARCH64
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
	if (image->size + size > IMAGE_ROOM)
		abort();
	memcpy(image->bytes + image->size, data, size);
	image->size += size;
}

/* Adds a section; returns its header, whose links and address may be set. */
static inline Elf64_Shdr *image_section(struct image *image, const char *name, uint32_t type,
					const void *data, size_t size)
{
	Elf64_Shdr *section = &image->sections[image->n_sections++];

	image_append(image, data, size);
	*section = (Elf64_Shdr){
		.sh_name = (uint32_t)image->names_size,
		.sh_type = type,
		.sh_offset = image->size - size,
		.sh_size = size,
	};
	strcpy(image->names + image->names_size, name);
	image->names_size += strlen(name) + 1;
	return section;
}

static void image_segment(struct image *image, size_t index, const Elf64_Phdr *segment)
{
	if (image->is_64) {
		memcpy(image->bytes + sizeof(Elf64_Ehdr) + index * sizeof(*segment), segment,
		       sizeof(*segment));
		return;
	}
	memcpy(image->bytes + sizeof(Elf32_Ehdr) + index * sizeof(Elf32_Phdr),
	       &(Elf32_Phdr){
		       .p_type = segment->p_type,
		       .p_flags = segment->p_flags,
		       .p_offset = (uint32_t)segment->p_offset,
		       .p_vaddr = (uint32_t)segment->p_vaddr,
		       .p_filesz = (uint32_t)segment->p_filesz,
		       .p_memsz = (uint32_t)segment->p_memsz,
	       },
	       sizeof(Elf32_Phdr));
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
	image_segment(image, 0,
		      &(Elf64_Phdr){ .p_type = PT_LOAD,
				     .p_flags = PF_R | PF_X,
				     .p_offset = TEXT_OFFSET,
				     .p_vaddr = TEXT_ADDRESS,
				     .p_filesz = TEXT_SIZE,
				     .p_memsz = TEXT_SIZE });
	image_segment(image, 1,
		      &(Elf64_Phdr){ .p_type = PT_LOAD,
				     .p_flags = PF_R | PF_W,
				     .p_offset = DATA_OFFSET,
				     .p_vaddr = DATA_ADDRESS,
				     .p_filesz = DATA_SIZE,
				     .p_memsz = 2 * DATA_SIZE });
	image_segment(image, 2,
		      &(Elf64_Phdr){ .p_type = PT_DYNAMIC,
				     .p_flags = PF_R,
				     .p_offset = DYNAMIC_OFFSET,
				     .p_vaddr = DATA_ADDRESS + DYNAMIC_OFFSET - DATA_OFFSET,
				     .p_filesz = 0x80,
				     .p_memsz = 0x80 });
	image_dynamic(image);
}

static void image_header(struct image *image, uint64_t sections)
{
	Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = IMAGE_MACHINE,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_shoff = sections,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 3,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (uint16_t)image->n_sections,
		.e_shstrndx = (uint16_t)(image->n_sections - 1),
	};
	Elf32_Ehdr narrow = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = IMAGE_MACHINE_32,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf32_Ehdr),
		.e_shoff = (uint32_t)sections,
		.e_ehsize = sizeof(Elf32_Ehdr),
		.e_phentsize = sizeof(Elf32_Phdr),
		.e_phnum = 3,
		.e_shentsize = sizeof(Elf32_Shdr),
		.e_shnum = (uint16_t)image->n_sections,
		.e_shstrndx = (uint16_t)(image->n_sections - 1),
	};

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
			     &(Elf32_Shdr){
				     .sh_name = section->sh_name,
				     .sh_type = section->sh_type,
				     .sh_flags = (uint32_t)section->sh_flags,
				     .sh_addr = (uint32_t)section->sh_addr,
				     .sh_offset = (uint32_t)section->sh_offset,
				     .sh_size = (uint32_t)section->sh_size,
				     .sh_link = section->sh_link,
				     .sh_entsize = (uint32_t)section->sh_entsize,
			     },
			     sizeof(Elf32_Shdr));
	}
	image_header(image, start);
}

/* A copy that the reader may keep and free. */
static inline void *image_copy(const struct image *image)
{
	void *copy = malloc(image->size);

	if (!copy)
		abort();
	return memcpy(copy, image->bytes, image->size);
}

/* Opens one that is finished. The caller closes it. */
static inline struct elf_file *image_open(const struct image *image)
{
	struct elf_file *file;

	if (elf_file_open_image(&file, image_copy(image), image->size))
		abort();
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
	Elf64_Sym wide = {
		.st_name = name,
		.st_info = (unsigned char)ELF64_ST_INFO(STB_GLOBAL, type),
		.st_shndx = section,
		.st_value = address,
		.st_size = size,
	};
	Elf32_Sym narrow = {
		.st_name = name,
		.st_info = wide.st_info,
		.st_shndx = section,
		.st_value = (uint32_t)address,
		.st_size = (uint32_t)size,
	};
	size_t entry = symbols->is_64 ? sizeof(wide) : sizeof(narrow);

	if (symbols->size + entry > sizeof(symbols->entries))
		abort();
	memcpy(symbols->entries + symbols->size,
	       symbols->is_64 ? (const void *)&wide : (const void *)&narrow, entry);
	symbols->size += entry;
}

/* Adds a symbol; returns where its name is in the strings. */
static inline uint32_t symbols_add(struct image_symbols *symbols, const char *name,
				   uint64_t address, uint64_t size, unsigned int type)
{
	uint32_t at = (uint32_t)symbols->strings_size;

	if (at + strlen(name) + 1 > sizeof(symbols->strings))
		abort();
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
	if (notes->size + size + 3 > sizeof(notes->bytes))
		abort();
	memcpy(notes->bytes + notes->size, data, size);
	notes->size += size;
}

static inline void notes_add(struct image_notes *notes, const char *name, uint32_t type,
			     const void *desc, size_t size)
{
	Elf64_Nhdr header = {
		.n_namesz = (uint32_t)strlen(name) + 1,
		.n_descsz = (uint32_t)size,
		.n_type = type,
	};

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
