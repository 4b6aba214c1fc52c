// SPDX-License-Identifier: Apache-2.0
#include "function_names.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/stack/kernel_symbols.h"
#include "kernel_delay.skel.h"

/* Beyond these, all are forgotten. Threads sleep in a few dozen places. */
#define NAMES_MOST 4096

struct function_names {
	const struct kernel_delay *skel;
	struct kernel_symbols *symbols;
	struct named {
		uint64_t address;
		char name[KD_FUNCTION_LEN];
	} * all; /* sorted */
	size_t n;
};

struct function_names *function_names_new(const struct kernel_delay *skel,
					  struct kernel_symbols *symbols)
{
	struct function_names *names = calloc(1, sizeof(*names));

	if (names)
		*names = (struct function_names){ .skel = skel, .symbols = symbols };
	return names;
}

void function_names_free(struct function_names *names)
{
	if (!names)
		return;
	free(names->all);
	free(names);
}

/* Writes the name of the function at an address. Returns false if this kernel cannot tell. */
static bool name_ask(const struct kernel_delay *skel, uint64_t address,
		     char name[static KD_FUNCTION_LEN])
{
	uint64_t arguments[1] = { address };
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = arguments,
		    .ctx_size_in = sizeof(arguments));
	int fd = bpf_program__fd(skel->progs.kd_function_name);

	if (bpf_prog_test_run_opts(fd, &options) || !skel->bss->kd_function[0])
		return false;
	memcpy(name, skel->bss->kd_function, KD_FUNCTION_LEN);
	name[KD_FUNCTION_LEN - 1] = '\0';
	return true;
}

/* The kernel writes an address without a symbol as a number. */
static void name_read(const struct function_names *names, struct named *named)
{
	uint64_t call = named->address - 1;
	const char *name = "";

	if (name_ask(names->skel, call, named->name)) {
		if (!strncmp(named->name, "0x", 2))
			named->name[0] = '\0';
		return;
	}
	if (!kernel_symbols_read(names->symbols))
		name = kernel_symbols_name(names->symbols, call);
	strncpy(named->name, name, sizeof(named->name) - 1);
}

const char *function_names_find(struct function_names *names, uint64_t address)
{
	size_t at = ARRAY_SPLIT(names->n, i, names->all[i].address < address);
	struct named named = { .address = address }, *all;

	if (at < names->n && names->all[at].address == address)
		return names->all[at].name;
	if (names->n >= NAMES_MOST)
		at = names->n = 0;
	all = ARRAY_APPEND(names->all, names->n, &named);
	if (!all || !address)
		return "";
	name_read(names, &named);
	memmove(names->all + at + 1, names->all + at, (names->n - 1 - at) * sizeof(named));
	names->all[at] = named;
	return names->all[at].name;
}
