// SPDX-License-Identifier: Apache-2.0
#include "elf_file.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Far more than any linker writes. */
#define MAX_SEGMENTS 1024
#define MAX_LOADS 64 /* every address is compared with each */
#define MAX_SECTIONS 65536
#define MAX_SECTION_NAMES (1 << 20)
#define MAX_DYNAMIC 4096
#define MAX_NOTES 65536 /* bytes of the section that holds the build ID */

#define NATIVE_DATA (__BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB)

struct elf_file {
	int fd;
	uint8_t *image; /* instead of fd */
	uint64_t size;
	bool is_64;
	Elf64_Phdr *loads;
	size_t n_loads;
	Elf64_Phdr dynamic; /* p_filesz 0: none */
	Elf64_Shdr *sections;
	size_t n_sections;
	char *names; /* of the sections, ends with a NUL */
	size_t names_size;
};

/* Where the tables are, of either class. */
struct layout {
	uint64_t segments, sections;
	uint32_t n_segments, n_sections, names_index;
	size_t segment_size, section_size;
};

int elf_file_read(const struct elf_file *file, uint64_t offset, void *data, size_t size)
{
	uint8_t *out = data;

	if (offset > file->size || size > file->size - offset)
		return -EBADMSG;
	if (file->image) {
		memcpy(out, file->image + offset, size);
		return 0;
	}
	while (size) {
		ssize_t got = pread(file->fd, out, size, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got) /* it has shrunk */
			return -EBADMSG;
		out += got;
		offset += (uint64_t)got;
		size -= (size_t)got;
	}
	return 0;
}

static bool machine_is_ours(const Elf64_Ehdr *header)
{
#if defined(__x86_64__)
	return header->e_machine == EM_X86_64 || header->e_machine == EM_386;
#elif defined(__aarch64__)
	return header->e_machine == EM_AARCH64;
#else
#error "which machine's files can be probed here?"
#endif
}

static Elf64_Shdr section_widen(const Elf32_Shdr *section)
{
	return (Elf64_Shdr){
		.sh_name = section->sh_name,
		.sh_type = section->sh_type,
		.sh_flags = section->sh_flags,
		.sh_addr = section->sh_addr,
		.sh_offset = section->sh_offset,
		.sh_size = section->sh_size,
		.sh_link = section->sh_link,
		.sh_info = section->sh_info,
		.sh_addralign = section->sh_addralign,
		.sh_entsize = section->sh_entsize,
	};
}

static Elf64_Phdr segment_widen(const Elf32_Phdr *segment)
{
	return (Elf64_Phdr){
		.p_type = segment->p_type,
		.p_flags = segment->p_flags,
		.p_offset = segment->p_offset,
		.p_vaddr = segment->p_vaddr,
		.p_paddr = segment->p_paddr,
		.p_filesz = segment->p_filesz,
		.p_memsz = segment->p_memsz,
		.p_align = segment->p_align,
	};
}

static int section_read(const struct elf_file *file, uint64_t offset, Elf64_Shdr *section)
{
	Elf32_Shdr narrow;
	int err;

	if (file->is_64)
		return elf_file_read(file, offset, section, sizeof(*section));
	err = elf_file_read(file, offset, &narrow, sizeof(narrow));
	if (!err)
		*section = section_widen(&narrow);
	return err;
}

/* Reads the file's first header. Types and machines come in one place for both classes. */
static int layout_read(struct elf_file *file, struct layout *layout)
{
	Elf64_Ehdr wide;
	Elf32_Ehdr narrow;
	int err = elf_file_read(file, 0, &wide, EI_NIDENT);

	if (err || memcmp(wide.e_ident, ELFMAG, SELFMAG) != 0)
		return err && err != -EBADMSG ? err : -ENOEXEC;
	if (wide.e_ident[EI_DATA] != NATIVE_DATA)
		return -ENOTSUP;
	file->is_64 = wide.e_ident[EI_CLASS] == ELFCLASS64;
	if (file->is_64) {
		err = elf_file_read(file, 0, &wide, sizeof(wide));
	} else {
		err = elf_file_read(file, 0, &narrow, sizeof(narrow));
		if (err)
			return err;
		wide.e_type = narrow.e_type;
		wide.e_machine = narrow.e_machine;
		wide.e_phoff = narrow.e_phoff;
		wide.e_shoff = narrow.e_shoff;
		wide.e_phentsize = narrow.e_phentsize;
		wide.e_phnum = narrow.e_phnum;
		wide.e_shentsize = narrow.e_shentsize;
		wide.e_shnum = narrow.e_shnum;
		wide.e_shstrndx = narrow.e_shstrndx;
	}
	if (err)
		return err;
	if (!machine_is_ours(&wide) || (wide.e_type != ET_EXEC && wide.e_type != ET_DYN))
		return -ENOTSUP;
	*layout = (struct layout){
		.segments = wide.e_phoff,
		.sections = wide.e_shoff,
		.n_segments = wide.e_phnum,
		.n_sections = wide.e_shnum,
		.names_index = wide.e_shstrndx,
		.segment_size = file->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr),
		.section_size = file->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr),
	};
	if ((wide.e_phnum && wide.e_phentsize != layout->segment_size) ||
	    (wide.e_shoff && wide.e_shentsize != layout->section_size))
		return -EBADMSG;
	return 0;
}

