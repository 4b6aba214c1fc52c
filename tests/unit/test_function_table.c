/* SPDX-License-Identifier: Apache-2.0 */
/* Functions by address: of files made by hand, and of real ones against what nm and
 * gdb say. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/stack/function_table.h"
#include "elf_image.h"
#include "sanitized.h"
#include "tap.h"

#define ROOM (64UL << 20)
#define CODE TEXT_ADDRESS

static struct image image;
static struct image_symbols table;

static struct function_table *image_read(uint32_t type, const struct image_symbols *dynamic)
{
	struct function_table *functions = NULL;
	struct elf_file *file;
	Elf64_Shdr *text;
	int err;

	image_init(&image, true);
	text = image_section(&image, ".text", SHT_PROGBITS, "", 0);
	*text = (Elf64_Shdr){
		.sh_name = text->sh_name,
		.sh_type = SHT_PROGBITS,
		.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		.sh_addr = CODE,
		.sh_offset = TEXT_OFFSET,
		.sh_size = 0xc0,
	};
	image_symbols(&image, &table, type);
	if (dynamic)
		image_symbols(&image, dynamic, SHT_DYNSYM);
	image_finish(&image);
	if (elf_file_open_image(&file, image_copy(&image), image.size))
		abort();
	err = function_table_read(&functions, file, NULL, NULL, ROOM);
	if (err)
		printf("# the functions cannot be read: %d\n", err);
	elf_file_close(file);
	return functions;
}

static const char *name_at(const struct function_table *functions, uint64_t address)
{
	struct function function;

	return function_table_find(functions, address, &function) ? function.name : NULL;
}

static void add(const char *name, uint64_t start, uint64_t size)
{
	symbols_add(&table, name, CODE + start, size, STT_FUNC);
}

static void test_places(void)
{
	struct function_table *functions;
	struct function function;

	symbols_init(&table, true);
	add("second", 0x20, 0x10);
	add("first", 0, 0x10);
	add("outer", 0x40, 0x40);
	add("inner", 0x50, 8);
	add("label", 0x60, 0);
	add("open", 0x90, 0);
	add("after", 0xa0, 0);
	symbols_add(&table, "chosen", CODE + 0x30, 4, STT_GNU_IFUNC);
	symbols_add(&table, "data", DATA_ADDRESS, 4, STT_FUNC);
	symbols_add(&table, "object", CODE + 0x34, 4, STT_OBJECT);
	functions = image_read(SHT_SYMTAB, NULL);
	if (!functions)
		return;
	is_u64(function_table_count(functions), 8, "functions in code, and no others");
	is_str(name_at(functions, CODE - 1), NULL, "before the first");
	is_str(name_at(functions, CODE), "first", "its first byte");
	is_str(name_at(functions, CODE + 0xf), "first", "its last byte");
	is_str(name_at(functions, CODE + 0x10), NULL, "behind it");
	is_str(name_at(functions, CODE + 0x1f), NULL, "before the second");
	is_str(name_at(functions, CODE + 0x20), "second", "the second");
	is_str(name_at(functions, CODE + 0x30), "chosen", "what chooses a function is one");
	is_str(name_at(functions, CODE + 0x34), NULL, "data in code is none");
	is_str(name_at(functions, CODE + 0x4f), "outer", "around another, before it");
	is_str(name_at(functions, CODE + 0x57), "inner", "the inner one");
	is_str(name_at(functions, CODE + 0x58), "outer", "around another, behind it");
	is_str(name_at(functions, CODE + 0x60), "outer", "a label without a size in it");
	is_str(name_at(functions, CODE + 0x7f), "outer", "its last byte");
	is_str(name_at(functions, CODE + 0x80), NULL, "behind it");
	is_str(name_at(functions, CODE + 0x9f), "open", "without a size: up to the next");
	is_str(name_at(functions, CODE + 0xbf), "after", "up to the end of the section");
	is_str(name_at(functions, CODE + 0xc0), NULL, "no farther");
	is_str(name_at(functions, 0), NULL, "address 0");
	is_str(name_at(functions, UINT64_MAX), NULL, "the last address");
	ok(function_table_find(functions, CODE + 0x57, &function) &&
		   function.start == CODE + 0x50 && function.number < 8,
	   "where it begins");
	function_table_free(functions);
}

static void test_names(void)
{
	static const struct {
		const char *names[4], *want;
	} cases[] = {
		{ { "__GI___poll", "__poll", "poll", "__libc_poll" }, "poll" },
		{ { "poll", "__poll", "__GI___poll" }, "poll" },
		{ { "__GI___lll_lock_wait", "__lll_lock_wait" }, "__lll_lock_wait" },
		{ { "read@@GLIBC_2.2.5", "__read" }, "read" },
		{ { "b_name", "a_name" }, "a_name" },
		{ { "old@GLIBC_2.2.5", "__older_compat" }, "old" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct function_table *functions;

		symbols_init(&table, true);
		for (size_t j = 0; j < 4 && cases[i].names[j]; j++)
			add(cases[i].names[j], 0x10, 0x10);
		functions = image_read(i % 2 ? SHT_SYMTAB : SHT_DYNSYM, NULL);
		if (!functions)
			return;
		is_u64(function_table_count(functions), 1, "%zu: one function", i);
		is_str(name_at(functions, CODE + 0x18), cases[i].want, "%zu: its best name", i);
		function_table_free(functions);
	}
}

static void test_aliases(void)
{
	static struct image_symbols dynamic;
	struct function_table *functions;
	Elf64_Sym *entry;

	symbols_init(&table, true);
	add("local", 0, 0x10);
	entry = (Elf64_Sym *)(table.entries + sizeof(*entry));
	entry->st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
	add("__global", 0, 0x10);
	add("unsized", 0, 0);
	add("__large", 0x20, 0x20);
	add("small", 0x20, 0x10);
	symbols_init(&dynamic, true);
	symbols_add(&dynamic, "__global", CODE, 0x10, STT_FUNC);
	symbols_add(&dynamic, "small", CODE + 0x20, 0x10, STT_FUNC);
	functions = image_read(SHT_SYMTAB, &dynamic);
	if (!functions)
		return;
	is_u64(function_table_count(functions), 3, "what both tables have counts once");
	is_str(name_at(functions, CODE), "__global", "what others can use before what is local");
	is_str(name_at(functions, CODE + 0x2f), "small", "the smaller of two");
	is_str(name_at(functions, CODE + 0x30), "__large", "where only the larger is");
	is_u64(function_table_size(functions),
	       3 * 16 + sizeof("__global") + sizeof("small") + sizeof("__large"),
	       "no more than what is needed is kept");
	function_table_free(functions);
}

static void test_room(void)
{
	struct function_table *functions;
	struct elf_file *file;
	int err;

	symbols_init(&table, true);
	add("function", 0, 0x10);
	function_table_free(image_read(SHT_SYMTAB, NULL));
	if (elf_file_open_image(&file, image_copy(&image), image.size))
		abort();
	is_i64(function_table_read(&functions, file, NULL, NULL, 24), -E2BIG, "no room");
	err = function_table_read(&functions, file, NULL, NULL, 25);
	is_i64(err, 0, "just enough");
	if (!err)
		function_table_free(functions);
	elf_file_close(file);
	symbols_init(&table, true);
	functions = image_read(SHT_SYMTAB, NULL);
	is_str(functions ? name_at(functions, CODE) : "failed", NULL, "no functions");
	function_table_free(functions);
	function_table_free(NULL);
}

/* One line of a table of symbols: "address size type name[@version]". */
struct line {
	uint64_t address, size;
	char type;
	char name[512];
};

