/* SPDX-License-Identifier: Apache-2.0 */
/* Names of addresses: of this process, whose functions the linker and the dynamic loader know; of
 * real files against nm; and of files made by hand, whose symbols may lie elsewhere. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/stack/resolver.h"
#include "probes/elf/functions.h"
#include "elf_image.h"
#include "self_mapped.h"
#include "tap.h"

#define HUGE_FILE (1UL << 40)
#define MANY_STRINGS (20UL << 20)

static struct image image, inner;
static struct image_symbols table;

static int no_open(void *context, uint32_t object, const char *path)
{
	(void)context;
	(void)object;
	(void)path;
	return -ENOENT;
}

/* What was asked for, and what is handed out at which path. */
static struct {
	char paths[1024];
	const char *have;
	unsigned int wanted;
} wanted;

static int ask_open(void *context, uint32_t object, const char *path)
{
	need(context == &wanted && object == 0);
	wanted.wanted++;
	strncat(wanted.paths, path, sizeof(wanted.paths) - strlen(wanted.paths) - 2);
	strcat(wanted.paths, " ");
	return wanted.have && !strcmp(path, wanted.have) ? bytes_fd(inner.bytes, inner.size)
							 : -ENOENT;
}

#define MAPPED 0x70000000UL
#define CODE (MAPPED + TEXT_OFFSET)

/* A resolver of one object, which is mapped whole. */
static struct resolver *resolver_of(resolver_open *open_debug, int fd, const char *path)
{
	const struct mapping mapping = { MAPPED, MAPPED + (1UL << 32), 0, 0 };
	struct resolver *resolver = resolver_new(open_debug, &wanted);

	need(resolver && !resolver_add_object(resolver, 0, fd, path) &&
	     !resolver_set_mappings(resolver, 0, &mapping, 1));
	return resolver;
}

static struct resolver *resolver_of_image(const char *path)
{
	return resolver_of(ask_open, bytes_fd(image.bytes, image.size), path);
}

static const char *name_of(struct resolver *resolver, uint64_t ip, bool exact, uint64_t *offset)
{
	static struct frame frame;

	resolver_name(resolver, SELF_MAPPED_AT, ip, exact, &frame);
	*offset = frame.offset;
	return frame.function;
}

static __attribute__((noinline, aligned(32))) int a_function_of_its_own(int n)
{
	return n * 7 + getpid();
}

TEST(self)
{
	uint64_t own = (uint64_t)&a_function_of_its_own, offset = 0;
	struct resolver *resolver = resolver_new(no_open, NULL);
	struct frame frame;
	char path[512] = "";

	if (!resolver || a_function_of_its_own(1) < 0)
		return;
	self_add(resolver);
	need(readlink("/proc/self/exe", path, sizeof(path) - 1) >= 0);
	is_str(name_of(resolver, own, true, &offset), "a_function_of_its_own", "a static function");
	is_u64(offset, 0, "its start");
	is_str(name_of(resolver, own + 5, false, &offset), "a_function_of_its_own", "a caller");
	is_u64(offset, 5, "its offset is that of the return address");
	is_str(name_of(resolver, own + 1, false, &offset), "a_function_of_its_own",
	       "the call before");
	ok(name_of(resolver, own, false, &offset) != NULL || offset,
	   "a return to where a function begins");
	resolver_name(resolver, SELF_MAPPED_AT, own, false, &frame);
	ok(!frame.function || strcmp(frame.function, "a_function_of_its_own") != 0,
	   "is from the function before it");
	resolver_name(resolver, SELF_MAPPED_AT, own, true, &frame);
	is_str(frame.object, path, "the object");
	resolver_name(resolver, SELF_MAPPED_AT, 0x10, true, &frame);
	ok(!frame.function && !frame.object && !frame.build_id && frame.offset == 0x10,
	   "an address where nothing is");
	resolver_name(resolver, SELF_MAPPED_AT, 0, false, &frame);
	ok(!frame.function && !frame.object && frame.offset == 0, "address 0");
	resolver_name(resolver, 0, own, true, &frame);
	is_str(frame.function, "a_function_of_its_own", "before the first mappings");
	resolver_free(resolver);
	resolver_free(NULL);
}

