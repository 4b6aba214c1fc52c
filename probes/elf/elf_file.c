// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "elf_file.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/base/proc_file.h"

/* --- Opening files whose paths another process chose --- */

/* Finds the file without opening it: opening a device may have side effects. */
static int file_find(pid_t pid, const char *path, int flags)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | (unsigned int)flags,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	char root[32];
	int dir, fd;

	if (!pid) {
		fd = open(path, O_PATH | O_CLOEXEC | flags);
		return fd < 0 ? -errno : fd;
	}
	snprintf(root, sizeof(root), "/proc/%d/root", (int)proc_thread(pid));
	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how)); /* glibc lacks a wrapper */
	if (fd < 0)
		fd = -errno;
	close(dir);
	return fd;
}

static int file_open_by(pid_t pid, const char *path, int flags)
{
	char self[64];
	struct stat stat;
	int found, fd;

	found = file_find(pid, path, flags);
	if (found < 0)
		return found;
	if (fstat(found, &stat)) {
		fd = -errno;
	} else if (!S_ISREG(stat.st_mode)) {
		fd = -ENOEXEC;
	} else {
		snprintf(self, sizeof(self), "/proc/self/fd/%d", found);
		fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (fd < 0)
			fd = -errno;
	}
	close(found);
	return fd;
}

int file_open(pid_t pid, const char *path)
{
	return file_open_by(pid, path, 0);
}

int file_open_itself(pid_t pid, const char *path)
{
	return file_open_by(pid, path, O_NOFOLLOW);
}

/* --- Reading hostile ELF files with libelf --- */

/* Far more than any linker emits. */
#define MAX_SEGMENTS 1024
#define MAX_LOADS 64 /* each address is compared with all of them */
#define MAX_SECTIONS 65536
#define MAX_SECTION_NAMES (1 << 20)
#define MAX_DYNAMIC 4096
#define MAX_NOTES 65536 /* bytes of the section with the build ID */

#define NATIVE_DATA (__BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB)

struct elf_file {
	Elf *elf;
	int fd;
	uint8_t *image; /* replaces fd */
	uint64_t size;
	bool is_64;
	Elf64_Phdr *loads;
	size_t n_loads;
	Elf64_Shdr *sections;
	size_t n_sections;
	const char *names; /* names of sections, ends with a NUL; owned by libelf */
	size_t names_size;
};

/* Reads windows without libelf, which stores what it reads until elf_end(). */
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

/* Reads the file header. libelf only gets this, because it would allocate memory for as many
 * sections as the header claims. */
static int header_read(struct elf_file *file, GElf_Ehdr *header)
{
	Elf64_Ehdr first; /* the larger of both classes */
	size_t size = file->size < sizeof(first) ? file->size : sizeof(first);
	int err = elf_file_read(file, 0, &first, size);
	Elf *elf = err ? NULL : elf_memory((char *)&first, size);

	if (err)
		return err;
	if (elf && elf_kind(elf) != ELF_K_ELF)
		err = -ENOEXEC;
	else if (!gelf_getehdr(elf, header))
		err = -EBADMSG;
	elf_end(elf);
	if (err)
		return err;
	file->is_64 = header->e_ident[EI_CLASS] == ELFCLASS64;
	if (header->e_ident[EI_DATA] != NATIVE_DATA || !machine_is_ours(header) ||
	    (header->e_type != ET_EXEC && header->e_type != ET_DYN))
		return -ENOTSUP;
	if ((header->e_phnum &&
	     header->e_phentsize != (file->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr))) ||
	    (header->e_shoff &&
	     header->e_shentsize != (file->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr))))
		return -EBADMSG;
	return header->e_phnum > MAX_SEGMENTS ? -E2BIG : 0;
}

