/* SPDX-License-Identifier: Apache-2.0 */
/* Functions and data of an ELF file, from all sources of their names. */
#ifndef SYMBOLS_H
#define SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "elf_file.h"

/* --- Debug files --- */

/* Decompresses .gnu_debugdata. Returns 0; -ENOENT: none; -EBADMSG: damaged; -E2BIG: too large;
 * another -errno. The caller closes *debug. */
int debug_file_unpack(struct elf_file **debug, const struct elf_file *file);

/* An open separate debug file. */
struct debug_file {
	struct elf_file *elf; /* NULL: none */
	int fd;
};

/* May be repeated. */
void debug_file_close(struct debug_file *debug);

/* Finds the separate debug file of a file, see debug_file_search(). The finder keeps it, and
 * closes it after its last use. Returns NULL if there is none. */
typedef const struct elf_file *debug_file_finder(void *context, const struct elf_file *file);

/* Opens a file for a search. Relative paths are below a directory for debug files, such as
 * /usr/lib/debug; absolute ones are in a process's file system. Returns a descriptor, which the
 * caller takes over, or a negative errno. */
typedef int debug_file_opener(void *context, const char *path);

/* Searches the separate debug file of the file at a path: by build ID
 * (".build-id/ab/cdef.debug"), then by .gnu_debuglink. Checks the files from opener, which may
 * be wrong or damaged. Returns NULL without a match. The caller closes *debug in either case. */
const struct elf_file *debug_file_search(struct debug_file *debug, const struct elf_file *file,
					 const char *path, debug_file_opener *opener,
					 void *context);

/* Opens such a path in the view of a process, a pid_t; NULL: in ours. Returns a descriptor, which
 * the caller closes, or a negative errno. */
int debug_file_open(void *pid, const char *path);

#define DEBUG_ROOT "/usr/lib/debug"
#define DEBUG_PATH 4096

/* The i-th path that a name in .gnu_debuglink may mean, as in gdb: in the object's directory, in
 * .debug below it, or in its counterpart below DEBUG_ROOT; "" if it is too long. Returns false
 * after the last one, and for an object without a path. */
bool debug_link_path(unsigned int i, const char *object, const char *name, char path[DEBUG_PATH]);

/* --- Symbols --- */

/* Calls found for each function in .symtab and .dynsym. Without .symtab, also uses Go's
 * .gopclntab and .gnu_debugdata, or else the separate debug file. That is searched by build ID
 * and debug link, in the process's file system and in ours. path: the file in the process; NULL:
 * no debug file. Functions may repeat, in any order; memory is bounded. Returns 0; the result of
 * found; -EBADMSG: damaged; -E2BIG: too many symbols; another -errno. Errors in other files are
 * ignored. */
int symbols_each(const struct elf_file *file, pid_t pid, const char *path, symbol_found *found,
		 void *context);

/* For callers that store many functions but use few names: a name with a position that lasts as
 * long as the file is not read, but NULL; neither is its version. Other names come from Go's
 * table or .gnu_debugdata. find: finds the separate debug file; NULL: not searched. */
int symbols_each_location(const struct elf_file *file, debug_file_finder *find, void *find_context,
			  symbol_found *found, void *context);

/* For data: variables, which are outside executable segments. */
int symbols_each_data(const struct elf_file *file, pid_t pid, const char *path, symbol_found *found,
		      void *context);

/* Calls found for each symbol in a table, SHT_DYNSYM or SHT_SYMTAB, of any type, and for
 * references. Returns as symbols_each(); 0 also without such a table. */
int symbols_each_name(const struct elf_file *file, uint32_t table, symbol_found *found,
		      void *context);

#endif