static bool line_read(FILE *from, struct line *line)
{
	char text[8192];

	while (fgets(text, sizeof(text), from)) {
		if (sscanf(text, "%lx %lx %c %511s", &line->address, &line->size, &line->type,
			   line->name) == 4 &&
		    strchr("tTwWiI", line->type)) {
			line->name[strcspn(line->name, "@")] = '\0';
			return true;
		}
	}
	return false;
}

/* Every function that nm has is found at its first and its last byte: under a name
 * that nm has for that address, or as one that begins later within it. */
static void test_against_nm(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	unsigned long lines = 0, same = 0, later = 0, wrong = 0;
	struct function_table *functions;
	struct function function;
	struct elf_file *file;
	struct line line;
	char command[512];
	FILE *nm;

	if (fd < 0) {
		ok(true, "%s # SKIP it is not here", path);
		return;
	}
	snprintf(command, sizeof(command), "{ nm -DS %s; nm -S %s; } 2>/dev/null", path, path);
	nm = popen(command, "r");
	if (!nm || elf_file_open(&file, fd) ||
	    function_table_read(&functions, file, NULL, NULL, ROOM))
		abort();
	while (line_read(nm, &line)) {
		bool found = function_table_find(functions, line.address, &function);
		uint64_t start = function.start;

		lines++;
		found = found && start == line.address &&
			function_table_find(functions, line.address + line.size - 1, &function);
		if (!found || function.start < line.address)
			wrong++;
		else if (function.start > line.address)
			later++;
		else
			same += strcmp(function.name, line.name) == 0;
		if (!found)
			printf("# %s at %lx is not found\n", line.name, line.address);
	}
	pclose(nm);
	printf("# %s: %lu functions, %lu named the same, %lu end in another\n", path, lines, same,
	       later);
	ok(!wrong && (lines || !function_table_count(functions)), "%s: all functions of nm", path);
	ok(same >= lines / 4 && later <= lines / 50, "%s: under their names", path);
	function_table_free(functions);
	elf_file_close(file);
	close(fd);
}

