// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "resolver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"

/* The largest programs with full symbols have about half of it. */
#define MAX_FUNCTIONS (4U << 20)
#define MAX_NAMES (1U << 28)    /* bytes of stored names */
#define MAX_READ (16U << 20)    /* bytes of other names in memory during comparison */
#define MAX_COMPARED (1U << 20) /* names: beyond, the first one is good enough */

/* Bits of a row: larger functions are cut; names are positions in all sources combined. */
#define MAX_SIZE ((1U << 31) - 1)
#define MAX_PLACES ((1U << 31) - 1)
#define MAX_SOURCES 4 /* .symtab, .dynsym, stored names, a debug file's .symtab */

/* Nested functions are rare, and not deep: cold parts of hand-written code. */
#define MAX_NESTED 64
#define MAX_SECTIONS 64 /* with code; linkers write five */

struct table_row {
	uint64_t start;
	uint32_t size : 31;
	uint32_t sized : 1; /* the size is from the symbol table */
	uint32_t name : 31; /* its position */
	uint32_t local : 1;
};

/* Strings of a file, or stored ones; names begin at position start. */
struct source {
	const struct elf_file *file; /* NULL: stored */
	const Elf64_Shdr *strings;
	uint32_t start;
	char *text; /* during comparison; NULL: not in memory */
};

struct function_table {
	struct table_row *entries;
	char *names; /* stored ones: names without a position in a file */
	uint32_t n, names_size;
	size_t entries_capacity, names_capacity;
	size_t capacity; /* bytes left for both */
	struct source sources[MAX_SOURCES];
	unsigned int n_sources;
	uint32_t locations; /* of all sources */
};

static uint32_t size_of(uint64_t size)
{
	return size > MAX_SIZE ? MAX_SIZE : (uint32_t)size;
}

/* Finds the source of a symbol; they come source by source. Names without a position are stored.
 * Returns NULL if there are too many names. */
static const struct source *source_get(struct function_table *table,
				       const struct symbol_location *location)
{
	const struct source *last = table->n_sources ? &table->sources[table->n_sources - 1] : NULL;
	struct source source = { .start = table->locations };
	uint64_t size = MAX_NAMES;

	if (location) {
		source.file = location->file;
		source.strings = location->strings;
		size = location->strings->sh_size;
	}
	if (last && last->file == source.file && last->strings == source.strings)
		return last;
	if (table->n_sources == MAX_SOURCES || size > MAX_PLACES - table->locations)
		return NULL;
	table->sources[table->n_sources] = source;
	table->locations += (uint32_t)size;
	return &table->sources[table->n_sources++];
}

static int name_keep(struct function_table *table, const char *name, uint32_t size)
{
	if (table->names_size + size > MAX_NAMES)
		return -E2BIG;
	if (array_reserve(&table->names, table->names_size + size, &table->names_capacity, 1))
		return -ENOMEM;
	memcpy(table->names + table->names_size, name, size);
	table->names_size += size;
	return 0;
}

static int function_take(void *context, const struct symbol *symbol)
{
	struct function_table *table = context;
	/* Bounded by SYMBOL_NAME_MAX. */
	uint32_t size = symbol->name ? (uint32_t)strlen(symbol->name) + 1 : 0;
	uint32_t at = symbol->name ? table->names_size : symbol->location.at;
	const struct source *source = source_get(table, symbol->name ? NULL : &symbol->location);
	int err;

	if (!source || table->n == MAX_FUNCTIONS ||
	    function_table_size(table) + sizeof(*table->entries) + size > table->capacity)
		return -E2BIG;
	if (ARRAY_GROW(table->entries, table->n, table->entries_capacity))
		return -ENOMEM;
	err = symbol->name ? name_keep(table, symbol->name, size) : 0;
	if (err)
		return err;
	table->entries[table->n++] = (struct table_row){
		.start = symbol->address,
		.size = size_of(symbol->size) & MAX_SIZE,
		.name = (source->start + at) & MAX_PLACES,
		.sized = symbol->size > 0,
		.local = symbol->local,
	};
	return 0;
}

static bool name_read(const struct function_table *table, const struct table_row *entry,
		      char name[SYMBOL_NAME_MAX + 1])
{
	size_t i = ARRAY_SPLIT(table->n_sources, s, table->sources[s].start <= entry->name) - 1;
	const struct source *source = &table->sources[i];
	const struct symbol_location location = {
		.file = source->file,
		.strings = source->strings,
		.at = entry->name - source->start,
		.text = source->text,
	};

	if (source->file)
		return !symbol_name_read(&location, name);
	strcpy(name, table->names + location.at);
	return true;
}

