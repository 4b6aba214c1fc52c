/* SPDX-License-Identifier: Apache-2.0 */
/* Reads an ELF file that may be made to deceive its reader, by libelf. Nothing is mapped
 * (a file that shrinks while it is mapped ends its reader by SIGBUS) and no more
 * is kept in memory than the headers: everything else is read in pieces. */
#ifndef ELF_FILE_H
#define ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct elf_file;

/* Reads the headers of an executable or shared object. The descriptor remains the
 * caller's, who closes it after the file. Returns 0; -ENOEXEC if it is not an ELF
 * file; -ENOTSUP if it is one of another machine, or neither executable nor
 * shared object; -EBADMSG if it is damaged; -ENOMEM; another -errno. On success
 * the caller frees *file. */
int elf_file_open(struct elf_file **file, int fd);

/* The same for a file that lies in memory. The image becomes the file's, which
 * frees it with free(), also if this fails. */
int elf_file_open_image(struct elf_file **file, void *image, size_t size);

/* NULL is allowed. */
void elf_file_close(struct elf_file *file);

/* What is wrong, for a message, by the -errno that a function here returned. */
const char *elf_file_error(int error);

/* In bytes. */
uint64_t elf_file_size(const struct elf_file *file);

/* True if addresses are 64 bits wide. */
bool elf_file_is_64(const struct elf_file *file);

/* Reads exactly size bytes at an offset. Returns 0; -EBADMSG beyond the end of
 * the file; another -errno. */
int elf_file_read(const struct elf_file *file, uint64_t offset, void *data, size_t size);

/* The first section of this type (SHT_NULL: any) and name (NULL: any) after the
 * given one (NULL: from the first). NULL if there is none. Its contents lie
 * within the file, unless it has none (SHT_NOBITS) or is compressed: such are
 * passed over. */
const Elf64_Shdr *elf_file_section(const struct elf_file *file, const Elf64_Shdr *after,
				   uint32_t type, const char *name);

/* The section of that index, by the same rules; NULL if there is none. */
const Elf64_Shdr *elf_file_section_at(const struct elf_file *file, uint32_t index);

/* Where a section will be or was in memory, by its name; found also if it has no
 * contents. Returns whether there is one. */
bool elf_file_section_address(const struct elf_file *file, const char *name, uint64_t *address);

/* The file offset of an address, by the program headers, which are what the
 * kernel maps by. The segment must have all of the flags (PF_X, PF_W). Returns
 * whether the file has such an address. */
bool elf_file_offset(const struct elf_file *file, uint64_t address, uint32_t flags,
		     uint64_t *offset);

/* The address of a file offset, by the same rules; the other way round. Where several
 * segments have the offset, it is that in the first of them. */
bool elf_file_address(const struct elf_file *file, uint64_t offset, uint32_t flags,
		      uint64_t *address);

/* By how much its addresses differ from those in a process that has mapped it from that file
 * offset on at start, with all of the flags. Returns whether a segment is mapped like that. */
bool elf_file_bias(const struct elf_file *file, uint64_t start, uint64_t offset, uint32_t flags,
		   uint64_t *bias);

/* Whether an address is in a segment with all of the flags: also one for which there is nothing
 * in the file, as it begins with zeros. */
bool elf_file_has(const struct elf_file *file, uint64_t address, uint32_t flags);

/* The first segment of that type that has the address in the file (0: any). Returns
 * whether there is one. */
bool elf_file_segment(const struct elf_file *file, uint32_t type, uint64_t address,
		      Elf64_Phdr *segment);

/* The addresses from the first to behind the last that can be executed. Returns
 * whether there are any. */
bool elf_file_code(const struct elf_file *file, uint64_t *start, uint64_t *end);

/* Reads the DT_SONAME. Returns whether there is one that fits. */
bool elf_file_soname(const struct elf_file *file, char *soname, size_t size);

/* Reads the build ID. Returns its length in bytes; 0 if there is none that fits. */
size_t elf_file_build_id(const struct elf_file *file, uint8_t *id, size_t size);

/* One note of a section of notes; it points into the section. */
struct elf_note {
	uint32_t type;
	const char *name; /* with its NUL, if it has one */
	uint32_t name_size;
	const uint8_t *desc;
	uint32_t desc_size;
};

/* Takes the note at *at, and moves *at to the next. Returns 1; 0 at the end;
 * -EBADMSG if the note does not fit into the section. */
int elf_note_next(struct elf_note *note, const uint8_t *notes, size_t size, size_t *at);

/* --- Opens files whose paths another process chose --- */

/* Opens a file for reading, which must be a regular one: nothing is done to any
 * other, not even opening it. root is a directory that neither ".." nor links lead
 * out of, such as /proc/PID/root; NULL: path is as the kernel takes it, and may be
 * one of its links to open files. Returns a file descriptor, which the caller
 * closes; -ENOEXEC if it is not a regular file; another -errno. */
int file_open(const char *root, const char *path);

/* The same, but a link as the last part of the path is not followed: it is no regular file. */
int file_open_itself(const char *root, const char *path);

/* --- Symbols, whatever table they are in --- */

/* Longer names are passed over. */
#define SYMBOL_NAME_MAX 4095

/* Where a name is: in a section of strings of a file, up to its NUL or to the version behind it. */
struct symbol_place {
	const struct elf_file *file;
	const Elf64_Shdr *strings;
	uint32_t at;
	const char *text; /* of the section, if it has been read; NULL: it has not */
};

/* Reads a name, without its version. Returns 0; -EBADMSG if it is none: empty, without an end, too
 * long, or the file has shrunk; another -errno. */
int symbol_name_read(const struct symbol_place *place, char name[SYMBOL_NAME_MAX + 1]);

/* A defined function, whose address is in an executable segment; or data. */
struct symbol {
	const char *name;          /* without its version; both are gone when the call returns */
	struct symbol_place place; /* of it, unless it is from Go's table */
	const char *version;       /* as nm prints it behind @ or @@; NULL: none */
	uint64_t address;          /* as in the symbol table */
	uint64_t size;             /* in bytes; 0: unknown */
	bool resolver;             /* an IFUNC: code that is run once, to choose the function */
	bool superseded;           /* a version of the name that only older programs ask for */
	bool local;                /* not to be seen from other files */
};

/* Returns 0 to go on; anything else ends the search. */
typedef int symbol_found(void *context, const struct symbol *symbol);

#endif
