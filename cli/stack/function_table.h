/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of an object, by address. */
#ifndef FUNCTION_TABLE_H
#define FUNCTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/elf/symbols.h"

struct function_table;

struct table_function {
	uint64_t start;  /* as in the symbol table */
	uint32_t number; /* in the table */
};

/* Reads the functions of a file by symbols_each_location(), in at most room bytes. Names stay in
 * their files, which must outlive the table. Returns 0, also without functions; -E2BIG if they
 * do not fit; another -errno of symbols_each_location(). The caller frees *table. */
int function_table_read(struct function_table **table, const struct elf_file *file,
			debug_file_finder *find, void *find_context, size_t capacity);

/* NULL is allowed. */
void function_table_free(struct function_table *table);

/* Bytes its functions take. */
size_t function_table_size(const struct function_table *table);

/* Finds the function that contains an address: the one that begins last, as in a debugger. A
 * function of unknown size ends at the next one or with its section, and only counts without any
 * other. Of several names for the same code, prefers visible ones, then those without glibc's
 * __GI_, fewest leading underscores, and the shortest. So it finds poll, not __poll or
 * __GI___poll, like `info symbol` in gdb. Returns whether there is one. */
bool function_table_find(const struct function_table *table, uint64_t address,
			 struct table_function *function);

/* Reads a function's name from the symbol table, without version. Returns false if unreadable:
 * the file may have changed. */
bool function_table_name(const struct function_table *table, uint32_t number,
			 char name[SYMBOL_NAME_MAX + 1]);

#endif
