/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of Go's functions of each version, made by hand; and damaged ones. */
#include <errno.h>

#include "elf_image.h"
#include "fuzz.h"
#include "probes/elf/go_table.h"
#include "probes/elf/symbols.h"
#include "tap.h"

#define ROUNDS 60000
#define FUNCTIONS 6
#define SIZE 0x20 /* of each */
#define TABLE 2048

static const char *const names[FUNCTIONS] = {
	"main.main", "main.(*T[go.shape.int]).f", "runtime.goexit", "runtime.systemstack", "top",
	"writes",
};

/* What Go's linker writes, by src/cmd/link/internal/ld/pcln.go. */
struct table {
	uint8_t bytes[TABLE];
	size_t size;
};

static void put(struct table *table, uint64_t value, size_t size)
{
	memcpy(table->bytes + table->size, &value, size);
	table->size += size;
}

static void put_at(struct table *table, size_t at, uint64_t value, size_t size)
{
	memcpy(table->bytes + at, &value, size);
}

/* Nothing before byte 4 of the function, size before 0x1c, nothing from there on. */
static void put_frames(struct table *table, uint8_t size)
{
	const uint8_t values[] = { 2, 4, (uint8_t)(2 * size), 0x18, (uint8_t)(2 * size - 1), 4, 0 };

	memcpy(table->bytes + table->size, values, sizeof(values));
	table->size += sizeof(values);
}

enum version { GO_1_16, GO_1_18, GO_1_20, VERSIONS };

static void table_make(struct table *table, enum version version)
{
	static const uint32_t magics[] = { 0xfffffffa, 0xfffffff0, 0xfffffff1 };
	bool relative = version != GO_1_16;
	size_t wide = relative ? 4 : 8, name_at[FUNCTIONS], frames_at[FUNCTIONS], offsets, part;

	memset(table, 0, sizeof(*table));
	put(table, magics[version], 4);
	put(table, 0x08010000, 4); /* quantum 1, 8 bytes an address */
	put(table, FUNCTIONS, 8);
	put(table, 1, 8);
	if (relative)
		put(table, TEXT_ADDRESS, 8);
	offsets = table->size;
	table->size += 5 * 8;
	put_at(table, offsets, part = table->size, 8);
	for (size_t i = 0; i < FUNCTIONS; i++) {
		name_at[i] = table->size - part;
		memcpy(table->bytes + table->size, names[i], strlen(names[i]) + 1);
		table->size += strlen(names[i]) + 1;
	}
	put_at(table, offsets + 24, part = table->size, 8);
	put(table, 0, 1); /* offset 0: none */
	for (size_t i = 0; i < FUNCTIONS; i++) {
		frames_at[i] = table->size - part;
		put_frames(table, (uint8_t)(8 * i + 8));
	}
	table->size = (table->size + 7) & ~7UL;
	put_at(table, offsets + 32, part = table->size, 8);
	table->size += (FUNCTIONS + 1) * 2 * wide;
	for (size_t i = 0; i <= FUNCTIONS; i++) {
		uint64_t address = i * SIZE + (relative ? 0 : TEXT_ADDRESS);

		put_at(table, part + i * 2 * wide, address, wide);
		put_at(table, part + i * 2 * wide + wide, table->size - part, wide);
		if (i == FUNCTIONS)
			break;
		put(table, address, wide);
		put(table, name_at[i], 4);
		put(table, 0, 8);
		put(table, frames_at[i], 4);
		table->size += version == GO_1_20 ? 20 : 16;
		put(table, 0, 1);
		put(table, i == 4 ? 1 : i == 5 ? 2 : 0, 1); /* flags, of Go 1.17 on */
		put(table, 0, 6);
	}
}

static struct elf_file *file_make(const struct table *table, const char *section)
{
	static struct image image;
	struct elf_file *file = NULL;

	image_init(&image, true);
	image_section(&image, section, SHT_PROGBITS, table->bytes, table->size);
	image_finish(&image);
	return elf_file_open_image(&file, image_copy(&image), image.size) ? NULL : file;
}

static void test_version(enum version version)
{
	struct elf_file *file;
	struct go_table *go = NULL;
	struct go_function function;
	unsigned int wrong = 0;
	struct table table;

	table_make(&table, version);
	file = file_make(&table, version == GO_1_18 ? ".data.rel.ro.gopclntab" : ".gopclntab");
	is_i64(go_table_open(&go, file), 0, "version %d: there is a table", (int)version);
	is_u64(go_table_count(go), FUNCTIONS, "of so many functions");
	for (uint32_t i = 0; i < FUNCTIONS * SIZE; i++) {
		uint32_t n = i / SIZE, into = i % SIZE, size, steps;

		wrong += go_table_find(go, TEXT_ADDRESS + i, &function) != 0 ||
			 strcmp(function.name, names[n]) != 0 ||
			 function.start != TEXT_ADDRESS + n * SIZE ||
			 function.end != function.start + SIZE ||
			 function.outermost != (n == 2 || n == 4) ||
			 function.switches != (n == 3 || n == 5) ||
			 go_table_frame(go, &function, TEXT_ADDRESS + i, &size, &steps) != 0 ||
			 size != (into >= 4 && into < 0x1c ? 8 * n + 8 : 0);
	}
	is_u64(wrong, 0, "all addresses are in their functions, with their frames");
	is_i64(go_table_find(go, TEXT_ADDRESS - 1, &function), -ENOENT, "none before them");
	is_i64(go_table_find(go, TEXT_ADDRESS + FUNCTIONS * SIZE, &function), -ENOENT,
	       "none behind them");
	go_table_close(go);
	elf_file_close(file);
}

static int symbol_count(void *context, const struct symbol *symbol)
{
	*(unsigned int *)context += strlen(symbol->name) > 0;
	return 0;
}

/* Whatever is in it, reading ends and stays within the file. */
static void test_damaged(void)
{
	unsigned int opened = 0, found = 0;

	for (unsigned long round = 0; round < fuzz_rounds(ROUNDS); round++) {
		struct go_table *go = NULL;
		struct go_function function;
		struct elf_file *file;
		struct table table;
		uint32_t size, steps;

		table_make(&table, (enum version)chance(VERSIONS));
		for (uint64_t i = chance(6); i < 6; i++)
			table.bytes[chance(2) ? chance(table.size) : 8 + chance(64)] =
				(uint8_t)(chance(2) ? chance(256) : 0xff * chance(2));
		file = file_make(&table, ".gopclntab");
		if (!go_table_open(&go, file)) {
			opened++;
			for (int i = 0; i < 20; i++) {
				uint64_t address = TEXT_ADDRESS + chance(TEXT_SIZE);

				if (!go_table_find(go, address, &function) &&
				    !go_table_frame(go, &function, address, &size, &steps))
					found++;
			}
			go_table_close(go);
		}
		if (round % 8 == 0)
			symbols_each_by(file, NULL, NULL, symbol_count, &found);
		elf_file_close(file);
	}
	ok(opened && found, "%u damaged tables are read", opened);
}

int main(void)
{
	struct table table = { .size = TABLE };
	struct elf_file *file = file_make(&table, ".gopclntab");
	struct go_table *go;

	is_i64(go_table_open(&go, file), -ENOENT, "zeros are no table");
	elf_file_close(file);
	for (enum version version = 0; version < VERSIONS; version++)
		test_version(version);
	test_damaged();
	go_table_close(NULL);
	return done_testing();
}
