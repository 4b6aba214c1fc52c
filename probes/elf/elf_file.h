/* SPDX-License-Identifier: Apache-2.0 */
/* Reads hostile ELF files with libelf. Maps nothing (if a mapped file shrinks, its reader dies
 * of SIGBUS), and stores only headers: everything else is read in pieces. */
#ifndef ELF_FILE_H
#define ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct elf_file;

/* Reads the headers of an executable or shared object. The caller keeps the descriptor, and
 * closes it after the file. Returns 0; -ENOEXEC: not an ELF file; -ENOTSUP: another
 * architecture, or neither executable nor shared object; -EBADMSG: damaged; -ENOMEM; another
 * -errno. On success the caller frees *file. */
int elf_file_open(struct elf_file **file, int fd);

/* Opens a file in memory. Takes over the image in any case, and frees it with free(). */
int elf_file_open_image(struct elf_file **file, void *image, size_t size);

/* NULL is allowed. */
void elf_file_close(struct elf_file *file);

/* Error text for an -errno returned by these functions. */
const char *elf_file_error(int error);

/* In bytes. */
uint64_t elf_file_size(const struct elf_file *file);

/* True if addresses are 64 bits wide. */
bool elf_file_is_64(const struct elf_file *file);

/* Reads exactly size bytes at an offset. Returns 0; -EBADMSG beyond the end of the file; another
 * -errno. */
int elf_file_read(const struct elf_file *file, uint64_t offset, void *data, size_t size);

/* First section of a type (SHT_NULL: any) and name (NULL: any) after the given one (NULL: from
 * the start). NULL: none. Contents lie within the file, unless there are none (SHT_NOBITS).
 * Skips compressed sections. */
const Elf64_Shdr *elf_file_section(const struct elf_file *file, const Elf64_Shdr *after,
				   uint32_t type, const char *name);

/* Section with an index, by the same rules; NULL: none. */
const Elf64_Shdr *elf_file_section_at(const struct elf_file *file, uint32_t index);

/* Address of a section in memory, by name; also of one without contents. Returns whether there
 * is one. */
bool elf_file_section_address(const struct elf_file *file, const char *name, uint64_t *address);

/* File offset of an address by the program headers, which the kernel maps by. The segment must
 * have all flags (PF_X, PF_W). Returns whether there is such an address. */
bool elf_file_offset(const struct elf_file *file, uint64_t address, uint32_t flags,
		     uint64_t *offset);

/* Address of a file offset, by the same rules. If several segments have the offset, uses the
 * first. */
bool elf_file_address(const struct elf_file *file, uint64_t offset, uint32_t flags,
		      uint64_t *address);

/* Difference of its addresses from those in a process that mapped it with all flags at start,
 * from that file offset. Returns whether a segment is mapped that way. */
bool elf_file_bias(const struct elf_file *file, uint64_t start, uint64_t offset, uint32_t flags,
		   uint64_t *bias);

/* True if an address is in a segment with all flags, even in its zero-initialized part. */
bool elf_file_has(const struct elf_file *file, uint64_t address, uint32_t flags);

/* First segment of a type with the address in the file (0: any). Returns whether there is one. */
bool elf_file_segment(const struct elf_file *file, uint32_t type, uint64_t address,
		      Elf64_Phdr *segment);

/* Range of executable addresses. Returns whether there are any. */
bool elf_file_code(const struct elf_file *file, uint64_t *start, uint64_t *end);

/* Reads DT_SONAME. Returns whether there is one that fits. */
bool elf_file_soname(const struct elf_file *file, char *soname, size_t size);

/* Reads the build ID. Returns its length in bytes; 0: none that fits. */
size_t elf_file_build_id(const struct elf_file *file, uint8_t *id, size_t size);

/* A note; it points into the section. */
struct elf_note {
	uint32_t type;
	const char *name; /* with its NUL, if present */
	uint32_t name_size;
	const uint8_t *desc;
	uint32_t desc_size;
};

/* Reads the note at *at and advances *at. Returns 1; 0 at the end; -EBADMSG if the note exceeds
 * the section. */
int elf_note_next(struct elf_note *note, const uint8_t *notes, size_t size, size_t *at);

/* --- Opening files whose paths another process chose --- */

/* Opens a regular file for reading; others are not touched, not even opened. The path is in the
 * process's view, whose root neither ".." nor links can leave; pid 0: in ours, and it may be a
 * kernel link to an open file. Returns a descriptor, which the caller closes; -ENOEXEC: not a
 * regular file; another -errno. */
int file_open(pid_t pid, const char *path);

/* Opens a file without following a link in the last component: a link is not a regular file. */
int file_open_itself(pid_t pid, const char *path);

/* --- Symbols of any table --- */

/* Longer names are skipped. */
#define SYMBOL_NAME_MAX 4095

/* Position of a name in a string section of a file, up to its NUL or version. */
struct symbol_location {
	const struct elf_file *file;
	const Elf64_Shdr *strings;
	uint32_t at;
	const char *text; /* contents of the section; NULL: not read */
};

/* Reads a name without its version. Returns 0; -EBADMSG: empty, unterminated, too long, or the
 * file has shrunk; another -errno. */
int symbol_name_read(const struct symbol_location *location, char name[SYMBOL_NAME_MAX + 1]);

/* A defined function in an executable segment; or data. */
struct symbol {
	const char *name; /* without version; name and version are only valid during the
			   * call */
	struct symbol_location location; /* of the name, unless from Go's table */
	const char *version;             /* as nm prints it after @ or @@; NULL: none */
	uint64_t address;                /* as in the symbol table */
	uint64_t size;                   /* in bytes; 0: unknown */
	bool resolver;                   /* an IFUNC: code that runs once, to choose the function */
	bool superseded;                 /* an old version that only older programs use */
	bool local;                      /* invisible to other files */
	bool undefined;                  /* just a reference: of symbols_each_name() */
};

/* Returns 0 to continue; other values end the search. */
typedef int symbol_found(void *context, const struct symbol *symbol);

#endif
