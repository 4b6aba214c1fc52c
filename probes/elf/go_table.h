/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a Go program, from its runtime's own table (.gopclntab), which strip(1) keeps; Go
 * 1.16 and later. The file may be hostile. */
#ifndef GO_TABLE_H
#define GO_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "elf_file.h"

struct go_table;

struct go_function {
	const char *name;    /* owned by the table, until the next call */
	uint64_t start, end; /* addresses */
	uint32_t frames;     /* for go_table_frame() */
	bool outermost;      /* has no caller: a goroutine or thread begins here */
	bool switches;       /* switches to another stack */
	bool leaves;         /* never returns: its thread has left the goroutine */
	bool injected;       /* a signal handler makes it look like called from the signal's
			      * place */
};

/* Reads the table's header. The file must outlive it. Returns 0; -ENOENT: no table, or an
 * unknown format; -EBADMSG; -ENOMEM; another -errno. */
int go_table_open(struct go_table **table, const struct elf_file *file);

/* NULL is allowed. */
void go_table_close(struct go_table *table);

/* Number of functions. */
uint32_t go_table_count(const struct go_table *table);

/* Function by number; sorted by address. Returns 0, -EBADMSG or another -errno. */
int go_table_get(struct go_table *table, uint32_t number, struct go_function *function);

/* Function that contains an address. Returns 0; -ENOENT: none; another -errno. */
int go_table_find(struct go_table *table, uint64_t address, struct go_function *function);

/* Frame size of a function before the instruction at an address, without the return address;
 * *steps: work done, even on failure. Returns 0, -EBADMSG or another -errno. */
int go_table_frame(struct go_table *table, const struct go_function *function, uint64_t address,
		   uint32_t *size, uint32_t *steps);

#endif
