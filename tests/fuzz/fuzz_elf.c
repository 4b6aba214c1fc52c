// SPDX-License-Identifier: Apache-2.0
/* An ELF file of the target through everything that reads it: headers, symbols,
 * packed and separate debug files, USDT notes, what triggers look for. An input is the file,
 * which is its own debug file, too. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>

#include "cli/stack/resolver.h"
#include "probes/elf/functions.h"
#include "probes/elf/symbols.h"
#include "probes/elf/usdt.h"
#include "probes/return_sites.h"
#include "input.h"

#define PATH "/usr/bin/program"
#define TABLE_ROOM (1 << 20)

static int file_offer(void *context, const char *path)
{
	const int *fd = context;

	MUST(path && *path);
	return fcntl(*fd, F_DUPFD_CLOEXEC, 0);
}

struct found {
	struct elf_file *file;
	int fd;
	struct debug_file debug;
};

static const struct elf_file *debug_find(void *context, const struct elf_file *file)
{
	struct found *found = context;

	return debug_file_search(&found->debug, file, PATH, file_offer, &found->fd);
}

static int site_see(void *context, const struct usdt_site *site)
{
	struct found *found = context;
	uint64_t offset;

	MUST(strlen(site->provider) < SYMBOL_NAME_MAX + 1 && strlen(site->name) + 1);
	MUST(!site->usable || (elf_file_offset(found->file, site->address, PF_X, &offset) &&
			       offset == site->offset));
	return 0;
}

static int symbol_see(void *context, const struct symbol *symbol)
{
	(void)context;
	MUST(strlen(symbol->name) <= SYMBOL_NAME_MAX);
	return 0;
}

/* Its place is somewhere in the section. */
static int location_see(void *context, const struct symbol *symbol)
{
	char name[SYMBOL_NAME_MAX + 1];

	(void)context;
	if (symbol->name)
		return symbol_see(context, symbol);
	MUST(symbol->location.at < symbol->location.strings->sh_size);
	if (!symbol_name_read(&symbol->location, name))
		MUST(*name && strlen(name) <= SYMBOL_NAME_MAX);
	return 0;
}

static int name_see(void *context, const struct symbol *symbol)
{
	(void)context;
	MUST(strlen(symbol->name) <= SYMBOL_NAME_MAX);
	return 0;
}

static void headers_read(const struct elf_file *file)
{
	uint64_t start, end, bias, address, offset;
	char soname[64];
	uint8_t id[32];

	if (elf_file_soname(file, soname, sizeof(soname)))
		MUST(strlen(soname) < sizeof(soname));
	MUST(elf_file_build_id(file, id, sizeof(id)) <= sizeof(id));
	if (elf_file_code(file, &start, &end))
		MUST(start < end);
	if (elf_file_bias(file, 0x7f0000000000, 0, PF_X, &bias))
		elf_file_has(file, 0x7f0000000000 - bias, PF_R);
	if (elf_file_address(file, 0x200, PF_X, &address))
		MUST(elf_file_offset(file, address, PF_X, &offset));
	elf_file_section_address(file, ".bss", &address);
	file_has_exceptions(file);
	file_is_go(file);
}

static void functions_read(const struct elf_file *file)
{
	static const char *const names[] = { "function_3", "f*n_1?", "*" };
	struct names_closest closest;
	struct functions functions;

	names_closest_init(&closest, "functoin_3");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		functions_find(&functions, file, 0, NULL, names[i], &closest);
		MUST(functions.n <= FUNCTIONS_MAX);
		for (size_t at = 0; at < functions.n; at++)
			MUST(names_match(names[i], functions.all[at].name) &&
			     (!at || functions.all[at - 1].address < functions.all[at].address));
		functions_clear(&functions);
	}
	names_closest_clear(&closest);
}

/* The functions by address. */
static void table_read(struct found *found)
{
	struct function_table *table;
	struct table_function function;
	char name[SYMBOL_NAME_MAX + 1];
	uint64_t start, end;

	if (!elf_file_code(found->file, &start, &end))
		return;
	if (!function_table_read(&table, found->file, debug_find, found, TABLE_ROOM)) {
		MUST(function_table_size(table) <= TABLE_ROOM);
		for (unsigned int i = 0; i < 8; i++) {
			if (!function_table_find(table, start + i * (end - start) / 8, &function))
				continue;
			MUST(function.start <= start + i * (end - start) / 8);
			if (function_table_name(table, function.number, name))
				MUST(*name && strlen(name) <= SYMBOL_NAME_MAX);
		}
		function_table_free(table);
	}
	debug_file_close(&found->debug);
}

/* As files are, or as what was unpacked: a library may read the two in different ways. */
static int input_open(struct input input, int fd, struct elf_file **file)
{
	if (input.left % 2)
		return elf_file_open_image(file, input_copy_of(input), input.left);
	return elf_file_open(file, fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct input input = { bytes, size };
	struct found found = { .file = NULL };
	struct elf_file *debug;

	found.fd = input_file_of(input);
	if (input_open(input, found.fd, &found.file)) {
		close(found.fd);
		return 0;
	}
	headers_read(found.file);
	usdt_each(found.file, site_see, &found);
	symbols_each(found.file, 0, NULL, symbol_see, NULL);
	symbols_each_location(found.file, debug_find, &found, location_see, NULL);
	debug_file_close(&found.debug);
	table_read(&found);
	symbols_each_data(found.file, 0, NULL, symbol_see, NULL);
	symbols_each_name(found.file, SHT_DYNSYM, name_see, NULL);
	functions_read(found.file);
	if (!debug_file_unpack(&debug, found.file)) {
		headers_read(debug);
		elf_file_close(debug);
	}
	elf_file_close(found.file);
	close(found.fd);
	return 0;
}