/* dladdr() knows the dynamic symbols. The vdso is asked for by its auxiliary vector. */
TEST(against_loader)
{
	void *functions[] = { dlsym(RTLD_DEFAULT, "qsort"),   dlsym(RTLD_DEFAULT, "getpid"),
			      dlsym(RTLD_DEFAULT, "printf"),  dlsym(RTLD_DEFAULT, "lzma_crc32"),
			      dlsym(RTLD_DEFAULT, "fprintf"), dlsym(RTLD_DEFAULT, "abort") };
	struct resolver *resolver = resolver_new(no_open, NULL);
	unsigned long vdso = getauxval(AT_SYSINFO_EHDR);
	struct frame frame;
	unsigned int named = 0;
	bool symbolic = false;

	if (!resolver)
		return;
	self_add(resolver);
	for (size_t i = 0; i < COUNT(functions); i++) {
		Dl_info info;

		/* Sanitizers put functions of their own in place of some. */
		if (!functions[i] || !dladdr(functions[i], &info) || !info.dli_sname)
			continue;
		resolver_name(resolver, SELF_MAPPED_AT, (uint64_t)functions[i], true, &frame);
		named++;
		ok(frame.function && !frame.offset &&
			   (dlsym(RTLD_DEFAULT, frame.function) == functions[i] ||
			    !strcmp(info.dli_sname, frame.function)),
		   "%s is called %s", info.dli_sname, frame.function ? frame.function : "NULL");
	}
	ok(named >= 3, "functions of libraries");
	for (uint64_t at = vdso; vdso && at < vdso + 8192; at += 16) {
		resolver_name(resolver, SELF_MAPPED_AT, at, true, &frame);
		symbolic = symbolic || (frame.function && strstr(frame.function, "clock_gettime"));
	}
	ok(symbolic || !vdso, "a function of the vdso");
	resolver_name(resolver, SELF_MAPPED_AT, vdso, true, &frame);
	is_str(vdso ? frame.object : "[vdso]", "[vdso]", "its object");
	resolver_free(resolver);
}

static void build_id_add(struct image *to, uint8_t last)
{
	const uint8_t id[] = { 0xab, 0xcd, 0xef, last };
	struct image_notes notes = { .is_64 = true };

	notes_add(&notes, "GNU", NT_GNU_BUILD_ID, id, sizeof(id));
	image_section(to, ".note.gnu.build-id", SHT_NOTE, notes.bytes, notes.size);
}

static void inner_make(const char *function, bool with_id)
{
	symbols_init(&table, true);
	symbols_add(&table, function, TEXT_ADDRESS + 8, 16, STT_FUNC);
	image_init(&inner, true);
	if (with_id)
		build_id_add(&inner, 1);
	image_symbols(&inner, &table, SHT_SYMTAB);
	image_finish(&inner);
}

/* --- Functions by address --- */

static void add(const char *name, uint64_t start, uint64_t size)
{
	symbols_add(&table, name, TEXT_ADDRESS + start, size, STT_FUNC);
}

/* Of the table's symbols, and those of a second table. */
static struct resolver *functions_of(uint32_t type, const struct image_symbols *dynamic)
{
	Elf64_Shdr *text;

	image_init(&image, true);
	text = image_section(&image, ".text", SHT_PROGBITS, "", 0);
	text->sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	text->sh_addr = TEXT_ADDRESS;
	text->sh_offset = TEXT_OFFSET;
	text->sh_size = 0xc0;
	image_symbols(&image, &table, type);
	if (dynamic)
		image_symbols(&image, dynamic, SHT_DYNSYM);
	image_finish(&image);
	return resolver_of_image("/file");
}

/* The same, of strings that are more than are kept while names are compared. */
static struct resolver *functions_of_many(uint32_t type)
{
	const Elf64_Ehdr *header = (Elf64_Ehdr *)image.bytes;
	Elf64_Shdr *sections;
	int fd;

	resolver_free(functions_of(type, NULL));
	sections = (Elf64_Shdr *)(image.bytes + header->e_shoff);
	for (unsigned int i = 1; i < header->e_shnum - 1U; i++)
		if (sections[i].sh_type == SHT_STRTAB)
			sections[i].sh_size = MANY_STRINGS;
	fd = bytes_fd(image.bytes, image.size);
	need(!ftruncate(fd, (off_t)(image.size + MANY_STRINGS)));
	return resolver_of(no_open, fd, "/many");
}

static const char *name_at(struct resolver *resolver, uint64_t at, uint64_t *offset)
{
	static struct frame frame;

	resolver_name(resolver, 0, CODE + at, true, &frame);
	*offset = frame.offset;
	return frame.function;
}

