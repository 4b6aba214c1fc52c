// SPDX-License-Identifier: Apache-2.0
/* Format: Go's src/runtime/symtab.go (pcHeader, functab, _func, pcvalue()), by version. */
#include "go_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"

#define WINDOW 8192 /* bytes stored of each part: names of SYMBOL_NAME_MAX fit */
#define MAX_FRAME (1U << 30)
#define MAX_STEPS (1U << 14) /* changes of the frame size per function */
#define MAX_FUNCTIONS (1U << 21)
#define SCAN_MOST (32ULL << 20)        /* bytes searched for the table */
#define RELOCATIONS_MOST (64ULL << 20) /* bytes of relocations read */

/* Function flags, since Go 1.17 (src/internal/abi/symtab.go). */
#define FLAG_TOP_FRAME 1
#define FLAG_SP_WRITE 2

/* By magic number in the header. */
struct layout {
	uint32_t magic;
	bool relative;    /* addresses are 32-bit offsets from the start of the code */
	uint8_t flags_at; /* offset in a function's record: one byte of ID, then flags */
};

static const struct layout layouts[] = {
	{ 0xfffffffa, false, 40 }, /* Go 1.16 */
	{ 0xfffffff0, true, 36 },  /* Go 1.18 */
	{ 0xfffffff1, true, 40 },  /* Go 1.20 */
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Part of the table read last for one purpose. */
struct window {
	uint64_t start;
	size_t size;
	uint8_t bytes[WINDOW + 1];
};

struct go_table {
	const struct elf_file *file;
	const struct layout *layout;
	uint64_t offset, size; /* in the file */
	uint64_t code;         /* address of the first function */
	uint32_t n;
	uint8_t quantum; /* instruction alignment */
	/* Offsets of parts in the table. */
	uint64_t names, values, functions;
	struct window list, record, name, value;
};

/* Returns at least least bytes at an offset of the table, or more: *available. NULL beyond its end.
 * A byte of 0 follows. */
static const uint8_t *window_at(const struct go_table *table, struct window *window,
				uint64_t offset, size_t least, size_t *available)
{
	if (offset > table->size || least > table->size - offset)
		return NULL;
	if (offset < window->start || offset + least > window->start + window->size) {
		uint64_t left = table->size - offset;
		size_t size = left < WINDOW ? (size_t)left : WINDOW;

		window->size = 0;
		if (elf_file_read(table->file, table->offset + offset, window->bytes, size))
			return NULL;
		window->start = offset;
		window->size = size;
		window->bytes[size] = '\0';
	}
	if (available)
		*available = window->size - (size_t)(offset - window->start);
	return window->bytes + (offset - window->start);
}

static uint32_t u32_at(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static uint64_t u64_at(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

/* --- Finding the table --- */

#define HEADER_SIZE 72 /* of the largest layout */

static const struct layout *layout_find(const uint8_t header[8])
{
	for (size_t i = 0; i < COUNT(layouts); i++)
		if (u32_at(header) == layouts[i].magic && !header[4] && !header[5] &&
		    (header[6] == 1 || header[6] == 4) && header[7] == sizeof(uint64_t))
			return &layouts[i];
	return NULL;
}

static bool section_find(struct go_table *table)
{
	static const char *const names[] = { ".gopclntab", ".data.rel.ro.gopclntab" };

	for (size_t i = 0; i < COUNT(names); i++) {
		const Elf64_Shdr *section = elf_file_section(table->file, NULL, SHT_PROGBITS,
							     names[i]);

		if (!section)
			continue;
		table->offset = section->sh_offset;
		table->size = section->sh_size;
		return true;
	}
	return false;
}

/* Searches for the table, which the linker aligns to 32 bytes; its length is unknown. */
static bool header_search(struct go_table *table)
{
	uint64_t size = elf_file_size(table->file);
	uint8_t *bytes = table->list.bytes;

	for (uint64_t at = 0; at + WINDOW <= size && at < SCAN_MOST; at += WINDOW) {
		if (elf_file_read(table->file, at, bytes, WINDOW))
			return false;
		for (size_t i = 0; i < WINDOW; i += 32) {
			if (!layout_find(bytes + i))
				continue;
			table->offset = at + i;
			table->size = size - table->offset;
			return true;
		}
	}
	return false;
}

/* In a position-independent file, the start of the code is a relocation. */
static uint64_t relocated(const struct go_table *table, uint64_t address)
{
	const Elf64_Shdr *section = elf_file_section(table->file, NULL, SHT_RELA, NULL);
	uint64_t size = 0;
	Elf64_Rela entries[64];

	for (; section; section = elf_file_section(table->file, section, SHT_RELA, NULL)) {
		uint64_t n = section->sh_size / sizeof(*entries);

		if (section->sh_size > RELOCATIONS_MOST - size)
			return 0;
		size += section->sh_size;
		for (uint64_t i = 0; i < n; i += COUNT(entries)) {
			size_t some = n - i < COUNT(entries) ? (size_t)(n - i) : COUNT(entries);

			if (elf_file_read(table->file, section->sh_offset + i * sizeof(*entries),
					  entries, some * sizeof(*entries)))
				return 0;
			for (size_t j = 0; j < some; j++)
				if (entries[j].r_offset == address)
					return (uint64_t)entries[j].r_addend;
		}
	}
	return 0;
}

#define TEXT_START 24 /* offset in the header */

static uint64_t code_start(const struct go_table *table, const uint8_t *header)
{
	uint64_t start = u64_at(header + TEXT_START), address;

	if (!start && elf_file_address(table->file, table->offset, 0, &address))
		start = relocated(table, address + TEXT_START);
	/* Go 1.26 emits none: the code comes first, unless an external linker placed it. */
	if (!start && !elf_file_section_address(table->file, ".text", &start))
		return 0;
	return start;
}

static int header_read(struct go_table *table)
{
	const uint8_t *header;
	uint64_t n, entry, offsets;

	if (!section_find(table) &&
	    (elf_file_section(table->file, NULL, SHT_NULL, NULL) || !header_search(table)))
		return -ENOENT;
	header = window_at(table, &table->record, 0, HEADER_SIZE, NULL);
	table->layout = header ? layout_find(header) : NULL;
	if (!table->layout)
		return -ENOENT;
	table->quantum = header[6];
	n = u64_at(header + 8);
	offsets = table->layout->relative ? TEXT_START + 8 : TEXT_START;
	table->names = u64_at(header + offsets);
	table->values = u64_at(header + offsets + 24);
	table->functions = u64_at(header + offsets + 32);
	entry = table->layout->relative ? 8 : 16;
	if (table->names > table->size || table->values > table->size ||
	    table->functions > table->size || n >= (table->size - table->functions) / entry ||
	    n > MAX_FUNCTIONS)
		return -EBADMSG;
	table->n = (uint32_t)n;
	if (table->layout->relative)
		table->code = code_start(table, header);
	return 0;
}

int go_table_open(struct go_table **table, const struct elf_file *file)
{
	struct go_table *opened;
	int err;

	if (!elf_file_is_64(file))
		return -ENOENT;
	opened = calloc(1, sizeof(*opened));
	if (!opened)
		return -ENOMEM;
	opened->file = file;
	err = header_read(opened);
	if (err)
		free(opened);
	else
		*table = opened;
	return err;
}

void go_table_close(struct go_table *table)
{
	free(table);
}

uint32_t go_table_count(const struct go_table *table)
{
	return table->n;
}

/* --- Functions --- */

/* Address of a function, and offset of its record; the entry after the last has none. */
static int entry_get(struct go_table *table, uint32_t number, uint64_t *address, uint64_t *record)
{
	size_t size = table->layout->relative ? 8 : 16;
	const uint8_t *entry = window_at(table, &table->list,
					 table->functions + (uint64_t)number * size, size, NULL);

	if (!entry)
		return -EBADMSG;
	*address = table->layout->relative ? table->code + u32_at(entry) : u64_at(entry);
	*record = table->functions +
		  (table->layout->relative ? u32_at(entry + 4) : u64_at(entry + 8));
	return 0;
}

static bool is_among(const char *name, const char *const *names, size_t n)
{
	while (n)
		if (!strcmp(name, names[--n]))
			return true;
	return false;
}

/* Older versions have no flags, and none flags mcall(), which leaves a goroutine for the
 * scheduler: nothing waits for its return. */
static void function_judge(struct go_function *function, uint8_t flags)
{
	static const char *const outermost[] = { "runtime.goexit", "runtime.mcall",
						 "runtime.mstart", "runtime.rt0_go" };
	static const char *const switches[] = { "runtime.asmcgocall", "runtime.cgocallback",
						"runtime.morestack", "runtime.systemstack" };

	static const char *const injected[] = { "runtime.asyncPreempt", "runtime.sigpanic" };

	function->outermost = flags & FLAG_TOP_FRAME ||
			      is_among(function->name, outermost, COUNT(outermost));
	function->switches = flags & FLAG_SP_WRITE ||
			     is_among(function->name, switches, COUNT(switches));
	function->leaves = !strcmp(function->name, "runtime.schedule");
	function->injected = is_among(function->name, injected, COUNT(injected));
}

int go_table_get(struct go_table *table, uint32_t number, struct go_function *function)
{
	uint64_t record_at, unused;
	size_t first = table->layout->relative ? 4 : 8; /* after its address */
	const uint8_t *record, *name;
	size_t available;

	if (number >= table->n || entry_get(table, number + 1, &function->end, &unused) ||
	    entry_get(table, number, &function->start, &record_at) ||
	    function->end < function->start)
		return -EBADMSG;
	record = window_at(table, &table->record, record_at, table->layout->flags_at + 2U, NULL);
	if (!record)
		return -EBADMSG;
	/* After the name: arguments, deferreturn. */
	function->frames = u32_at(record + first + 12);
	name = window_at(table, &table->name, table->names + u32_at(record + first), 1, &available);
	if (name && !memchr(name, '\0', available)) /* continues after the window */
		name = window_at(table, &table->name, table->names + u32_at(record + first),
				 available + 1, &available);
	if (!name || !memchr(name, '\0', available))
		return -EBADMSG;
	function->name = (const char *)name;
	function_judge(function, record[table->layout->flags_at + 1]);
	return 0;
}

int go_table_find(struct go_table *table, uint64_t address, struct go_function *function)
{
	uint32_t low = 0, high = table->n; /* the first one that begins after it is in between */
	uint64_t start, record;
	int err;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		err = entry_get(table, middle, &start, &record);
		if (err)
			return err;
		if (start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return -ENOENT;
	err = go_table_get(table, low - 1, function);
	return err ? err : address < function->end ? 0 : -ENOENT;
}

/* --- Frames --- */

/* Varint, lowest 7 bits first. */
static int number_read(struct go_table *table, uint64_t *at, uint32_t *value)
{
	*value = 0;
	for (unsigned int shift = 0; shift < 32; shift += 7) {
		const uint8_t *byte = window_at(table, &table->value, *at, 1, NULL);

		if (!byte)
			return -EBADMSG;
		(*at)++;
		*value |= (uint32_t)(*byte & 0x7f) << shift;
		if (!(*byte & 0x80))
			return 0;
	}
	return -EBADMSG;
}

/* Pairs of deltas: of the size, which starts at -1, and of the address up to which it holds. */
int go_table_frame(struct go_table *table, const struct go_function *function, uint64_t address,
		   uint32_t *size, uint32_t *steps)
{
	uint64_t at = table->values + function->frames, end = function->start;
	uint32_t value = UINT32_MAX, by, step;

	*size = *steps = 0;
	if (!function->frames)
		return 0;
	while (end <= address) {
		if (number_read(table, &at, &by) || (!by && *steps) ||
		    number_read(table, &at, &step) || ++*steps > MAX_STEPS)
			return -EBADMSG;
		value += by & 1 ? ~(by >> 1) : by >> 1;
		end += (uint64_t)step * table->quantum;
	}
	*size = value;
	return value > MAX_FRAME ? -EBADMSG : 0;
}
