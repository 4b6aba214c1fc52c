/* SPDX-License-Identifier: Apache-2.0 */
/* The functions and the data of an ELF file, from wherever their names are to be had. */
#ifndef SYMBOLS_H
#define SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "debug_file.h"
#include "elf_file.h"

/* Longer names are passed over. */
#define SYMBOL_NAME_MAX 4095

/* A defined function, whose address is in an executable segment; or data. */
struct symbol {
	const char *name;    /* without its version; both are gone when the call returns */
	const char *version; /* as nm prints it behind @ or @@; NULL: none */
	uint64_t address;    /* as in the symbol table */
	uint64_t size;       /* in bytes; 0: unknown */
	bool resolver;       /* an IFUNC: code that is run once, to choose the function */
	bool superseded;     /* a version of the name that only older programs ask for */
	bool local;          /* not to be seen from other files */
};

/* Returns 0 to go on; anything else ends the search. */
typedef int symbol_found(void *context, const struct symbol *symbol);

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

/* The same where find finds the separate debug file; NULL: none is looked for. */
int symbols_each_by(const struct elf_file *file, debug_file_finder *find, void *find_context,
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