static void is_at(struct resolver *resolver, uint64_t at, const char *want, const char *what)
{
	uint64_t offset;

	is_str(name_at(resolver, at, &offset), want, "%s", what);
}

TEST(locations)
{
	static const struct {
		uint64_t at;
		const char *want, *what;
	} cases[] = {
		{ -1UL, NULL, "before the first" },
		{ 0, "first", "its first byte" },
		{ 0xf, "first", "its last byte" },
		{ 0x10, NULL, "behind it" },
		{ 0x1f, NULL, "before the second" },
		{ 0x20, "second", "the second" },
		{ 0x30, "chosen", "what chooses a function is one" },
		{ 0x34, NULL, "data in code is none" },
		{ 0x4f, "outer", "around another, before it" },
		{ 0x57, "inner", "the inner one" },
		{ 0x58, "outer", "around another, behind it" },
		{ 0x60, "outer", "a label without a size in it" },
		{ 0x7f, "outer", "its last byte" },
		{ 0x80, NULL, "behind it" },
		{ 0x9f, "open", "without a size: up to the next" },
		{ 0xbf, "after", "up to the end of the section" },
		{ 0xc0, NULL, "no farther" },
	};
	struct resolver *resolver;
	uint64_t offset;

	symbols_init(&table, true);
	add("second", 0x20, 0x10);
	add("first", 0, 0x10);
	add("outer", 0x40, 0x40);
	add("inner", 0x50, 8);
	add("label", 0x60, 0);
	add("open", 0x90, 0);
	add("after", 0xa0, 0);
	symbols_add(&table, "chosen", TEXT_ADDRESS + 0x30, 4, STT_GNU_IFUNC);
	symbols_add(&table, "data", DATA_ADDRESS, 4, STT_FUNC);
	symbols_add(&table, "object", TEXT_ADDRESS + 0x34, 4, STT_OBJECT);
	resolver = functions_of(SHT_SYMTAB, NULL);
	for (size_t i = 0; i < COUNT(cases); i++)
		is_at(resolver, cases[i].at, cases[i].want, cases[i].what);
	ok(name_at(resolver, 0x57, &offset) && offset == 7, "where it begins");
	resolver_free(resolver);
}

TEST(aliases)
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
	static struct image_symbols dynamic;
	struct resolver *resolver;
	Elf64_Sym *entry;

	for (size_t i = 0; i < COUNT(cases); i++) {
		symbols_init(&table, true);
		for (size_t j = 0; j < 4 && cases[i].names[j]; j++)
			add(cases[i].names[j], 0x10, 0x10);
		resolver = functions_of(i % 2 ? SHT_SYMTAB : SHT_DYNSYM, NULL);
		is_at(resolver, 0x18, cases[i].want, "the best name");
		resolver_free(resolver);
		resolver = functions_of_many(i % 2 ? SHT_SYMTAB : SHT_DYNSYM);
		is_at(resolver, 0x18, cases[i].want, "the best name of many");
		resolver_free(resolver);
	}
	symbols_init(&table, true);
	add("local", 0, 0x10);
	entry = (Elf64_Sym *)(table.entries + sizeof(*entry));
	entry->st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
	add("__global", 0, 0x10);
	add("unsized", 0, 0);
	add("__large", 0x20, 0x20);
	add("small", 0x20, 0x10);
	symbols_init(&dynamic, true);
	symbols_add(&dynamic, "__global", TEXT_ADDRESS, 0x10, STT_FUNC);
	symbols_add(&dynamic, "small", TEXT_ADDRESS + 0x20, 0x10, STT_FUNC);
	resolver = functions_of(SHT_SYMTAB, &dynamic);
	is_at(resolver, 0, "__global", "what others can use before what is local");
	is_at(resolver, 0x2f, "small", "the smaller of two");
	is_at(resolver, 0x30, "__large", "where only the larger is");
	resolver_free(resolver);
}

