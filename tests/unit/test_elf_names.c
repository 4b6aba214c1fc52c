/* SPDX-License-Identifier: Apache-2.0 */
/* What is at an address: variables and memory of a process, functions of Go by its own table;
 * and mangled names. Of files made by hand and of real ones, and of some made to deceive. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <libgen.h>
#include <sys/mman.h>
#include <unistd.h>

#include "probes/elf/data.h"
#include "probes/elf/functions.h"
#include "probes/elf/go_table.h"
#include "probes/elf/symbols.h"
#include "elf_fuzz.h"
#include "elf_image.h"
#include "tap.h"

#define PAGE 4096UL
#define DAMAGED_DATA 300
#define DAMAGED_GO 1500

static struct image image;

/* --- Variables --- */

static struct {
	char before[24];
	int word;
} with_value = { .word = 1 };
int visible_value = 2;
static char zeros[3 * PAGE];

static struct data_location location_of(const volatile void *address)
{
	struct data_query query = { .address = (uintptr_t)address };

	need(!data_find(getpid(), &query, 1));
	return query.location;
}

/* Compares what is not NULL or UINT64_MAX. */
static void is_place(struct data_location location, const char *symbol, uint64_t offset,
		     const char *object, const char *what)
{
	char got[1024], want[1024];

	snprintf(got, sizeof(got), "%s+%lu in %s", location.symbol, location.offset,
		 location.object);
	snprintf(want, sizeof(want), "%s+%lu in %s", symbol ? symbol : location.symbol,
		 offset == UINT64_MAX ? location.offset : offset,
		 object ? object : location.object);
	is_str(got, want, "%s", what);
}

TEST(own_data)
{
	const void *address = dlsym(RTLD_DEFAULT, "program_invocation_name");
	struct data_location location = location_of(address);
	char path[4096] = "";
	const char *own;

	need(readlink("/proc/self/exe", path, sizeof(path) - 1) >= 0);
	own = basename(path);
	zeros[0] = 1;
	is_place(location_of(&with_value.word), "with_value", 24, own, "a member of a variable");
	is_place(location_of(&visible_value), "visible_value", 0, own, "a variable");
	is_place(location_of(&zeros[2 * PAGE + 5]), "zeros", 2 * PAGE + 5, own,
		 "one of which the file has nothing");
	ok(*location.symbol && dlsym(RTLD_DEFAULT, location.symbol) == address, "of a library: %s",
	   location.symbol);
	ok(!strncmp(location.object, "libc", 4), "which one: %s", location.object);
}

TEST(memory)
{
	int fd = memfd_create("shared", 0), local;
	char *mapped, *heap = sbrk(PAGE);

	is_place(location_of(heap), NULL, UINT64_MAX, "[heap]", "the heap");
	is_place(location_of(&local), NULL, UINT64_MAX, "[stack]", "the first thread's stack");
	need(fd >= 0 && !ftruncate(fd, 3 * PAGE));
	mapped = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 2 * PAGE);
	need(mapped != MAP_FAILED);
	is_place(location_of(mapped + 7), NULL, 2 * PAGE + 7, "memfd:shared",
		 "memory that is shared");
	munmap(mapped, PAGE);
	close(fd);
	is_place(location_of(mapped + 7), NULL, UINT64_MAX, "", "what is not mapped");
	is_place(location_of(NULL), NULL, UINT64_MAX, "", "nothing");
	mapped = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	is_place(location_of(mapped + 32 * PAGE), NULL, UINT64_MAX, "", "memory without a name");
	munmap(mapped, 64 * PAGE);
}

TEST(multiple)
{
	struct data_query queries[4] = { { .address = (uintptr_t)&zeros[9] },
					 { .address = 1 },
					 { .address = (uintptr_t)&with_value },
					 { .address = UINT64_MAX } };
	bool sorted = true;

	is_i64(data_find(getpid(), queries, 4), 0, "several");
	for (size_t i = 0; i < 4; i++) {
		uint64_t address = queries[i].address;

		sorted = sorted && (!i || queries[i - 1].address <= address);
		is_place(queries[i].location,
			 address == (uintptr_t)&zeros[9]     ? "zeros"
			 : address == (uintptr_t)&with_value ? "with_value"
							     : "",
			 UINT64_MAX, NULL, "each has its own");
	}
	ok(sorted, "they are sorted");
	is_i64(data_find(INT32_MAX, queries, 4), -ESRCH, "of no process");
	is_i64(data_find(getpid(), NULL, 0), 0, "no addresses");
}