/* Numbers that do not fit into the first header are in the first section's. */
static int layout_extend(const struct elf_file *file, struct layout *layout)
{
	Elf64_Shdr first;
	int err;

	if (!layout->sections) {
		layout->n_sections = 0;
		return 0;
	}
	if (layout->n_sections && layout->names_index != SHN_XINDEX)
		return 0;
	err = section_read(file, layout->sections, &first);
	if (err)
		return err;
	if (!layout->n_sections) {
		if (first.sh_size > MAX_SECTIONS)
			return -E2BIG;
		layout->n_sections = (uint32_t)first.sh_size;
	}
	if (layout->names_index == SHN_XINDEX)
		layout->names_index = first.sh_link;
	return 0;
}

static int segments_read(struct elf_file *file, const struct layout *layout)
{
	if (layout->n_segments > MAX_SEGMENTS)
		return -E2BIG;
	file->loads = calloc(MAX_LOADS, sizeof(*file->loads));
	if (!file->loads)
		return -ENOMEM;
	for (uint32_t i = 0; i < layout->n_segments; i++) {
		uint64_t offset;
		Elf64_Phdr segment;
		Elf32_Phdr narrow;
		int err;

		if (__builtin_add_overflow(layout->segments, i * layout->segment_size, &offset))
			return -EBADMSG;
		if (file->is_64) {
			err = elf_file_read(file, offset, &segment, sizeof(segment));
		} else {
			err = elf_file_read(file, offset, &narrow, sizeof(narrow));
			if (!err)
				segment = segment_widen(&narrow);
		}
		if (err)
			return err;
		if (segment.p_type == PT_DYNAMIC)
			file->dynamic = segment;
		if (segment.p_type != PT_LOAD)
			continue;
		if (file->n_loads == MAX_LOADS)
			return -E2BIG;
		file->loads[file->n_loads++] = segment;
	}
	return 0;
}

static bool section_has_contents(const Elf64_Shdr *section)
{
	return section->sh_type != SHT_NULL && section->sh_type != SHT_NOBITS;
}

/* Reads the section headers, all or none of which lie within the file. */
static int sections_read(struct elf_file *file, const struct layout *layout)
{
	uint64_t end;

	if (!layout->n_sections)
		return 0;
	if (__builtin_add_overflow(layout->sections, layout->n_sections * layout->section_size,
				   &end) ||
	    end > file->size)
		return -EBADMSG;
	file->sections = calloc(layout->n_sections, sizeof(*file->sections));
	if (!file->sections)
		return -ENOMEM;
	for (uint32_t i = 0; i < layout->n_sections; i++) {
		Elf64_Shdr *section = &file->sections[i];
		int err = section_read(file, layout->sections + i * layout->section_size, section);

		if (err)
			return err;
		if (section_has_contents(section) &&
		    (section->sh_offset > file->size ||
		     section->sh_size > file->size - section->sh_offset))
			return -EBADMSG;
	}
	file->n_sections = layout->n_sections;
	return 0;
}

static int section_names_read(struct elf_file *file, const struct layout *layout)
{
	const Elf64_Shdr *section = elf_file_section_at(file, layout->names_index);

	if (!section || section->sh_type != SHT_STRTAB)
		return 0; /* a file whose sections have no names has none that we look for */
	if (section->sh_size > MAX_SECTION_NAMES)
		return -E2BIG;
	file->names = malloc(section->sh_size + 1);
	if (!file->names)
		return -ENOMEM;
	file->names_size = section->sh_size;
	file->names[file->names_size] = '\0';
	return elf_file_read(file, section->sh_offset, file->names, file->names_size);
}

static int headers_read(struct elf_file *file)
{
	struct layout layout;
	int err = layout_read(file, &layout);

	if (!err)
		err = layout_extend(file, &layout);
	if (!err)
		err = segments_read(file, &layout);
	if (!err)
		err = sections_read(file, &layout);
	if (!err)
		err = section_names_read(file, &layout);
	return err;
}

/* Takes over what is in the structure. */
static int headers_open(struct elf_file **file, const struct elf_file *opened)
{
	int err;

	*file = calloc(1, sizeof(**file));
	if (!*file) {
		free(opened->image);
		return -ENOMEM;
	}
	**file = *opened;
	err = headers_read(*file);
	if (err) {
		elf_file_close(*file);
		*file = NULL;
	}
	return err;
}

