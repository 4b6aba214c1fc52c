/* SPDX-License-Identifier: Apache-2.0 */
/* Call frame information of real files, against readelf; programs and expressions
 * that libunwind must not be given; damaged files. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/stack/cfi.h"
#include "cli/stack/cfi_validate.h"
#include "tap.h"

#define MAX_RANGES 200000

struct range {
	uint64_t start, end;
};

static struct range ranges[MAX_RANGES];
static size_t n_ranges;

/* --- Against readelf --- */

static int range_compare(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

/* What readelf says of the FDEs of a file. */
static void ranges_read(const char *path)
{
	char command[512], line[512];
	FILE *readelf;

	snprintf(command, sizeof(command), "readelf --debug-dump=frames '%s' 2>/dev/null", path);
	readelf = popen(command, "re");
	n_ranges = 0;
	while (readelf && n_ranges < MAX_RANGES && fgets(line, sizeof(line), readelf)) {
		const char *pc = strstr(line, " FDE cie=") ? strstr(line, " pc=") : NULL;
		unsigned long start, end;

		if (!pc || sscanf(pc, " pc=%lx..%lx", &start, &end) != 2 || start == end)
			continue;
		ranges[n_ranges].start = start;
		ranges[n_ranges++].end = end;
	}
	if (readelf)
		pclose(readelf);
	qsort(ranges, n_ranges, sizeof(*ranges), range_compare);
}

/* Looks for the first, a middle and the last byte of each range, and for what is
 * between it and the next. */
static void check_ranges(struct cfi *cfi, const char *name)
{
	unsigned int right = 0, gaps = 0, wrong_gaps = 0;
	struct cfi_fde fde;

	for (size_t i = 0; i < n_ranges; i++) {
		uint64_t start = ranges[i].start, end = ranges[i].end;
		const uint64_t addresses[] = { start, start + (end - start) / 2, end - 1 };
		bool good = true;

		for (size_t j = 0; j < 3; j++)
			good &= !cfi_find(cfi, addresses[j], &fde) && fde.start == start &&
				fde.end == end;
		if (!good && right == i)
			printf("# %#lx..%#lx: %#lx..%#lx\n", start, end, fde.start, fde.end);
		right += good;
		if (i + 1 < n_ranges && end < ranges[i + 1].start) {
			gaps++;
			wrong_gaps += cfi_find(cfi, end, &fde) != -ENOENT;
		}
	}
	is_u64(right, n_ranges, "%s: all FDEs that readelf knows are found and valid", name);
	is_u64(wrong_gaps, 0, "%s: none is found between them, %u times", name, gaps);
}

static uint8_t *file_read(const char *path, size_t *size)
{
	FILE *file = fopen(path, "re");
	uint8_t *bytes;
	long length;

	if (!file)
		return NULL;
	fseek(file, 0, SEEK_END);
	length = ftell(file);
	rewind(file);
	bytes = malloc((size_t)length);
	if (bytes && fread(bytes, 1, (size_t)length, file) != (size_t)length) {
		free(bytes);
		bytes = NULL;
	}
	*size = (size_t)length;
	fclose(file);
	return bytes;
}

static void check_file(const char *path)
{
	const char *name = strrchr(path, '/');
	struct elf_file *file = NULL;
	struct cfi *cfi = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	name = name ? name + 1 : path;
	err = fd < 0 ? -errno : elf_file_open(&file, fd);
	if (!err)
		err = cfi_open(&cfi, file);
	is_i64(err, 0, "%s has call frame information", name);
	if (!err) {
		ranges_read(path);
		ok(n_ranges > 30, "%s: readelf knows %zu FDEs", name, n_ranges);
		check_ranges(cfi, name);
	}
	cfi_close(cfi);
	elf_file_close(file);
	if (fd >= 0)
		close(fd);
}

static char libc_path[256];

static void test_files(void)
{
	static const char *const others[] = {
		"/usr/bin/python3.11",
		"/lib64/ld-linux-x86-64.so.2",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
	};
	char self[256] = "";
	Dl_info info;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) > 0)
		check_file(self);
	if (dladdr((void *)(uintptr_t)&getpid, &info) && info.dli_fname)
		snprintf(libc_path, sizeof(libc_path), "%s", info.dli_fname);
	if (!strstr(libc_path, "libc.so")) /* a sanitizer has its own */
		snprintf(libc_path, sizeof(libc_path), "/lib/x86_64-linux-gnu/libc.so.6");
	check_file(libc_path);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		if (!access(others[i], R_OK))
			check_file(others[i]);
	}
}

/* --- Files that lack something --- */

static struct cfi *open_image(uint8_t *bytes, size_t size, struct elf_file **file, int *err)
{
	struct cfi *cfi = NULL;

	*file = NULL;
	*err = elf_file_open_image(file, bytes, size);
	if (!*err)
		*err = cfi_open(&cfi, *file);
	return *err ? NULL : cfi;
}