/* All that both tables have must find room; what both have is kept once, and names are not. */
TEST(capacity)
{
	const size_t needed = 7 * 16;
	struct function_table *functions = NULL;
	struct elf_file *file = image_open(&image); /* test_aliases() has left it */

	is_i64(function_table_read(&functions, file, NULL, NULL, needed - 1), -E2BIG, "no room");
	is_i64(function_table_read(&functions, file, NULL, NULL, needed), 0, "just enough");
	is_u64(function_table_size(functions), 3 * 16, "what is left of them");
	function_table_free(functions);
	elf_file_close(file);
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
	struct resolver *resolver;
	struct elf_file *file;
	struct line line;
	char command[512];
	FILE *nm;

	if (fd < 0) {
		skip("it is not here", "%s", path);
		return;
	}
	snprintf(command, sizeof(command), "{ nm -DS %s; nm -S %s; } 2>/dev/null", path, path);
	nm = popen(command, "r");
	need(nm && !elf_file_open(&file, fd));
	resolver = resolver_of(no_open, dup(fd), path);
	while (line_read(nm, &line)) {
		struct frame frame;
		uint64_t at = 0;
		char *name;

		elf_file_offset(file, line.address, PF_X, &at);
		resolver_name(resolver, 0, MAPPED + at, true, &frame);
		if (lines++, !frame.function || frame.offset) {
			wrong++;
			printf("# %s at %lx is not found\n", line.name, line.address);
			continue;
		}
		resolver_name(resolver, 0, MAPPED + at + line.size - 1, true, &frame);
		name = demangle(line.name);
		if (!frame.function || frame.offset > line.size - 1)
			wrong++;
		else if (frame.offset < line.size - 1)
			later++;
		else
			same += strcmp(frame.function, name ? name : line.name) == 0;
		free(name);
	}
	pclose(nm);
	ok(!wrong, "%s: %lu functions of nm, %lu end in another", path, lines, later);
	ok(same >= lines / 4 && later <= lines / 50, "%s: %lu under their names", path, same);
	resolver_free(resolver);
	elf_file_close(file);
	close(fd);
}

TEST(files)
{
	static const char *const paths[] = {
		"/proc/self/exe",
		"/lib/x86_64-linux-gnu/libc.so.6",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/sbin/ovs-vswitchd",
		"/usr/bin/redis-server",
		"/usr/bin/python3.11",
	};
	char self[256];
	ssize_t length = readlink(paths[0], self, sizeof(self) - 1);

	self[length < 0 ? 0 : length] = '\0';
	for (size_t i = 0; i < COUNT(paths); i++)
		test_against_nm(i ? paths[i] : self);
}

/* --- Files whose symbols lie elsewhere --- */

static void file_is(const char *path, const char *have, const char *function, uint64_t offset,
		    const char *paths, const char *what)
{
	struct resolver *resolver = resolver_of_image(path);
	struct frame frame;

	wanted.have = have;
	wanted.wanted = 0;
	*wanted.paths = '\0';
	for (int i = 0; i < 2; i++) /* the second time from memory */
		resolver_name(resolver, 0, CODE + 12, false, &frame);
	is_str(frame.function, function, "%s", what);
	is_u64(frame.offset, offset, "%s: offset", what);
	is_str(wanted.paths, paths, "%s: where was looked", what);
	is_str(frame.build_id, function ? NULL : "abcdef01", "%s: build ID", what);
	resolver_free(resolver);
}

TEST(debug_files)
{
	uint8_t link[] = "p.debug\0\0\0\0\0", packed[8192];
	size_t size = 0;
	uint32_t crc;

	image_init(&image, true);
	build_id_add(&image, 1);
	image_finish(&image);
	inner_make("by_id", true);
	file_is("/d/p", ".build-id/ab/cdef01.debug", "by_id", 4, ".build-id/ab/cdef01.debug ",
		"by build ID");
	file_is("[vdso]", ".build-id/ab/cdef01.debug", "by_id", 4, ".build-id/ab/cdef01.debug ",
		"of what has no path");
	file_is("/d/p", NULL, NULL, TEXT_ADDRESS + 12, ".build-id/ab/cdef01.debug ", "none");
	inner_make("other", false);
	build_id_add(&inner, 2);
	file_is("/d/p", ".build-id/ab/cdef01.debug", NULL, TEXT_ADDRESS + 12,
		".build-id/ab/cdef01.debug ", "one of another file");

	inner_make("_ZN6linked4callEv", false);
	crc = lzma_crc32(inner.bytes, inner.size, 0);
	memcpy(link + 8, &crc, sizeof(crc));
	image_init(&image, true);
	build_id_add(&image, 1);
	image_section(&image, ".gnu_debuglink", SHT_PROGBITS, link, 12);
	image_finish(&image);
	file_is("/d/p", "/d/.debug/p.debug", "linked::call()", 4,
		".build-id/ab/cdef01.debug /d/p.debug /d/.debug/p.debug ", "by debug link");
	file_is("/p", "/usr/lib/debug/p.debug", "linked::call()", 4,
		".build-id/ab/cdef01.debug /p.debug /.debug/p.debug /usr/lib/debug/p.debug ",
		"by debug link in the root");
	file_is("p", NULL, NULL, TEXT_ADDRESS + 12, ".build-id/ab/cdef01.debug ",
		"a path that is none");
	inner.bytes[inner.size - 1] ^= 1;
	file_is("/d/p", "/d/p.debug", NULL, TEXT_ADDRESS + 12,
		".build-id/ab/cdef01.debug /d/p.debug /d/.debug/p.debug /usr/lib/debug/d/p.debug ",
		"with another checksum");

	inner_make("packed", false);
	need(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, NULL, inner.bytes, inner.size, packed,
				     &size, sizeof(packed)) == LZMA_OK);
	image_init(&image, true);
	build_id_add(&image, 1);
	image_section(&image, ".gnu_debugdata", SHT_PROGBITS, packed, size);
	image_finish(&image);
	file_is("/d/p", NULL, "packed", 4, "", "what is packed in the file");
}

