/* SPDX-License-Identifier: Apache-2.0 */
/* The functions and the data of an ELF file, from wherever their names are to be had. */
#ifndef SYMBOLS_H
#define SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "elf_file.h"

/* --- Files with debug information --- */

/* Unpacks .gnu_debugdata. Returns 0; -ENOENT if there is none; -EBADMSG if it is
 * damaged; -E2BIG if it is larger than what is unpacked; another -errno. The caller
 * closes *debug. */
int debug_file_unpack(struct elf_file **debug, const struct elf_file *file);

/* A separate debug file that is open. */
struct debug_file {
	struct elf_file *elf; /* NULL: there is none */
	int fd;
};

/* Safe to repeat. */
void debug_file_close(struct debug_file *debug);

/* Finds the separate debug file of a file, see debug_file_search(). It stays the finder's, who
 * closes it when nothing is read of it any more. Returns NULL if there is none. */
typedef const struct elf_file *debug_file_finder(void *context, const struct elf_file *file);

/* Opens a file for a search. Relative paths are below a directory for debug files,
 * such as /usr/lib/debug; absolute ones are the paths of a process. Returns a
 * descriptor, which becomes the caller's, or a negative errno. */
typedef int debug_file_opener(void *context, const char *path);

/* Looks for the separate debug file of a file that is at this path: by build ID
 * (".build-id/ab/cdef.debug"), then by .gnu_debuglink. What opener hands out need
 * not be the right file, or sound: it is checked. Returns NULL if there is none that
 * fits. The caller closes *debug in any case. */
const struct elf_file *debug_file_search(struct debug_file *debug, const struct elf_file *file,
					 const char *path, debug_file_opener *opener,
					 void *context);

/* --- Symbols --- */

/* Calls found for every function of .symtab and .dynsym and, where the file has
 * no .symtab, of Go's .gopclntab, .gnu_debugdata or else the separate debug file, which is
 * looked for by build ID and debug link as the process sees the file system, and
 * as we do. Path is that of the file, in the process; NULL: no debug file is
 * looked for. A function may come more than once, in any order; memory is bounded.
 * Returns 0; what found returned; -EBADMSG if the file is damaged; -E2BIG if it has
 * more symbols than are read; another -errno. What is wrong with another than
 * the file itself is passed over. */
int symbols_each(const struct elf_file *file, pid_t pid, const char *path, symbol_found *found,
		 void *context);

/* The same for those who keep many and look at few: where a name has a place that lasts as long as
 * the file, it is not read, and NULL; nor is its version. That of another is of Go's table or of
 * .gnu_debugdata. find finds the separate debug file; NULL: none is looked for. */
int symbols_each_place(const struct elf_file *file, debug_file_finder *find, void *find_context,
		       symbol_found *found, void *context);

/* The same for data: variables, which are in no executable segment. */
int symbols_each_data(const struct elf_file *file, pid_t pid, const char *path, symbol_found *found,
		      void *context);

/* Returns 0 to go on; anything else ends the search. Defined: not only wanted of others. */
typedef int symbol_named(void *context, const char *name, bool defined);

/* Calls found for every name in one table, SHT_DYNSYM or SHT_SYMTAB, of whatever it is;
 * without versions. Returns as symbols_each(), also 0 if there is no such table. */
int symbols_each_name(const struct elf_file *file, uint32_t table, symbol_named *found,
		      void *context);

#endif
