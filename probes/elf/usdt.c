// SPDX-License-Identifier: Apache-2.0
#include "usdt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NOTES (16ULL << 20) /* bytes; the largest known have 1/100 of it */
#define NOTE_NAME "stapsdt"
#define NOTE_TYPE 3

static uint64_t word_read(const struct elf_file *file, const uint8_t *at)
{
	uint32_t narrow;
	uint64_t wide;

	if (elf_file_is_64(file)) {
		memcpy(&wide, at, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, at, sizeof(narrow));
	return narrow;
}

/* Takes a note apart: three addresses, then provider, name and arguments, each
 * with its NUL. The addresses are those at link time; what prelink moved since then,
 * it moved by as much as the section .stapsdt.base. */
static int site_parse(struct usdt_site *site, const struct elf_file *file,
		      const struct elf_note *note, uint64_t moved)
{
	size_t word = elf_file_is_64(file) ? 8 : 4, left;
	uint64_t base;
	const char *end;

	if (note->desc_size < 3 * word)
		return -EBADMSG;
	site->address = word_read(file, note->desc);
	base = word_read(file, note->desc + word);
	site->semaphore = word_read(file, note->desc + 2 * word);
	if (base && moved) {
		site->address += moved - base;
		if (site->semaphore)
			site->semaphore += moved - base;
	}
	site->provider = (const char *)note->desc + 3 * word;
	left = note->desc_size - 3 * word;
	end = memchr(site->provider, '\0', left);
	if (!end)
		return -EBADMSG;
	left -= (size_t)(end + 1 - site->provider);
	site->name = end + 1;
	end = memchr(site->name, '\0', left);
	if (!end)
		return -EBADMSG;
	left -= (size_t)(end + 1 - site->name);
	/* Of the first version's notes nothing follows. */
	site->arguments = memchr(end + 1, '\0', left) ? end + 1 : end;
	return 0;
}

/* The semaphore is a counter in a segment of its own for each process. */
static void site_locate(struct usdt_site *site, const struct elf_file *file)
{
	site->offset = site->semaphore_offset = 0;
	site->usable = elf_file_offset(file, site->address, PF_X, &site->offset) &&
		       (!site->semaphore ||
			elf_file_offset(file, site->semaphore, PF_W, &site->semaphore_offset));
}

static int notes_each(const struct elf_file *file, const uint8_t *notes, size_t size,
		      usdt_found *found, void *context)
{
	uint64_t moved = 0;
	struct elf_note note;
	size_t at = 0;
	int err;

	elf_file_section_address(file, ".stapsdt.base", &moved);
	while ((err = elf_note_next(&note, notes, size, &at)) > 0) {
		struct usdt_site site;

		if (note.type != NOTE_TYPE || note.name_size != sizeof(NOTE_NAME) ||
		    memcmp(note.name, NOTE_NAME, sizeof(NOTE_NAME)) != 0)
			continue;
		err = site_parse(&site, file, &note, moved);
		if (err)
			return err;
		site_locate(&site, file);
		err = found(context, &site);
		if (err)
			return err;
	}
	return err;
}

int usdt_each(const struct elf_file *file, usdt_found *found, void *context)
{
	const Elf64_Shdr *section = NULL;
	uint64_t size = 0;
	int err = 0;

	while (!err && (section = elf_file_section(file, section, SHT_NOTE, ".note." NOTE_NAME))) {
		uint8_t *notes;

		/* Sections may overlap: all of them together are bounded. */
		size += section->sh_size;
		if (size > MAX_NOTES)
			return -E2BIG;
		notes = malloc(section->sh_size + 1);
		if (!notes)
			return -ENOMEM;
		err = elf_file_read(file, section->sh_offset, notes, section->sh_size);
		if (!err)
			err = notes_each(file, notes, section->sh_size, found, context);
		free(notes);
	}
	return err;
}
