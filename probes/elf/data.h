/* SPDX-License-Identifier: Apache-2.0 */
/* Variables at addresses of a process's memory, by the symbols of its files. */
#ifndef DATA_H
#define DATA_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define DATA_SYMBOL_LEN 128
#define DATA_OBJECT_LEN 64

/* Texts are raw, not escaped. */
struct data_location {
	/* Variable's name as in the file; "": none. Long names are cut and end with "...". */
	char symbol[DATA_SYMBOL_LEN];
	/* Bytes from the variable's start. Without a variable, address in the program or
	 * library, or offset in another file. */
	uint64_t offset;
	/* File name without path; or the kernel's name of the mapping in brackets: "[heap]",
	 * "[stack]" of the first thread. "": unknown. */
	char object[DATA_OBJECT_LEN];
};

struct data_query {
	uint64_t address;
	struct data_location location; /* result; zeros: unknown */
};

/* Looks up addresses, which it sorts, in the process's current mappings. Files are opened like
 * objects_open(), and read with the limits of symbols_each_data(); unreadable ones have no
 * symbols. May block while the process holds its mmap_lock, or a file system does not respond.
 * Returns 0, -ENOMEM, or a result of maps_each(), such as -ESRCH. */
int data_find(pid_t pid, struct data_query *queries, size_t n);

#endif
