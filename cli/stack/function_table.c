// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "function_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"

/* The largest programs with all their symbols have about half of it. */
#define MAX_FUNCTIONS (4U << 20)
#define MAX_NAMES (1U << 28) /* bytes: what entry.name can hold */

/* Functions within others are rare, and not deep: cold parts of hand-written code. */
#define MAX_NESTED 64
#define MAX_SECTIONS 64 /* with code; linkers write five */

struct table_row {
	uint64_t start;
	uint32_t size;
	uint32_t name : 28; /* offset in the names */
	uint32_t sized : 1; /* the size is from the symbol table */
	uint32_t local : 1;
};

struct function_table {
	struct table_row *entries;
	char *names;
	uint32_t n, names_size;
	size_t entries_room, names_room;
	size_t room; /* bytes for both */
};

static int function_take(void *context, const struct symbol *symbol)
{
	struct function_table *table = context;
	uint32_t length = (uint32_t)strlen(symbol->name) + 1; /* bounded by SYMBOL_NAME_MAX */

	if (function_table_size(table) + sizeof(*table->entries) + length > table->room ||
	    table->n == MAX_FUNCTIONS || table->names_size + length > MAX_NAMES)
		return -E2BIG;
	if (ARRAY_GROW(table->entries, table->n, table->entries_room) ||
	    array_reserve(&table->names, table->names_size + length, &table->names_room, 1))
		return -ENOMEM;
	table->entries[table->n++] = (struct table_row){
		.start = symbol->address,
		.size = symbol->size > UINT32_MAX ? UINT32_MAX : (uint32_t)symbol->size,
		.name = table->names_size & (MAX_NAMES - 1),
		.sized = symbol->size > 0,
		.local = symbol->local,
	};
	memcpy(table->names + table->names_size, symbol->name, length);
	table->names_size += length;
	return 0;
}

/* Negative if a reader would rather see the first of two names. __GI_ is glibc's for
 * calls within itself. */
static int names_compare(const char *a, const char *b)
{
	size_t underscores_a = strspn(a, "_"), underscores_b = strspn(b, "_");
	bool glibc_a = !strncmp(a, "__GI_", 5), glibc_b = !strncmp(b, "__GI_", 5);
	size_t length_a, length_b;

	if (glibc_a != glibc_b)
		return glibc_a ? 1 : -1;
	if (underscores_a != underscores_b)
		return underscores_a < underscores_b ? -1 : 1;
	length_a = strlen(a);
	length_b = strlen(b);
	if (length_a != length_b)
		return length_a < length_b ? -1 : 1;
	return strcmp(a, b);
}

/* Orders by address; at the same address the largest first, and the best name. */
static int entries_compare(const void *left, const void *right, void *names)
{
	const struct table_row *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	if (a->local != b->local)
		return a->local ? 1 : -1;
	return names_compare((char *)names + a->name, (char *)names + b->name);
}

/* Leaves of the same code only the first, which has the best name, and none without
 * a size where the size is known. */
static void entries_unite(struct function_table *table)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < table->n; i++) {
		const struct table_row *entry = &table->entries[i];
		const struct table_row *last = n ? &table->entries[n - 1] : NULL;

		if (!last || last->start != entry->start ||
		    (last->size != entry->size && entry->sized))
			table->entries[n++] = *entry;
	}
	table->n = n;
}

/* Orders numbers of entries by where their names are. */
static int by_name(const void *left, const void *right, void *entries)
{
	const struct table_row *a = (struct table_row *)entries + *(const uint32_t *)left;
	const struct table_row *b = (struct table_row *)entries + *(const uint32_t *)right;

	return (a->name > b->name) - (a->name < b->name);
}

/* Moves the names that are left together: a copy of a million would take 60 MB. */
static int names_compact(struct function_table *table)
{
	uint32_t *order = calloc(table->n + 1, sizeof(*order)), size = 0;
	char *names;

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < table->n; i++)
		order[i] = i;
	qsort_r(order, table->n, sizeof(*order), by_name, table->entries);
	for (uint32_t i = 0; i < table->n; i++) {
		struct table_row *entry = &table->entries[order[i]];
		uint32_t length = (uint32_t)strlen(table->names + entry->name) + 1;

		memmove(table->names + size, table->names + entry->name, length);
		entry->name = size & (MAX_NAMES - 1);
		size += length;
	}
	free(order);
	names = realloc(table->names, size + 1);
	if (names)
		table->names = names;
	table->names_size = table->names_room = size;
	return 0;
}