/* An object whose file is of no use is still named. */
static void useless_is(int fd, const char *what)
{
	const struct mapping mapping = { 0x7000, 0x9000, 0x100, 0 };
	struct resolver *resolver = resolver_new(no_open, NULL);
	struct frame frame;

	if (!resolver)
		return;
	is_i64(resolver_add_object(resolver, 0, fd, "/a path"), 0, "%s", what);
	resolver_set_mappings(resolver, 0, &mapping, 1);
	resolver_name(resolver, 0, 0x7010, true, &frame);
	is_str(frame.object, "/a path", "%s: its path", what);
	ok(!frame.function && !frame.build_id && frame.offset == 0x110, "%s: the place in it",
	   what);
	resolver_free(resolver);
}

TEST(useless)
{
	struct rusage before, after;
	int pipes[2], fd;

	getrusage(RUSAGE_SELF, &before);
	useless_is(-1, "no file");
	useless_is(1000000, "a descriptor that is not open");
	if (pipe(pipes))
		return;
	useless_is(pipes[0], "a pipe");
	close(pipes[1]);
	useless_is(open("/", O_RDONLY | O_DIRECTORY), "a directory");
	useless_is(open("/dev/zero", O_RDONLY), "a device");
	useless_is(open("/proc/self/exe", O_PATH), "a file that was not opened to read");
	useless_is(bytes_fd("", 0), "an empty file");
	useless_is(bytes_fd("#!/bin/sh\n", 10), "a script");
	fd = bytes_fd("x", 1);
	if (ftruncate(fd, (off_t)HUGE_FILE))
		printf("# no huge file can be made\n");
	useless_is(fd, "a terabyte of nothing");
	getrusage(RUSAGE_SELF, &after);
	ok(after.ru_maxrss - before.ru_maxrss < 64 << 10, "nothing of it is read whole");
}

static void one_symbol(const char *name)
{
	symbols_init(&table, true);
	symbols_add(&table, name, TEXT_ADDRESS + 8, 16, STT_FUNC);
	image_init(&image, true);
	image_symbols(&image, &table, SHT_SYMTAB);
	image_finish(&image);
}

/* A sound file of a terabyte, with its tables at the end. */
TEST(huge)
{
	int fd = memfd_create("huge", MFD_CLOEXEC);
	struct frame frame;
	struct resolver *resolver;
	Elf64_Ehdr *header = (Elf64_Ehdr *)image.bytes;
	Elf64_Shdr *sections;

	one_symbol("far");
	sections = (Elf64_Shdr *)(image.bytes + header->e_shoff);
	for (unsigned int i = 1; i < header->e_shnum; i++)
		sections[i].sh_offset += HUGE_FILE;
	header->e_shoff += HUGE_FILE;
	need(pwrite(fd, image.bytes, image.size, (off_t)HUGE_FILE) >= 0 &&
	     pwrite(fd, image.bytes, image.size, 0) >= 0);
	resolver = resolver_of(no_open, fd, "/huge");
	resolver_name(resolver, 0, CODE + 8, true, &frame);
	is_str(frame.function, "far", "what is at the end of a terabyte");
	resolver_free(resolver);
}