int elf_file_open(struct elf_file **file, int fd)
{
	struct elf_file opened = { .fd = fd };
	struct stat stat;

	if (fstat(fd, &stat))
		return -errno;
	if (!S_ISREG(stat.st_mode))
		return -ENOEXEC;
	opened.size = (uint64_t)stat.st_size;
	return headers_open(file, &opened);
}

int elf_file_open_image(struct elf_file **file, void *image, size_t size)
{
	const struct elf_file opened = { .fd = -1, .image = image, .size = size };

	return headers_open(file, &opened);
}

void elf_file_close(struct elf_file *file)
{
	if (!file)
		return;
	free(file->image);
	free(file->loads);
	free(file->sections);
	free(file->names);
	free(file);
}

const char *elf_file_error(int error)
{
	switch (error) {
	case -ENOEXEC:
		return "it is not an ELF file";
	case -ENOTSUP:
		return "it is neither a program nor a shared object of this machine";
	case -EBADMSG:
		return "the ELF file is damaged";
	case -E2BIG:
		return "the ELF file has tables larger than any that is read";
	case -ESTALE:
		return "another file is at its path now";
	default:
		return strerror(-error);
	}
}

uint64_t elf_file_size(const struct elf_file *file)
{
	return file->size;
}

bool elf_file_is_64(const struct elf_file *file)
{
	return file->is_64;
}

static const char *section_name(const struct elf_file *file, const Elf64_Shdr *section)
{
	return section->sh_name < file->names_size ? file->names + section->sh_name : "";
}

static bool section_is_readable(const Elf64_Shdr *section)
{
	return section_has_contents(section) && !(section->sh_flags & SHF_COMPRESSED);
}

const Elf64_Shdr *elf_file_section(const struct elf_file *file, const Elf64_Shdr *after,
				   uint32_t type, const char *name)
{
	for (size_t i = after ? (size_t)(after - file->sections) + 1 : 0; i < file->n_sections;
	     i++) {
		const Elf64_Shdr *section = &file->sections[i];

		if (section_is_readable(section) && (!type || section->sh_type == type) &&
		    (!name || strcmp(section_name(file, section), name) == 0))
			return section;
	}
	return NULL;
}

const Elf64_Shdr *elf_file_section_at(const struct elf_file *file, uint32_t index)
{
	if (index >= file->n_sections || !section_is_readable(&file->sections[index]))
		return NULL;
	return &file->sections[index];
}

bool elf_file_section_address(const struct elf_file *file, const char *name, uint64_t *address)
{
	for (size_t i = 0; i < file->n_sections; i++) {
		if (file->sections[i].sh_type == SHT_NULL ||
		    strcmp(section_name(file, &file->sections[i]), name) != 0)
			continue;
		*address = file->sections[i].sh_addr;
		return true;
	}
	return false;
}

bool elf_file_offset(const struct elf_file *file, uint64_t address, uint32_t flags,
		     uint64_t *offset)
{
	for (size_t i = 0; i < file->n_loads; i++) {
		const Elf64_Phdr *load = &file->loads[i];
		uint64_t within = address - load->p_vaddr;

		if ((load->p_flags & flags) != flags || address < load->p_vaddr ||
		    within >= load->p_filesz || load->p_offset >= file->size ||
		    within >= file->size - load->p_offset)
			continue;
		*offset = load->p_offset + within;
		return true;
	}
	return false;
}

bool elf_file_address(const struct elf_file *file, uint64_t offset, uint32_t flags,
		      uint64_t *address)
{
	for (size_t i = 0; i < file->n_loads; i++) {
		const Elf64_Phdr *load = &file->loads[i];
		uint64_t within = offset - load->p_offset;

		if ((load->p_flags & flags) != flags || offset < load->p_offset ||
		    within >= load->p_filesz || offset >= file->size)
			continue;
		return !__builtin_add_overflow(load->p_vaddr, within, address);
	}
	return false;
}

/* The kernel maps whole pages: also what is in front of the segment in the first of them. */
bool elf_file_bias(const struct elf_file *file, uint64_t start, uint64_t offset, uint32_t flags,
		   uint64_t *bias)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < file->n_loads; i++) {
		const Elf64_Phdr *load = &file->loads[i];
		uint64_t first = load->p_offset & ~(page - 1), end;

		if ((load->p_flags & flags) != flags || offset < first ||
		    __builtin_add_overflow(load->p_offset, load->p_filesz, &end) || offset >= end)
			continue;
		*bias = start - offset + load->p_offset - load->p_vaddr;
		return true;
	}
	return false;
}

