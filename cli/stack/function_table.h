/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of one object, by address. */
#ifndef FUNCTION_TABLE_H
#define FUNCTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/elf/symbols.h"

struct function_table;

struct table_function {
	uint64_t start;  /* address as in the symbol table */
	uint32_t number; /* in the table */
};

/* Reads the functions of a file from wherever symbols_each_place() finds them, in no
 * more than room bytes. Names are left where they are: the file, and that which was found, must
 * outlive the table. Returns 0, also if there are none; -E2BIG if they do not fit;
 * another -errno of symbols_each_place(). The caller frees *table. */
int function_table_read(struct function_table **table, const struct elf_file *file,
			debug_file_finder *find, void *find_context, size_t room);

/* NULL is allowed. */
void function_table_free(struct function_table *table);

/* How many bytes its functions take. */
size_t function_table_size(const struct function_table *table);

/* Finds the function that contains an address: of several the one that begins last,
 * as a debugger does. One whose size is unknown ends where the next one or its section
 * does, and counts only where no other is. Of several names of the same code it is one
 * that other files can use, of these one without glibc's __GI_, with the fewest
 * underscores in front, the shortest: poll, not __poll or __GI___poll, as `info symbol`
 * of gdb has it. Returns whether there is one. */
bool function_table_find(const struct function_table *table, uint64_t address,
			 struct table_function *function);

/* Reads the name of a function, as in the symbol table, without version. Returns whether it can be
 * read: the file may have changed. */
bool function_table_name(const struct function_table *table, uint32_t number,
			 char name[SYMBOL_NAME_MAX + 1]);

#endif
