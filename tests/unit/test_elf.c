/* SPDX-License-Identifier: Apache-2.0 */
/* ELF headers, addresses and symbols, of files made by hand. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probes/elf/elf_file.h"
#include "probes/elf/functions.h"
#include "probes/elf/symbols.h"
#include "elf_image.h"
#include "tap.h"

static struct image image;
static struct image_symbols table;

static struct elf_file *image_open(void)
{
	struct elf_file *file = NULL;
	int err = elf_file_open_image(&file, image_copy(&image), image.size);

	if (err)
		printf("# the image cannot be opened: %d\n", err);
	return file;
}

static void is_refused(int want, const char *what)
{
	struct elf_file *file;
	int err = elf_file_open_image(&file, image_copy(&image), image.size);

	is_i64(err, want, "%s", what);
	if (!err)
		elf_file_close(file);
}

static void test_headers(bool is_64)
{
	static const uint8_t id[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct image_notes notes = { .is_64 = is_64 };
	int bits = is_64 ? 64 : 32;
	struct elf_file *file;
	char soname[64];
	uint8_t got[64];
	uint64_t offset = 0, address = 0;

	image_init(&image, is_64);
	notes_add(&notes, "GNU", NT_GNU_ABI_TAG, "abcdefg", 7);
	notes_add(&notes, "GNU", NT_GNU_BUILD_ID, id, sizeof(id));
	image_section(&image, ".note.gnu.build-id", SHT_NOTE, notes.bytes, notes.size);
	image_finish(&image);
	file = image_open();
	if (!file)
		return;
	ok(elf_file_is_64(file) == is_64, "%d: the class", bits);
	ok(elf_file_soname(file, soname, sizeof(soname)), "%d: it has a soname", bits);
	is_str(soname, IMAGE_SONAME, "%d: the soname", bits);
	ok(!elf_file_soname(file, soname, sizeof(IMAGE_SONAME) - 1), "%d: one that does not fit",
	   bits);
	is_u64(elf_file_build_id(file, got, sizeof(got)), sizeof(id), "%d: the build ID's length",
	       bits);
	ok(memcmp(got, id, sizeof(id)) == 0, "%d: the build ID", bits);
	is_u64(elf_file_build_id(file, got, 7), 0, "%d: a build ID that does not fit", bits);
	ok(elf_file_offset(file, TEXT_ADDRESS + 0x10, PF_X, &offset), "%d: an address of code",
	   bits);
	is_u64(offset, TEXT_OFFSET + 0x10, "%d: its offset", bits);
	ok(elf_file_offset(file, DATA_ADDRESS + 0x10, PF_W, &offset), "%d: an address of data",
	   bits);
	is_u64(offset, DATA_OFFSET + 0x10, "%d: its offset", bits);
	ok(elf_file_offset(file, TEXT_ADDRESS + TEXT_SIZE - 1, PF_X, &offset), "%d: the last byte",
	   bits);
	ok(!elf_file_offset(file, TEXT_ADDRESS + TEXT_SIZE, PF_X, &offset), "%d: the one after it",
	   bits);
	ok(!elf_file_offset(file, TEXT_ADDRESS - 1, PF_X, &offset), "%d: the one before", bits);
	ok(!elf_file_offset(file, DATA_ADDRESS, PF_X, &offset), "%d: data is not code", bits);
	ok(!elf_file_offset(file, DATA_ADDRESS + DATA_SIZE, PF_W, &offset),
	   "%d: memory that the file does not have", bits);
	ok(elf_file_address(file, TEXT_OFFSET + 0x10, PF_X, &address), "%d: an offset of code",
	   bits);
	is_u64(address, TEXT_ADDRESS + 0x10, "%d: its address", bits);
	ok(elf_file_address(file, DATA_OFFSET + DATA_SIZE - 1, 0, &address),
	   "%d: the last offset of data", bits);
	is_u64(address, DATA_ADDRESS + DATA_SIZE - 1, "%d: its address", bits);
	ok(!elf_file_address(file, TEXT_OFFSET - 1, 0, &address), "%d: before all segments", bits);
	ok(!elf_file_address(file, DATA_OFFSET + DATA_SIZE, 0, &address), "%d: behind them", bits);
	ok(!elf_file_address(file, DATA_OFFSET, PF_X, &address), "%d: not in code", bits);
	ok(elf_file_bias(file, 0x7f0000401000, 0, PF_X, &address), "%d: mapped", bits);
	is_u64(address, 0x7f0000000000, "%d: how far from its addresses", bits);
	ok(elf_file_bias(file, 0x400123, 0x123, PF_W, &address), "%d: in front of a segment", bits);
	is_u64(address, 0x400000 - (DATA_ADDRESS & ~0xfffUL), "%d: below them", bits);
	ok(!elf_file_bias(file, 0, DATA_OFFSET + DATA_SIZE, 0, &address), "%d: no segment", bits);
	ok(elf_file_has(file, DATA_ADDRESS + 2 * DATA_SIZE - 1, PF_W), "%d: zeros behind", bits);
	ok(!elf_file_has(file, DATA_ADDRESS + 2 * DATA_SIZE, 0) &&
		   !elf_file_has(file, DATA_ADDRESS, PF_X) && !elf_file_has(file, 0, 0),
	   "%d: what it does not have", bits);
	elf_file_close(file);
}

static void test_refused(void)
{
	Elf64_Ehdr *header = (Elf64_Ehdr *)image.bytes;

	image_init(&image, true);
	image_finish(&image);
	image.size = 3;
	is_refused(-ENOEXEC, "too short for a magic");
	image.size = 20;
	is_refused(-EBADMSG, "cut inside the header");
	image_init(&image, true);
	image_finish(&image);
	image.size -= 1;
	is_refused(-EBADMSG, "cut inside the section headers");
	image_init(&image, true);
	image_finish(&image);
	image.bytes[1] = 'e';
	is_refused(-ENOEXEC, "no magic");
	image.bytes[1] = 'E';
	header->e_machine = EM_S390;
	is_refused(-ENOTSUP, "another machine");
	header->e_machine = IMAGE_MACHINE;
	header->e_type = ET_REL;
	is_refused(-ENOTSUP, "an object that is not linked");
	header->e_type = ET_CORE;
	is_refused(-ENOTSUP, "a core");
	header->e_type = ET_EXEC;
	is_refused(0, "a program");
	image.bytes[EI_DATA] = ELFDATA2MSB;
	is_refused(-ENOTSUP, "the other byte order");
	image.bytes[EI_DATA] = ELFDATA2LSB;
	header->e_phentsize++;
	is_refused(-EBADMSG, "wrong size of a segment's header");
	header->e_phentsize--;
	header->e_phnum = 0xfffe;
	is_refused(-E2BIG, "too many segments");
	header->e_phnum = 3;
	header->e_phoff = UINT64_MAX - 60;
	is_refused(-EBADMSG, "segments that wrap around");
	header->e_phoff = sizeof(*header);
	header->e_shnum = 0;
	((Elf64_Shdr *)(image.bytes + header->e_shoff))->sh_size = 1ULL << 40;
	is_refused(-E2BIG, "too many sections");
	header->e_shoff = UINT64_MAX - 10;
	header->e_shnum = 3;
	is_refused(-EBADMSG, "sections that wrap around");
	header->e_shoff = 0;
	is_refused(0, "no sections");
}

/* The number of sections, and the index of their names, if they need more bits. */
static void test_extended_numbers(void)
{
	Elf64_Ehdr *header = (Elf64_Ehdr *)image.bytes;
	struct elf_file *file;
	Elf64_Shdr *first;

	image_init(&image, true);
	image_section(&image, ".here", SHT_PROGBITS, "x", 1);
	image_finish(&image);
	first = (Elf64_Shdr *)(image.bytes + header->e_shoff);
	first->sh_size = header->e_shnum;
	first->sh_link = header->e_shstrndx;
	header->e_shnum = 0;
	header->e_shstrndx = SHN_XINDEX;
	file = image_open();
	ok(file && elf_file_section(file, NULL, SHT_PROGBITS, ".here"), "extended numbers");
	elf_file_close(file);
}