bool elf_file_has(const struct elf_file *file, uint64_t address, uint32_t flags)
{
	for (size_t i = 0; i < file->n_loads; i++) {
		const Elf64_Phdr *load = &file->loads[i];

		if ((load->p_flags & flags) == flags && address >= load->p_vaddr &&
		    address - load->p_vaddr < load->p_memsz)
			return true;
	}
	return false;
}

bool elf_file_code(const struct elf_file *file, uint64_t *start, uint64_t *end)
{
	*start = UINT64_MAX;
	*end = 0;
	for (size_t i = 0; i < file->n_loads; i++) {
		const Elf64_Phdr *load = &file->loads[i];
		uint64_t last;

		if (!(load->p_flags & PF_X) ||
		    __builtin_add_overflow(load->p_vaddr, load->p_filesz, &last))
			continue;
		if (load->p_vaddr < *start)
			*start = load->p_vaddr;
		if (last > *end)
			*end = last;
	}
	return *start < *end;
}

/* Reads one entry of the dynamic section. */
static bool dynamic_read(const struct elf_file *file, uint64_t index, Elf64_Dyn *entry)
{
	uint64_t size = file->is_64 ? sizeof(Elf64_Dyn) : sizeof(Elf32_Dyn);
	uint64_t offset;
	Elf32_Dyn narrow;

	if (index >= MAX_DYNAMIC || index >= file->dynamic.p_filesz / size ||
	    __builtin_add_overflow(file->dynamic.p_offset, index * size, &offset))
		return false;
	if (file->is_64)
		return !elf_file_read(file, offset, entry, sizeof(*entry));
	if (elf_file_read(file, offset, &narrow, sizeof(narrow)))
		return false;
	entry->d_tag = narrow.d_tag;
	entry->d_un.d_val = narrow.d_un.d_val;
	return true;
}

bool elf_file_soname(const struct elf_file *file, char *soname, size_t size)
{
	uint64_t strings = 0, strings_size = 0, name = 0, offset;
	Elf64_Dyn entry;

	for (uint64_t i = 0; dynamic_read(file, i, &entry) && entry.d_tag != DT_NULL; i++) {
		if (entry.d_tag == DT_SONAME)
			name = entry.d_un.d_val;
		else if (entry.d_tag == DT_STRTAB)
			strings = entry.d_un.d_val;
		else if (entry.d_tag == DT_STRSZ)
			strings_size = entry.d_un.d_val;
	}
	if (!name || name >= strings_size || !elf_file_offset(file, strings, 0, &offset) ||
	    name >= file->size - offset)
		return false;
	offset += name;
	if (size > strings_size - name)
		size = strings_size - name;
	if (size > file->size - offset)
		size = file->size - offset;
	return !elf_file_read(file, offset, soname, size) && *soname && memchr(soname, '\0', size);
}

int elf_note_next(struct elf_note *note, const uint8_t *notes, size_t size, size_t *at)
{
	Elf64_Nhdr header; /* the same in both classes */
	uint64_t name, desc, end;

	if (*at >= size || size - *at < sizeof(header))
		return 0;
	memcpy(&header, notes + *at, sizeof(header));
	name = *at + sizeof(header);
	desc = name + ((header.n_namesz + 3ULL) & ~3ULL);
	end = desc + header.n_descsz;
	if (desc > size || end > size)
		return -EBADMSG;
	note->type = header.n_type;
	note->name = (const char *)notes + name;
	note->name_size = header.n_namesz;
	note->desc = notes + desc;
	note->desc_size = header.n_descsz;
	*at = (end + 3) & ~3ULL;
	return 1;
}

/* Looks for the build ID in one section of notes. */
static size_t section_build_id(const struct elf_file *file, const Elf64_Shdr *section, uint8_t *id,
			       size_t size)
{
	struct elf_note note;
	size_t at = 0, found = 0;
	uint8_t *notes;

	if (section->sh_size > MAX_NOTES)
		return 0;
	notes = malloc(section->sh_size + 1);
	if (!notes)
		return 0;
	if (elf_file_read(file, section->sh_offset, notes, section->sh_size))
		goto out;
	while (!found && elf_note_next(&note, notes, section->sh_size, &at) > 0) {
		if (note.type != NT_GNU_BUILD_ID || note.name_size != sizeof(ELF_NOTE_GNU) ||
		    memcmp(note.name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) != 0 ||
		    note.desc_size > size)
			continue;
		memcpy(id, note.desc, note.desc_size);
		found = note.desc_size;
	}
out:
	free(notes);
	return found;
}

size_t elf_file_build_id(const struct elf_file *file, uint8_t *id, size_t size)
{
	const Elf64_Shdr *section = elf_file_section(file, NULL, SHT_NOTE, ".note.gnu.build-id");

	return section ? section_build_id(file, section, id, size) : 0;
}