/* Number of sections; if it does not fit the file header, it is in the first section's header. */
static int sections_count(struct elf_file *file, const GElf_Ehdr *header)
{
	Elf64_Shdr wide;
	Elf32_Shdr narrow;
	int err;

	file->n_sections = header->e_shoff ? header->e_shnum : 0;
	if (!header->e_shoff || header->e_shnum)
		return 0;
	if (file->is_64)
		err = elf_file_read(file, header->e_shoff, &wide, sizeof(wide));
	else
		err = elf_file_read(file, header->e_shoff, &narrow, sizeof(narrow));
	if (err)
		return err;
	file->n_sections = file->is_64 ? wide.sh_size : narrow.sh_size;
	return file->n_sections > MAX_SECTIONS ? -E2BIG : 0;
}

static int loads_read(struct elf_file *file, size_t n)
{
	GElf_Phdr segment;

	file->loads = calloc(MAX_LOADS, sizeof(*file->loads));
	if (!file->loads)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(file->elf, (int)i, &segment))
			return -EBADMSG;
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

/* Reads the section headers, which must all lie within the file. */
static int sections_read(struct elf_file *file)
{
	size_t n;

	if (!file->n_sections)
		return 0;
	/* libelf reports no sections for a truncated table. */
	if (elf_getshdrnum(file->elf, &n) || n != file->n_sections)
		return -EBADMSG;
	file->sections = calloc(n, sizeof(*file->sections));
	if (!file->sections)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		Elf64_Shdr *section = &file->sections[i];

		if (!gelf_getshdr(elf_getscn(file->elf, i), section) ||
		    (section_has_contents(section) &&
		     (section->sh_offset > file->size ||
		      section->sh_size > file->size - section->sh_offset)))
			return -EBADMSG;
	}
	return 0;
}

static int section_names_read(struct elf_file *file)
{
	const Elf64_Shdr *section;
	const Elf_Data *names;
	size_t index = SHN_UNDEF;

	elf_getshdrstrndx(file->elf, &index);
	section = index < file->n_sections ? elf_file_section_at(file, (uint32_t)index) : NULL;
	if (!section || section->sh_type != SHT_STRTAB)
		return 0; /* without names, no section can be found */
	if (section->sh_size > MAX_SECTION_NAMES)
		return -E2BIG;
	names = elf_getdata_rawchunk(file->elf, (int64_t)section->sh_offset, section->sh_size,
				     ELF_T_BYTE);
	if (!names)
		return -EBADMSG;
	file->names = names->d_buf;
	file->names_size = names->d_size;
	while (file->names_size && file->names[file->names_size - 1])
		file->names_size--; /* a truncated name is invalid */
	return 0;
}

static int headers_read(struct elf_file *file)
{
	GElf_Ehdr header;
	int err;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOTSUP;
	err = header_read(file, &header);
	if (!err)
		err = sections_count(file, &header);
	if (err)
		return err;
	errno = 0;
	file->elf = file->image ? elf_memory((char *)file->image, file->size)
				: elf_begin(file->fd, ELF_C_READ, NULL);
	if (!file->elf)
		return errno ? -errno : -EBADMSG;
	err = loads_read(file, header.e_phnum);
	if (!err)
		err = sections_read(file);
	if (!err)
		err = section_names_read(file);
	return err;
}

/* Takes over the image. */
static int headers_open(struct elf_file **file, int fd, void *image, size_t size)
{
	int err;

	*file = calloc(1, sizeof(**file));
	if (!*file) {
		free(image);
		return -ENOMEM;
	}
	**file = (struct elf_file){ .fd = fd, .image = image, .size = size };
	err = headers_read(*file);
	if (err) {
		elf_file_close(*file);
		*file = NULL;
	}
	return err;
}

int elf_file_open(struct elf_file **file, int fd)
{
	struct stat stat;

	if (fstat(fd, &stat))
		return -errno;
	if (!S_ISREG(stat.st_mode))
		return -ENOEXEC;
	return headers_open(file, fd, NULL, (size_t)stat.st_size);
}

int elf_file_open_image(struct elf_file **file, void *image, size_t size)
{
	return headers_open(file, -1, image, size);
}