struct seen {
	char text[1024];
	unsigned int calls;
	unsigned int stop_at;
};

static int see(void *context, const struct symbol *symbol)
{
	struct seen *seen = context;

	sprintf(seen->text + strlen(seen->text), "%s%s%s=%lx/%lu ", symbol->name,
		symbol->resolver ? "!" : "", symbol->superseded ? "-" : "",
		symbol->address - TEXT_ADDRESS, symbol->size);
	return ++seen->calls == seen->stop_at ? 42 : 0;
}

static void test_symbols(bool is_64)
{
	int bits = is_64 ? 64 : 32;
	struct seen seen = { .calls = 0 };
	struct elf_file *file;
	uint32_t long_name;

	symbols_init(&table, is_64);
	symbols_add(&table, "first", TEXT_ADDRESS, 16, STT_FUNC);
	symbols_add(&table, "variable", TEXT_ADDRESS, 4, STT_OBJECT);
	symbols_add(&table, "outside", TEXT_ADDRESS + TEXT_SIZE, 4, STT_FUNC);
	symbols_add(&table, "data", DATA_ADDRESS, 4, STT_FUNC);
	long_name = symbols_add(&table, "very_long@VERSION_1", TEXT_ADDRESS + 32, 5, STT_FUNC);
	symbols_add_at(&table, long_name + 5, TEXT_ADDRESS + 64, 0, STT_FUNC, 1);
	symbols_add_at(&table, long_name, TEXT_ADDRESS + 32, 5, STT_FUNC, SHN_UNDEF);
	symbols_add_at(&table, 0xfffffff0, TEXT_ADDRESS, 5, STT_FUNC, 1);
	symbols_add_at(&table, 0, TEXT_ADDRESS, 5, STT_FUNC, 1);
	symbols_add(&table, "current@@VERSION_2", TEXT_ADDRESS + 96, 1, STT_FUNC);
	symbols_add(&table, "choice", TEXT_ADDRESS + 128, 1, STT_GNU_IFUNC);
	symbols_add(&table, "@odd", TEXT_ADDRESS + 129, 1, STT_FUNC);
	image_init(&image, is_64);
	image_symbols(&image, &table, SHT_SYMTAB);
	image_finish(&image);
	file = image_open();
	is_i64(symbols_each(file, 0, NULL, see, &seen), 0, "%d: symbols", bits);
	is_str(seen.text,
	       "first=0/16 very_long-=20/5 long-=40/0 current=60/1 choice!=80/1 @odd=81/1 ",
	       "%d: which, with their versions cut off", bits);
	seen = (struct seen){ .stop_at = 2 };
	is_i64(symbols_each(file, 0, NULL, see, &seen), 42, "%d: what the caller returns", bits);
	is_u64(seen.calls, 2, "%d: ends the search", bits);
	elf_file_close(file);
}