/* Maps the file as the kernel maps a program, and asks for what is in it. */
static struct data_location image_place(const void *bytes, size_t size, uint64_t address)
{
	const uint64_t text = TEXT_ADDRESS & ~(PAGE - 1), data = DATA_ADDRESS & ~(PAGE - 1);
	int fd = memfd_create("image", 0);
	struct data_location location;
	char *code;

	need(fd >= 0 && write(fd, bytes, size) == (ssize_t)size && !ftruncate(fd, 4 * PAGE));
	code = mmap(NULL, 512 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(code != MAP_FAILED &&
	     mmap(code, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0) == code &&
	     mmap(code + data - text, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd,
		  0) == code + data - text);
	close(fd);
	location = location_of(code + address - text);
	munmap(code, 512 * PAGE);
	return location;
}

TEST(made_data)
{
	static const struct {
		const char *what, *symbol, *object;
		uint64_t at, offset;
	} cases[] = {
		{ "the smallest variable", "part", NULL, 20, 4 },
		{ "the one around it", "whole", NULL, 40, 40 },
		{ "between variables: the address in the file", "", NULL, 88, DATA_ADDRESS + 88 },
		{ "behind all segments", NULL, "", 2 * DATA_SIZE, UINT64_MAX },
	};
	static struct image_symbols table;
	struct data_location location;
	char name[300];
	unsigned long found = 0;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	symbols_init(&table, true);
	symbols_add(&table, "whole", DATA_ADDRESS, 64, STT_OBJECT);
	symbols_add(&table, "part", DATA_ADDRESS + 16, 8, STT_OBJECT);
	symbols_add(&table, "function", DATA_ADDRESS + 16, 4, STT_FUNC);
	symbols_add(&table, "empty", DATA_ADDRESS + 80, 0, STT_OBJECT);
	symbols_add(&table, name, DATA_ADDRESS + 96, 8, STT_OBJECT);
	symbols_add(&table, "endless", DATA_ADDRESS + 128, UINT64_MAX, STT_OBJECT);
	symbols_add_at(&table, symbols_add(&table, "wanted", 0, 0, STT_OBJECT), DATA_ADDRESS + 88,
		       4, STT_OBJECT, SHN_UNDEF);
	image_init(&image, true);
	image_symbols(&image, &table, SHT_SYMTAB);
	image_finish(&image);
	for (size_t i = 0; i < COUNT(cases); i++)
		is_place(image_place(image.bytes, image.size, DATA_ADDRESS + cases[i].at),
			 cases[i].symbol, cases[i].offset, cases[i].object, cases[i].what);
	location = image_place(image.bytes, image.size, DATA_ADDRESS + 100);
	ok(strlen(location.symbol) == DATA_SYMBOL_LEN - 1 &&
		   !strcmp(location.symbol + DATA_SYMBOL_LEN - 4, "..."),
	   "a long name is cut, and says so: %s", location.symbol);
	for (unsigned int round = 0; round < DAMAGED_DATA; round++) {
		size_t size = image.size;
		uint8_t *bytes = image_copy(&image);

		mutate(bytes, &size, &image);
		found += *image_place(bytes, size, DATA_ADDRESS + 20).symbol != 0;
		free(bytes);
	}
	ok(found > 0 && found < DAMAGED_DATA, "damaged files: %lu of %d still have it", found,
	   DAMAGED_DATA);
}

/* --- Functions of Go --- */

#define SIZE 0x20 /* of each */
#define TABLE 2048

static const char *const go_names[] = {
	"main.main", "main.(*T[go.shape.int]).f", "runtime.goexit", "runtime.systemstack", "top",
	"writes",
};

#define FUNCTIONS COUNT(go_names)

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

static void go_table_make(struct table *table, enum version version)
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
		memcpy(table->bytes + table->size, go_names[i], strlen(go_names[i]) + 1);
		table->size += strlen(go_names[i]) + 1;
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

static struct elf_file *go_file(const struct table *table, const char *section)
{
	image_init(&image, true);
	image_section(&image, section, SHT_PROGBITS, table->bytes, table->size);
	image_finish(&image);
	return image_open(&image);
}

static void go_check(enum version version)
{
	struct elf_file *file;
	struct go_table *go = NULL;
	struct go_function function;
	unsigned int wrong = 0;
	struct table table;

	go_table_make(&table, version);
	file = go_file(&table, version == GO_1_18 ? ".data.rel.ro.gopclntab" : ".gopclntab");
	is_i64(go_table_open(&go, file), 0, "version %d: there is a table", (int)version);
	is_u64(go_table_count(go), FUNCTIONS, "of so many functions");
	for (uint32_t i = 0; i < FUNCTIONS * SIZE; i++) {
		uint32_t n = i / SIZE, into = i % SIZE, size, steps;

		wrong += go_table_find(go, TEXT_ADDRESS + i, &function) != 0 ||
			 strcmp(function.name, go_names[n]) != 0 ||
			 function.start != TEXT_ADDRESS + n * SIZE ||
			 function.end != function.start + SIZE ||
			 function.outermost != (n == 2 || n == 4) ||
			 function.switches != (n == 3 || n == 5) ||
			 go_table_frame(go, &function, TEXT_ADDRESS + i, &size, &steps) != 0 ||
			 size != (into >= 4 && into < 0x1c ? 8 * n + 8 : 0);
	}
	is_u64(wrong, 0, "all addresses are in their functions, with their frames");
	ok(go_table_find(go, TEXT_ADDRESS - 1, &function) == -ENOENT &&
		   go_table_find(go, TEXT_ADDRESS + FUNCTIONS * SIZE, &function) == -ENOENT,
	   "none are before or behind them");
	go_table_close(go);
	elf_file_close(file);
}

static int symbol_count(void *context, const struct symbol *symbol)
{
	*(unsigned int *)context += strlen(symbol->name) > 0;
	return 0;
}

/* Whatever is in it, reading ends and stays within the file. */
TEST(damaged_go)
{
	unsigned int opened = 0, found = 0;

	for (unsigned long round = 0; round < fuzz_rounds(DAMAGED_GO); round++) {
		struct go_table *go = NULL;
		struct go_function function;
		struct elf_file *file;
		struct table table;
		uint32_t size, steps;

		go_table_make(&table, (enum version)chance(VERSIONS));
		for (uint64_t i = chance(6); i < 6; i++)
			table.bytes[chance(2) ? chance(table.size) : 8 + chance(64)] =
				(uint8_t)(chance(2) ? chance(256) : 0xff * chance(2));
		file = go_file(&table, ".gopclntab");
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
			symbols_each(file, 0, NULL, symbol_count, &found);
		elf_file_close(file);
	}
	ok(opened && found, "%u damaged tables are read", opened);
	go_table_close(NULL);
}

/* --- Mangled names --- */

static void demangled_is(const char *name, const char *want)
{
	char *text = demangle(name);

	is_str(text, want, "%.60s", name);
	free(text);
}

TEST(names)
{
	static const char *const cases[][2] = {
		{ "main" },
		{ "" },
		{ "_" },
		{ "_Z" },
		{ "_Zfoo" },
		{ "_R" },
		{ "_Z3foov", "foo()" },
		{ "_ZNK3foo3barEPKc", "foo::bar(char const*) const" },
		{ "_Z3fooi.cold", "foo(int) [clone .cold]" },
		{ "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
		  "core::fmt::Write::write_fmt" },
		{ "_RNvC6_123foo3bar", "123foo::bar" },
		{ "_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar" },
	};
	static char deep[200000];
	char name[1024], *at = name, *text;

	for (size_t i = 0; i < COUNT(cases); i++)
		demangled_is(cases[i][0], cases[i][1]);
	/* A type of which each part is said twice: 2 to the power of depth words. */
	at = name + sprintf(name, "_Z1f1AIiiE");
	for (unsigned int i = 0; i < 30; i++) {
		char reference[8] = "S_";

		if (i)
			snprintf(reference, sizeof(reference), "S%c_",
				 "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i - 1]);
		at += sprintf(at, "S_I%s%sE", i ? reference : "i", i ? reference : "i");
	}
	text = demangle(name);
	ok(text && strlen(text) == DEMANGLED_MAX && !strcmp(text + DEMANGLED_MAX - 3, "..."),
	   "one that doubles 30 times is cut off, visibly");
	free(text);
	memset(deep, 'P', sizeof(deep) - 1);
	memcpy(deep, "_Z1f", 4);
	strcpy(deep + sizeof(deep) - 10, "i");
	demangled_is(deep, NULL);
	strcpy(deep + 900, "i");
	free(demangle(deep)); /* as deep as libiberty goes */
}

TEST(against_filt)
{
	const char *path = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6";
	unsigned long names = 0, same = 0;
	char command[512], line[20000];
	FILE *filt;

	snprintf(command, sizeof(command),
		 "nm -D --defined-only %s 2>/dev/null | awk '$2 ~ /[TWi]/ {sub(/@.*/, \"\", $3); "
		 "print $3}' | sort -u >/tmp/test_demangle.$$; c++filt -i </tmp/test_demangle.$$ | "
		 "paste /tmp/test_demangle.$$ -; rm /tmp/test_demangle.$$",
		 path);
	filt = popen(command, "r");
	while (filt && fgets(line, sizeof(line), filt)) {
		char *want = strchr(line, '\t'), *text;

		if (!want)
			continue;
		*want++ = '\0';
		want[strcspn(want, "\n")] = '\0';
		text = demangle(line);
		if (!strcmp(text ? text : line, want))
			same++;
		else if (names - same < 5)
			printf("# %s\n#  got: %s\n# want: %s\n", line, text ? text : "NULL", want);
		names++;
		free(text);
	}
	if (filt)
		pclose(filt);
	if (!names)
		skip("it is not here", "%s", path);
	else
		ok(names > 1000 && same == names, "%lu of %lu names as c++filt has them", same,
		   names);
}

TEST(go)
{
	struct table zeros_alone = { .size = TABLE };
	struct elf_file *file = go_file(&zeros_alone, ".gopclntab");
	struct go_table *go;

	is_i64(go_table_open(&go, file), -ENOENT, "zeros are no table");
	elf_file_close(file);
	for (enum version version = 0; version < VERSIONS; version++)
		go_check(version);
}

/* Those of Rust also without what the compiler writes into them. */
TEST(written_functions)
{
	static const struct {
		const char *name, *want;
	} cases[] = {
		{ "g::pool::work", "10 20 " },
		{ "g::pool::work::<u8>", "20 " },
		{ "g::pool::work::<u16>", "" },
		{ "g::pool::Queue::push", "30 40 70 " },
		{ "<g::pool::Queue<u32>>::push", "40 " },
		{ "g::pool::A::step", "50 " },
		{ "g::pool::A::step::step", "" },
		{ "<g::pool::A as g::pool::Step>::step", "50 " },
		{ "g::pool::plain", "60 " }, /* not that of <T> */
		{ "ns::Foo<int>::bar", "90 " },
		{ "ns::Foo::bar", "" },
	};
	static const char *const symbols[] = {
		"_RINvNtCshhNdl82Kjmm_1g4pool4workReEB4_",
		"_RINvNtCshhNdl82Kjmm_1g4pool4workhEB4_",
		("_RNvMNtCshhNdl82Kjmm_1g4poolINtB2_5QueueNtNtCslNYArtu3iFV_5alloc6string6"
		 "StringE4pushB4_"),
		"_RNvMNtCshhNdl82Kjmm_1g4poolINtB2_5QueuemE4pushB4_",
		"_RNvXs_NtCshhNdl82Kjmm_1g4poolNtB4_1ANtB4_4Step4step",
		"_RNvNtCshhNdl82Kjmm_1g4pool5plain",
		"_ZN1g4pool14Queue$LT$T$GT$4push17h071fd3952af6b675E",
		"_RINvNtCshhNdl82Kjmm_1g4pool5plainhEB4_",
		"_ZN2ns3FooIiE3barEi",
	};
	static struct image_symbols table;
	struct elf_file *file;

	symbols_init(&table, true);
	for (size_t i = 0; i < COUNT(symbols); i++)
		symbols_add(&table, symbols[i], TEXT_ADDRESS + 16 * (i + 1), 16, STT_FUNC);
	image_init(&image, true);
	image_symbols(&image, &table, SHT_SYMTAB);
	image_finish(&image);
	file = image_open(&image);
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct functions functions;
		char text[1024] = "";

		need(!functions_find(&functions, file, 0, NULL, cases[i].name, NULL));
		for (size_t j = 0; j < functions.n; j++)
			sprintf(text + strlen(text), "%lx ",
				functions.all[j].address - TEXT_ADDRESS);
		is_str(text, cases[i].want, "functions written %s", cases[i].name);
		functions_clear(&functions);
	}
	elf_file_close(file);
}