void elf_file_close(struct elf_file *file)
{
	if (!file)
		return;
	elf_end(file->elf);
	free(file->image);
	free(file->loads);
	free(file->sections);
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

/* The kernel maps full pages, including what precedes the segment in the first one. */
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

bool elf_file_segment(const struct elf_file *file, uint32_t type, uint64_t address,
		      Elf64_Phdr *segment)
{
	size_t n;

	if (elf_getphdrnum(file->elf, &n))
		return false;
	for (size_t i = 0; i < n && gelf_getphdr(file->elf, (int)i, segment); i++) {
		if (segment->p_type == type &&
		    (!address || (address >= segment->p_vaddr &&
				  address - segment->p_vaddr < segment->p_filesz)))
			return true;
	}
	return false;
}

/* Start of the dynamic section. NULL: none. */
static Elf_Data *dynamic_read(const struct elf_file *file)
{
	uint64_t size, most = MAX_DYNAMIC * sizeof(Elf64_Dyn);
	Elf64_Phdr segment;

	if (!elf_file_segment(file, PT_DYNAMIC, 0, &segment) || segment.p_offset > file->size)
		return NULL;
	size = segment.p_filesz < most ? segment.p_filesz : most;
	if (size > file->size - segment.p_offset)
		size = file->size - segment.p_offset;
	return elf_getdata_rawchunk(file->elf, (int64_t)segment.p_offset, size, ELF_T_DYN);
}

bool elf_file_soname(const struct elf_file *file, char *soname, size_t size)
{
	uint64_t strings = 0, strings_size = 0, name = 0, offset;
	Elf_Data *dynamic = dynamic_read(file);
	GElf_Dyn entry;

	for (int i = 0; gelf_getdyn(dynamic, i, &entry) && entry.d_tag != DT_NULL; i++) {
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

/* gelf_getnote() only accepts data that libelf has read. */
int elf_note_next(struct elf_note *note, const uint8_t *notes, size_t size, size_t *at)
{
	Elf64_Nhdr header; /* same in both classes */
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

size_t elf_file_build_id(const struct elf_file *file, uint8_t *id, size_t size)
{
	const Elf64_Shdr *section = elf_file_section(file, NULL, SHT_NOTE, ".note.gnu.build-id");
	struct elf_note note;
	Elf_Data *notes = NULL;
	size_t at = 0;

	if (section && section->sh_size <= MAX_NOTES)
		notes = elf_getdata_rawchunk(file->elf, (int64_t)section->sh_offset,
					     section->sh_size, ELF_T_NHDR);
	while (notes && elf_note_next(&note, notes->d_buf, notes->d_size, &at) > 0) {
		if (note.type != NT_GNU_BUILD_ID || note.name_size != sizeof(ELF_NOTE_GNU) ||
		    memcmp(note.name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) != 0 ||
		    note.desc_size > size)
			continue;
		memcpy(id, note.desc, note.desc_size);
		return note.desc_size;
	}
	return 0;
}

/* --- Symbol names --- */

/* The last one may end with the section. */
int symbol_name_read(const struct symbol_location *location, char name[SYMBOL_NAME_MAX + 1])
{
	const Elf64_Shdr *strings = location->strings;
	uint64_t left = location->at < strings->sh_size ? strings->sh_size - location->at : 0;
	size_t most = left <= SYMBOL_NAME_MAX ? left : SYMBOL_NAME_MAX + 1, length = 0;
	char *version;
	int err = 0;

	if (location->text && left) {
		length = strnlen(location->text + location->at, most);
		memcpy(name, location->text + location->at, length);
	} else if (left) {
		err = elf_file_read(location->file, strings->sh_offset + location->at, name, most);
		length = err ? 0 : strnlen(name, most);
	}
	if (err)
		return err;
	if (!length || length > SYMBOL_NAME_MAX)
		return -EBADMSG;
	name[length] = '\0';
	version = memchr(name + 1, '@', length - 1);
	if (version)
		*version = '\0';
	return 0;
}