/* Which of two dynamic symbols is the default version is in a table of its own. */
static void test_versions(void)
{
	uint16_t versions[] = { 0, 2 | 0x8000, 3, 1 };
	struct seen seen = { .calls = 0 };
	struct elf_file *file;
	uint32_t index;

	symbols_init(&table, true);
	symbols_add(&table, "wait", TEXT_ADDRESS, 16, STT_FUNC);
	symbols_add(&table, "wait", TEXT_ADDRESS + 16, 16, STT_FUNC);
	symbols_add(&table, "other", TEXT_ADDRESS + 32, 16, STT_FUNC);
	image_init(&image, true);
	index = image_symbols(&image, &table, SHT_DYNSYM);
	image_section(&image, ".gnu.version", SHT_GNU_versym, versions, sizeof(versions))->sh_link =
		index;
	image_finish(&image);
	file = image_open();
	symbols_each(file, 0, NULL, see, &seen);
	is_str(seen.text, "wait-=0/16 wait=10/16 other=20/16 ", "versions of dynamic symbols");
	elf_file_close(file);

	/* One that is too short for the table is not used. */
	image_init(&image, true);
	index = image_symbols(&image, &table, SHT_DYNSYM);
	image_section(&image, ".gnu.version", SHT_GNU_versym, versions, 4)->sh_link = index;
	image_finish(&image);
	file = image_open();
	seen = (struct seen){ .calls = 0 };
	symbols_each(file, 0, NULL, see, &seen);
	is_str(seen.text, "wait=0/16 wait=10/16 other=20/16 ", "a cut table of versions");
	elf_file_close(file);
}

