/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a program in Go, by the table that its run time has of them (.gopclntab), which
 * strip(1) leaves where it is; Go 1.16 and later. It may be made to deceive its reader. */
#ifndef GO_TABLE_H
#define GO_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "elf_file.h"

struct go_table;

struct go_function {
	const char *name;    /* the table's, until the next call */
	uint64_t start, end; /* addresses */
	uint32_t frames;     /* for go_table_frame() */
	bool outermost;      /* nobody called it: a goroutine or thread begins here */
	bool switches;       /* it goes to another stack */
	bool leaves;         /* it never returns: its thread has left the goroutine */
	bool injected;       /* a signal's handler makes it look called where the signal came */
};

/* Reads the table's header. The file must outlive it. Returns 0; -ENOENT if there is no table, or
 * one of a kind that is not known; -EBADMSG; -ENOMEM; another -errno. */
int go_table_open(struct go_table **table, const struct elf_file *file);

/* NULL is allowed. */
void go_table_close(struct go_table *table);

/* How many functions there are. */
uint32_t go_table_count(const struct go_table *table);

/* The function of that number; they are sorted by address. Returns 0, -EBADMSG or another -errno.
 */
int go_table_get(struct go_table *table, uint32_t number, struct go_function *function);

/* The function that contains an address. Returns 0; -ENOENT if there is none; another -errno. */
int go_table_find(struct go_table *table, uint64_t address, struct go_function *function);

/* How many bytes a function has put on the stack, besides its return address, before the
 * instruction at an address of it; *steps is how much work that was, also if it fails. Returns 0,
 * -EBADMSG or another -errno. */
int go_table_frame(struct go_table *table, const struct go_function *function, uint64_t address,
		   uint32_t *size, uint32_t *steps);

#endif