/* The program header of a type. */
static Elf64_Phdr *segment_of(uint8_t *bytes, uint32_t type)
{
	Elf64_Ehdr *header = (void *)bytes;
	Elf64_Phdr *segments = (void *)(bytes + header->e_phoff);

	for (size_t i = 0; i < header->e_phnum; i++) {
		if (segments[i].p_type == type)
			return &segments[i];
	}
	exit(1);
}

static void check_changed(void (*change)(uint8_t *bytes), int want, const char *name)
{
	struct elf_file *file;
	struct cfi *cfi;
	size_t size;
	uint8_t *bytes = file_read(libc_path, &size);
	int err;

	if (!bytes)
		exit(1);
	change(bytes);
	cfi = open_image(bytes, size, &file, &err);
	is_i64(err, want, "%s", name);
	if (!err)
		check_ranges(cfi, name);
	cfi_close(cfi);
	elf_file_close(file);
}

static void change_no_header(uint8_t *bytes)
{
	segment_of(bytes, PT_GNU_EH_FRAME)->p_type = PT_NULL;
}

static void change_no_sections(uint8_t *bytes)
{
	Elf64_Ehdr *header = (void *)bytes;

	header->e_shoff = 0;
	header->e_shnum = 0;
	header->e_shstrndx = 0;
}

static void change_version(uint8_t *bytes)
{
	bytes[segment_of(bytes, PT_GNU_EH_FRAME)->p_offset] = 2;
}

static void change_table_encoding(uint8_t *bytes)
{
	bytes[segment_of(bytes, PT_GNU_EH_FRAME)->p_offset + 3] = 0xff;
}

static void change_table_count(uint8_t *bytes)
{
	memset(bytes + segment_of(bytes, PT_GNU_EH_FRAME)->p_offset + 8, 0xff, 4);
}

static void change_frames_pointer(uint8_t *bytes)
{
	memset(bytes + segment_of(bytes, PT_GNU_EH_FRAME)->p_offset + 4, 0x7f, 4);
}

static void change_nothing_left(uint8_t *bytes)
{
	change_no_header(bytes);
	change_no_sections(bytes);
}

static void test_changed(void)
{
	ranges_read(libc_path);
	check_changed(change_no_sections, 0, "without sections, by the segment");
	check_changed(change_no_header, 0, "without the segment, by a scan");
	check_changed(change_version, 0, "an unknown version, by a scan");
	check_changed(change_table_encoding, 0, "without a table, by a scan");
	check_changed(change_table_count, 0, "a table too large, by a scan");
	check_changed(change_frames_pointer, 0, "a pointer to elsewhere, by a scan");
	check_changed(change_nothing_left, -ENOENT, "with neither there is nothing");
}

/* --- Programs --- */

#define PROGRAM(...)                                                                               \
	(uint8_t[])                                                                                \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define CIE 0x0c, 7, 8, 0x90, 1 /* def_cfa: rsp + 8; offset: ra at cfa - 8 */

static void check_program(const uint8_t *fde, size_t size, bool want, const char *name)
{
	static const uint8_t cie[] = { CIE };
	uint8_t *copy = malloc(size ? size : 1); /* for the sanitizer */
	struct cfi_program first = { cie, sizeof(cie) }, second = { copy, size };

	if (!copy)
		exit(1);
	memcpy(copy, fde, size);
	ok(cfi_programs_are_valid(first, second) == want, "%s: %s", name,
	   want ? "valid" : "refused");
	free(copy);
}

#define VALID(name, ...)                                                                           \
	check_program(PROGRAM(__VA_ARGS__), sizeof(PROGRAM(__VA_ARGS__)), true, name)
#define REFUSED(name, ...)                                                                         \
	check_program(PROGRAM(__VA_ARGS__), sizeof(PROGRAM(__VA_ARGS__)), false, name)

static void test_programs(void)
{
	VALID("nothing", 0);
	VALID("a push", 0x41, 0x0e, 16, 0x86, 2);
	VALID("all advances", 0x41, 2, 9, 3, 9, 9, 4, 9, 9, 9, 9);
	VALID("the last register", 0x07, 16);
	REFUSED("the first register that is none", 0x07, 17);
	REFUSED("a register of more bits", 0x07, 0x80, 0x80, 0x80, 0x80, 0x10);
	REFUSED("an offset of register 17", 0x91, 1);
	REFUSED("a restored register 63", 0xff);
	REFUSED("a register kept in register 200", 0x09, 3, 0xc8, 1);
	REFUSED("the CFA by register 40", 0x0c, 40, 8);
	REFUSED("an instruction cut off", 0x0c, 7);
	REFUSED("an advance cut off", 4, 1, 2, 3);
	REFUSED("a number without end", 0x0e, 0x80, 0x80);
	REFUSED("a number of 11 bytes", 0x0e, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
		0x80, 0);
	REFUSED("set_loc", 1, 0, 0, 0, 0, 0, 0, 0, 0);
	REFUSED("val_offset, which libunwind takes for nothing", 0x14, 7, 1);
	REFUSED("an unknown instruction", 0x3f);
	VALID("a state remembered and restored", 0x0a, 0x41, 0x0b);
	REFUSED("a state restored that was not remembered", 0x0b);
	REFUSED("an offset where the CFA is an expression", 0x0f, 2, 0x77, 8, 0x0e, 16);
	VALID("a register after an expression", 0x0f, 2, 0x77, 8, 0x0d, 6, 0x0e, 16);
	VALID("after which it is restored", 0x0a, 0x0f, 2, 0x77, 8, 0x0b, 0x0e, 16);
	REFUSED("an expression longer than the program", 0x0f, 3, 0x77, 8);
	REFUSED("an expression of 4 GB", 0x0f, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x77, 8);
	VALID("a register by an expression", 0x10, 6, 2, 0x76, 0);
	REFUSED("register 17 by an expression", 0x10, 17, 2, 0x76, 0);
}

