/* SPDX-License-Identifier: Apache-2.0 */
/* What is at addresses of a process's memory: its variables, by the symbols of its files. */
#ifndef DATA_H
#define DATA_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define DATA_SYMBOL_LEN 128
#define DATA_OBJECT_LEN 64

/* Texts are as the files have them, not escaped. */
struct data_place {
	/* Of the variable, as the file has it; "": there is none. One that is longer is cut and
	 * ends with "...". */
	char symbol[DATA_SYMBOL_LEN];
	/* In bytes, from the variable's start. Without one it is the address in the program or
	 * library, or the offset in a file that is neither. */
	uint64_t offset;
	/* The file without its path; in brackets what the kernel calls the mapping: "[heap]",
	 * "[stack]" of the first thread. "": nothing is known. */
	char object[DATA_OBJECT_LEN];
};

struct data_query {
	uint64_t address;
	struct data_place place; /* filled in; zeros: it is not known */
};

/* Looks up addresses, which it sorts, in what a process has mapped now. Files are opened as
 * objects_open() does, and read with the limits of symbols_each_data(); what cannot be read is not
 * known. It may take as long as the process keeps its mappings locked, or a file system does not
 * answer. Returns 0, -ENOMEM, or what maps_each() returns, such as -ESRCH. */
int data_find(pid_t pid, struct data_query *queries, size_t n);

#endif