static int system_open(void *context, struct elf_file **debug, int *fd, const struct elf_file *file)
{
	return debug_file_open(debug, fd, file, 0, context);
}

/* What gdb calls addresses all over a file. It knows data and labels, too, and where
 * two names are as good it may have the other: the most must be equal. */
static void test_against_gdb(char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char commands[] = "/tmp/test_function_table.XXXXXX", command[512], text[8192];
	int out = mkstemp(commands);
	unsigned long asked = 0, same = 0, start_same = 0;
	struct function_table *functions;
	struct function function;
	struct elf_file *file;
	uint64_t start, end;
	FILE *gdb;

	if (fd < 0 || system("gdb --version >/dev/null 2>&1") != 0) {
		ok(true, "%s # SKIP it is not here, or no gdb", path);
		goto out;
	}
	if (out < 0 || elf_file_open(&file, fd) ||
	    function_table_read(&functions, file, system_open, path, ROOM) ||
	    !elf_file_code(file, &start, &end))
		abort();
	dprintf(out, "set print demangle off\n");
	for (uint64_t at = start; at < end; at += (end - start) / 2000 + 1) {
		if (function_table_find(functions, at, &function))
			dprintf(out, "info symbol 0x%lx\n", at);
	}
	snprintf(command, sizeof(command), "gdb -nx -batch -x %s %s 2>/dev/null", commands, path);
	gdb = popen(command, "r");
	for (uint64_t at = start; gdb && at < end; at += (end - start) / 2000 + 1) {
		unsigned long offset = 0;
		char name[4096];

		if (!function_table_find(functions, at, &function))
			continue;
		do {
			if (!fgets(text, sizeof(text), gdb))
				*text = '\0';
		} while (*text && !strstr(text, "in section") && !strstr(text, "No symbol"));
		asked++;
		if (sscanf(text, "%4095s + %lu", name, &offset) < 1)
			continue;
		start_same += at - offset == function.start;
		if (!strcmp(name, function.name))
			same++;
		else if (asked - same < 10)
			printf("# %lx: %s+%lu, gdb: %s", at, function.name, at - function.start,
			       text);
	}
	printf("# %s: %lu addresses, %lu of the same start, %lu of the same name\n", path, asked,
	       start_same, same);
	ok(asked > 100 && start_same * 100 >= asked * 98, "%s: where gdb has them begin", path);
	ok(same * 100 >= asked * 95, "%s: as gdb calls them", path);
	if (gdb)
		pclose(gdb);
	function_table_free(functions);
	elf_file_close(file);
out:
	if (fd >= 0)
		close(fd);
	close(out);
	unlink(commands);
}

int main(int argc, char **argv)
{
	static const char *const paths[] = {
		"/lib/x86_64-linux-gnu/libc.so.6",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/sbin/ovs-vswitchd",
		"/usr/bin/redis-server",
		"/usr/bin/python3.11",
	};
	char libc[] = "/lib/x86_64-linux-gnu/libc.so.6", own[] = "/proc/self/exe", self[256];
	ssize_t length = readlink(own, self, sizeof(self) - 1);

	test_places();
	test_names();
	test_aliases();
	test_room();
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		test_against_nm(paths[i]);
	self[length < 0 ? 0 : length] = '\0';
	test_against_nm(self);
	test_against_gdb(libc);
	/* gdb takes any label of a sanitizer's for a function. */
	if (!SANITIZED)
		test_against_gdb(self);
	for (int i = 1; i < argc; i++)
		test_against_gdb(argv[i]);
	return done_testing();
}