/* The file changes between the reading of its headers and of its symbols. */
TEST(shrinks)
{
	one_symbol("there");
	for (size_t size = 0; size < image.size; size += image.size / 5) {
		int fd = bytes_fd(image.bytes, image.size), other = dup(fd);
		struct resolver *resolver = resolver_of(no_open, fd, "/shrinks");
		struct frame frame;

		need(!ftruncate(other, (off_t)size));
		resolver_name(resolver, 0, CODE + 8, true, &frame);
		ok((!frame.function || !strcmp(frame.function, "there")) && frame.object,
		   "a file that shrinks to %zu of %zu bytes", size, image.size);
		close(other);
		resolver_free(resolver);
	}
}

static struct resolver *two_symbols(int *other, const char *first, const char *second)
{
	int fd;

	symbols_init(&table, true);
	symbols_add(&table, first, TEXT_ADDRESS, 16, STT_FUNC);
	symbols_add(&table, second, TEXT_ADDRESS + 16, 16, STT_FUNC);
	image_init(&image, true);
	image_symbols(&image, &table, SHT_SYMTAB);
	image_finish(&image);
	fd = bytes_fd(image.bytes, image.size);
	*other = dup(fd);
	return resolver_of(no_open, fd, "/changes");
}

/* The file changes between the reading of its symbols and of a name, whose function is then not
 * known. */
TEST(changes)
{
	char none[64] = "", endless[4096];
	struct frame frame;
	struct resolver *resolver;
	const char *wants[] = { NULL, NULL, endless };
	int other;

	memset(endless, 'x', sizeof(endless));
	for (size_t how = 0; how < COUNT(wants); how++) {
		const Elf64_Shdr *strings = &image.sections[2];

		resolver = two_symbols(&other, "there", "later");
		is_at(resolver, 1, "there", "before the file changes");
		if (how ? pwrite(other, how == 1 ? none : endless, strings->sh_size,
				 (off_t)strings->sh_offset) != (ssize_t)strings->sh_size
			: ftruncate(other, (off_t)strings->sh_offset))
			abort();
		/* Strings that have no end any more end with their section. */
		endless[strings->sh_size - sizeof("there") - 1] = '\0';
		resolver_name(resolver, 0, CODE + 17, true, &frame);
		is_str(frame.function, wants[how], "after it has changed");
		is_u64(frame.offset, wants[how] ? 1 : TEXT_ADDRESS + 17, "where that is");
		is_str(frame.object, "/changes", "the file is known");
		is_at(resolver, 2, "there", "what was read before");
		close(other);
		resolver_free(resolver);
	}
}

/* Names in one piece, in two, and such as are passed over. */
TEST(long_names)
{
	static const size_t lengths[] = { 255, 256, 257, 1000, SYMBOL_NAME_MAX };
	char name[SYMBOL_NAME_MAX + 2] = "";
	struct resolver *resolver;

	for (size_t i = 0; i < COUNT(lengths); i++) {
		memset(name, 'n', lengths[i]);
		one_symbol(name);
		resolver = resolver_of_image("/long");
		is_at(resolver, 9, name, "a long name");
		resolver_free(resolver);
	}
	name[SYMBOL_NAME_MAX] = 'n';
	one_symbol(name);
	resolver = resolver_of_image("/long");
	is_at(resolver, 9, NULL, "one that is too long");
	resolver_free(resolver);
}

/* A stack of one frame, which is all that a copy without memory has. */
TEST(unwind)
{
	struct resolver *resolver = resolver_new(no_open, NULL);
	struct stack_copy copy = { .start = 0x1000 };
	struct unwound unwound;

	if (!resolver)
		return;
	self_add(resolver);
	copy.regs[16] = (uint64_t)&a_function_of_its_own; /* rip */
	copy.regs[7] = 0x1000;                            /* rsp */
	resolver_unwind(resolver, SELF_MAPPED_AT, &copy, &unwound);
#ifdef __x86_64__
	ok(unwound.n == 1 && unwound.ip[0] == copy.regs[16] && unwound.exact[0] &&
		   unwound.stop != UNWIND_COMPLETE && unwound.stop != UNWIND_NO_OBJECT,
	   "a frame whose caller was not copied");
	copy.regs[16] = 0x10;
	resolver_unwind(resolver, SELF_MAPPED_AT, &copy, &unwound);
	ok(unwound.n == 1 && unwound.stop == UNWIND_NO_OBJECT, "a frame where nothing is mapped");
#endif
	resolver_free(resolver);
}