static void are_functions(const char *name, const char *want, size_t resolvers)
{
	struct elf_file *file = image_open();
	struct functions functions;
	char text[1024] = "";

	is_i64(functions_find(&functions, file, 0, NULL, name, NULL), 0, "%s: searched", name);
	for (size_t i = 0; i < functions.n; i++)
		sprintf(text + strlen(text), "%s=%lx ", functions.all[i].name,
			functions.all[i].address - TEXT_ADDRESS);
	is_str(text, want, "%s: found", name);
	is_u64(functions.resolvers, resolvers, "%s: resolvers are left out", name);
	functions_clear(&functions);
	elf_file_close(file);
}

static void test_functions(void)
{
	symbols_init(&table, true);
	symbols_add(&table, "twice", TEXT_ADDRESS + 48, 16, STT_FUNC);
	symbols_add(&table, "twice", TEXT_ADDRESS + 16, 16, STT_FUNC);
	symbols_add(&table, "alias_a", TEXT_ADDRESS + 32, 16, STT_FUNC);
	symbols_add(&table, "alias_b", TEXT_ADDRESS + 32, 16, STT_FUNC);
	symbols_add(&table, "wait@OLD", TEXT_ADDRESS + 64, 16, STT_FUNC);
	symbols_add(&table, "wait@@NEW", TEXT_ADDRESS + 80, 16, STT_FUNC);
	symbols_add(&table, "gone@OLD", TEXT_ADDRESS + 96, 16, STT_FUNC);
	symbols_add(&table, "memcpy", TEXT_ADDRESS + 112, 16, STT_GNU_IFUNC);
	image_init(&image, true);
	image_symbols(&image, &table, SHT_SYMTAB);
	image_symbols(&image, &table, SHT_DYNSYM);
	image_finish(&image);
	are_functions("twice", "twice=10 twice=30 ", 0);
	are_functions("alias_b", "alias_b=20 ", 0);
	are_functions("alias_*", "alias_a=20 ", 0);
	are_functions("wait", "wait=50 ", 0);
	are_functions("wai*", "wait=40 wait=50 ", 0);
	are_functions("gone", "gone=60 ", 0);
	are_functions("memcpy", "", 1);
	are_functions("[mt]*", "twice=10 twice=30 ", 1);
	are_functions("wait@@NEW", "", 0);
	are_functions("wai", "", 0);
	are_functions("waits", "", 0);
}

static void test_damaged_tables(void)
{
	struct seen seen = { .calls = 0 };
	struct elf_file *file;

	symbols_init(&table, true);
	symbols_add(&table, "name", TEXT_ADDRESS, 16, STT_FUNC);
	image_init(&image, true);
	image_symbols(&image, &table, SHT_SYMTAB);
	image.sections[1].sh_entsize = 23;
	image_finish(&image);
	file = image_open();
	is_i64(symbols_each(file, 0, NULL, see, &seen), -EBADMSG, "symbols of a wrong size");
	elf_file_close(file);

	image_init(&image, true);
	image_symbols(&image, &table, SHT_SYMTAB);
	image.sections[1].sh_link = 77;
	image_finish(&image);
	file = image_open();
	is_i64(symbols_each(file, 0, NULL, see, &seen), -EBADMSG, "no such table of strings");
	elf_file_close(file);

	image_init(&image, true);
	image_symbols(&image, &table, SHT_SYMTAB);
	image.sections[2].sh_size = 3; /* cuts the name, which then has no end */
	image_finish(&image);
	file = image_open();
	is_i64(symbols_each(file, 0, NULL, see, &seen), 0, "strings without an end");
	is_str(seen.text, "na=0/16 ", "are cut");
	elf_file_close(file);

	image_init(&image, true);
	image_symbols(&image, &table, SHT_SYMTAB);
	image.sections[1].sh_flags = SHF_COMPRESSED;
	image_finish(&image);
	file = image_open();
	seen = (struct seen){ .calls = 0 };
	is_i64(symbols_each(file, 0, NULL, see, &seen), 0, "a compressed table");
	is_u64(seen.calls, 0, "is passed over");
	elf_file_close(file);
}

int main(void)
{
	test_headers(true);
	test_symbols(true);
	if (IMAGE_MACHINE_32 != EM_NONE) {
		test_headers(false);
		test_symbols(false);
	}
	test_refused();
	test_extended_numbers();
	test_versions();
	test_functions();
	test_damaged_tables();
	return done_testing();
}