static void test_program_limits(void)
{
	static uint8_t bytes[CFI_PROGRAM_MAX + 1];
	static const uint8_t cie[] = { CIE };
	struct cfi_program first = { cie, sizeof(cie) }, none = { cie, 0 };
	struct cfi_program large = { bytes, CFI_PROGRAM_MAX };

	ok(cfi_programs_are_valid(first, large), "64 KB of instructions: valid");
	large.size++;
	ok(!cfi_programs_are_valid(first, large), "a byte more: refused");
	memset(bytes, 0x0a, 33);
	ok(cfi_programs_are_valid(first, (struct cfi_program){ bytes, 32 }), "32 states: valid");
	ok(!cfi_programs_are_valid(first, (struct cfi_program){ bytes, 33 }), "33: refused");
	ok(!cfi_programs_are_valid(none, none), "no CFA: refused");
	ok(!cfi_programs_are_valid(none, (struct cfi_program){ (uint8_t[]){ 0x41, CIE }, 6 }),
	   "a row before the CFA: refused");
	ok(cfi_programs_are_valid(none, first), "the CFA by the FDE alone: valid");
	ok(!cfi_programs_are_valid((struct cfi_program){ (uint8_t[]){ CIE, 0x0a }, 6 },
				   (struct cfi_program){ (uint8_t[]){ 0x0b }, 1 }),
	   "a state that the CIE has remembered: refused");
}

/* --- Expressions --- */

static void check_expression(const uint8_t *bytes, size_t size, bool want, const char *name)
{
	ok(cfi_expression_is_valid(bytes, size) == want, "expression, %s: %s", name,
	   want ? "valid" : "refused");
}

#define VALID_EXPRESSION(name, ...)                                                                \
	check_expression(PROGRAM(__VA_ARGS__), sizeof(PROGRAM(__VA_ARGS__)), true, name)
#define REFUSED_EXPRESSION(name, ...)                                                              \
	check_expression(PROGRAM(__VA_ARGS__), sizeof(PROGRAM(__VA_ARGS__)), false, name)

static void test_expressions(void)
{
	uint8_t many[64];

	VALID_EXPRESSION("a PLT's", 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22);
	VALID_EXPRESSION("a realigned frame's", 0x76, 0x78, 0x06);
	VALID_EXPRESSION("a signal frame's", 0x77, 0xa0, 1, 0x06);
	VALID_EXPRESSION("all constants", 0x08, 1, 0x09, 1, 0x0a, 1, 1, 0x0b, 1, 1, 0x0c, 1, 1, 1,
			 1, 0x0d, 1, 1, 1, 1, 0x0e, 1, 1, 1, 1, 1, 1, 1, 1);
	VALID_EXPRESSION("dup, over, swap, rot, pick", 0x12, 0x14, 0x16, 0x17, 0x15, 2);
	REFUSED_EXPRESSION("a division", 0x38, 0x30, 0x1b);
	REFUSED_EXPRESSION("a remainder", 0x38, 0x30, 0x1d);
	REFUSED_EXPRESSION("a jump back", 0x2f, 0xfd, 0xff);
	REFUSED_EXPRESSION("a branch", 0x31, 0x28, 0, 0);
	REFUSED_EXPRESSION("register 17", 0x81, 0);
	REFUSED_EXPRESSION("a register's name", 0x50);
	REFUSED_EXPRESSION("regx", 0x90, 0xff, 1);
	REFUSED_EXPRESSION("bregx", 0x92, 7, 0);
	REFUSED_EXPRESSION("constu, which old libunwinds misread", 0x10, 1);
	REFUSED_EXPRESSION("a call", 0x98, 0, 0);
	REFUSED_EXPRESSION("a constant cut off", 0x0c, 1, 2);
	REFUSED_EXPRESSION("three bytes read", 0x94, 3);
	REFUSED_EXPRESSION("nothing left", 0x13);
	REFUSED_EXPRESSION("more taken than there is", 0x22);
	REFUSED_EXPRESSION("a pick from below the stack", 0x15, 1);
	memset(many, 0x31, sizeof(many));
	check_expression(many, 63, true, "64 operands");
	check_expression(many, 64, false, "65 operands");
}

int main(void)
{
	test_files();
	test_changed();
	test_programs();
	test_program_limits();
	test_expressions();
	return done_testing();
}