/* Negative if the first name reads better. glibc uses __GI_ for internal calls. */
static int names_compare(const char *a, const char *b)
{
	return ORDER(!strncmp(a, "__GI_", 5), !strncmp(b, "__GI_", 5))
		       ?: ORDER(strspn(a, "_"), strspn(b, "_"))
		       ?: ORDER(strlen(a), strlen(b))
		       ?: strcmp(a, b);
}

/* Orders by address; ties by size, largest first, then by visibility to other files. */
static int entries_compare(const void *left, const void *right)
{
	const struct table_row *a = left, *b = right;

	return ORDER(a->start, b->start)
		       ?: ORDER(b->size, a->size)
		       ?: ORDER(a->local, b->local)
		       ?: ORDER(a->name, b->name);
}

/* True if the first name is better; unreadable names count as none. */
static bool is_better(const struct function_table *table, const struct table_row *a,
		      const struct table_row *b)
{
	char name_a[SYMBOL_NAME_MAX + 1], name_b[SYMBOL_NAME_MAX + 1];

	return a->name != b->name && name_read(table, a, name_a) &&
	       (!name_read(table, b, name_b) || names_compare(name_a, name_b) < 0);
}

/* Most comparisons involve names of both tables: reading them one by one costs more than reading
 * all. */
static void sources_read(struct function_table *table)
{
	uint64_t left = MAX_READ;

	for (unsigned int i = 0; i < table->n_sources; i++) {
		struct source *source = &table->sources[i];
		uint64_t size = source->file ? source->strings->sh_size : left + 1;

		source->text = size <= left ? malloc(size + 1) : NULL;
		if (!source->text)
			continue;
		if (elf_file_read(source->file, source->strings->sh_offset, source->text, size)) {
			free(source->text);
			source->text = NULL;
			continue;
		}
		left -= size;
	}
}

static void sources_forget(struct function_table *table)
{
	for (unsigned int i = 0; i < table->n_sources; i++) {
		free(table->sources[i].text);
		table->sources[i].text = NULL;
	}
}

/* Merges entries for the same code: keeps the best name, and drops entries without size where
 * the size is known. */
static void entries_unite(struct function_table *table)
{
	uint32_t n = 0, compared = 0;

	for (uint32_t i = 0; i < table->n; i++) {
		const struct table_row *entry = &table->entries[i];
		struct table_row *last = n ? &table->entries[n - 1] : NULL;

		if (!last || last->start != entry->start ||
		    (last->size != entry->size && entry->sized))
			table->entries[n++] = *entry;
		else if (last->size == entry->size && last->local == entry->local &&
			 compared++ < MAX_COMPARED && is_better(table, entry, last))
			*last = *entry;
	}
	table->n = n;
}

/* Code sections, where functions without a size end. */
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

/* End of the section with an address; the address itself outside sections. */
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
	uint64_t outer = 0; /* end of the functions that began before */

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
		if (entry->start < outer && outer < end) /* a label inside a function */
			end = outer;
		if (i + 1 < table->n && table->entries[i + 1].start < end)
			end = table->entries[i + 1].start;
		entry->size = size_of(end - entry->start) & MAX_SIZE;
	}
}

int function_table_read(struct function_table **result, const struct elf_file *file,
			debug_file_finder *find, void *find_context, size_t capacity)
{
	struct function_table *table = calloc(1, sizeof(*table));
	struct table_row *entries;
	char *names;
	int err;

	if (!table)
		return -ENOMEM;
	table->capacity = capacity;
	err = symbols_each_location(file, find, find_context, function_take, table);
	if (err) {
		function_table_free(table);
		return err;
	}
	ARRAY_SORT(table->entries, table->n, entries_compare);
	sources_read(table);
	entries_unite(table);
	sources_forget(table);
	table_entries_end(table, file);
	entries = realloc(table->entries, (table->n + 1) * sizeof(*entries));
	if (entries)
		table->entries = entries;
	names = realloc(table->names, table->names_size + 1);
	if (names)
		table->names = names;
	*result = table;
	return 0;
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
		.start = table->entries[found].start,
		.number = found,
	};
	return true;
}

bool function_table_name(const struct function_table *table, uint32_t number,
			 char name[SYMBOL_NAME_MAX + 1])
{
	return name_read(table, &table->entries[number], name);
}