/* The sections of code, by which functions without a size end. */
struct sections {
	const Elf64_Shdr *headers[MAX_SECTIONS];
	size_t n;
};

static void sections_collect(struct sections *sections, const struct elf_file *file)
{
	const Elf64_Shdr *section = NULL;

	sections->n = 0;
	while (sections->n < MAX_SECTIONS &&
	       (section = elf_file_section(file, section, SHT_NULL, NULL))) {
		if (section->sh_flags & SHF_EXECINSTR)
			sections->headers[sections->n++] = section;
	}
}

/* The end of the section that an address is in; the address itself if it is in none. */
static uint64_t sections_end(const struct sections *sections, uint64_t address)
{
	for (size_t i = 0; i < sections->n; i++) {
		const Elf64_Shdr *section = sections->headers[i];
		uint64_t end;

		if (address >= section->sh_addr &&
		    !__builtin_add_overflow(section->sh_addr, section->sh_size, &end) &&
		    address < end)
			return end;
	}
	return address;
}

static void table_entries_end(struct function_table *table, const struct elf_file *file)
{
	struct sections sections;
	uint64_t outer = 0; /* where the functions end that began before */

	sections_collect(&sections, file);
	for (uint32_t i = 0; i < table->n; i++) {
		struct table_row *entry = &table->entries[i];
		uint64_t end;

		if (entry->sized) {
			if (!__builtin_add_overflow(entry->start, entry->size, &end) && end > outer)
				outer = end;
			continue;
		}
		end = sections_end(&sections, entry->start);
		if (entry->start < outer && outer < end) /* a label in a function */
			end = outer;
		if (i + 1 < table->n && table->entries[i + 1].start < end)
			end = table->entries[i + 1].start;
		entry->size = end - entry->start > UINT32_MAX ? UINT32_MAX
							      : (uint32_t)(end - entry->start);
	}
}

int function_table_read(struct function_table **result, const struct elf_file *file,
			debug_file_finder *find, void *find_context, size_t room)
{
	struct function_table *table = calloc(1, sizeof(*table));
	struct table_row *entries;
	int err;

	if (!table)
		return -ENOMEM;
	table->room = room;
	err = symbols_each_by(file, find, find_context, function_take, table);
	if (err)
		goto fail;
	if (table->n)
		qsort_r(table->entries, table->n, sizeof(*table->entries), entries_compare,
			table->names);
	entries_unite(table);
	table_entries_end(table, file);
	err = names_compact(table);
	if (err)
		goto fail;
	entries = realloc(table->entries, (table->n + 1) * sizeof(*entries));
	if (entries)
		table->entries = entries;
	*result = table;
	return 0;
fail:
	function_table_free(table);
	return err;
}

void function_table_free(struct function_table *table)
{
	if (!table)
		return;
	free(table->entries);
	free(table->names);
	free(table);
}

size_t function_table_size(const struct function_table *table)
{
	return table->n * sizeof(*table->entries) + table->names_size;
}

bool function_table_find(const struct function_table *table, uint64_t address,
			 struct table_function *function)
{
	uint32_t before = ARRAY_SPLIT(table->n, i, table->entries[i].start <= address);
	uint32_t found = UINT32_MAX;

	for (uint32_t i = before; i > 0 && before - i < MAX_NESTED; i--) {
		const struct table_row *entry = &table->entries[i - 1];

		if (address - entry->start >= entry->size)
			continue;
		if (entry->sized || found == UINT32_MAX)
			found = i - 1;
		if (entry->sized)
			break;
	}
	if (found == UINT32_MAX)
		return false;
	*function = (struct table_function){
		.name = table->names + table->entries[found].name,
		.start = table->entries[found].start,
		.number = found,
	};
	return true;
}
