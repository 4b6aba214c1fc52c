/* SPDX-License-Identifier: Apache-2.0 */
/* Call frame information of real files, against readelf; programs and expressions
 * that libunwind must not be given; damaged files. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probes/elf/cfi.h"
#include "frames_image.h"
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

TEST(files)
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
	for (size_t i = 0; i < COUNT(others); i++) {
		if (!access(others[i], R_OK))
			check_file(others[i]);
	}
}

/* --- Files that lack something --- */

/* The program header of a type. */
static Elf64_Phdr *segment_of(uint8_t *bytes, uint32_t type)
{
	Elf64_Ehdr *header = (void *)bytes;
	Elf64_Phdr *segments = (void *)(bytes + header->e_phoff);

	for (size_t i = 0; i < header->e_phnum; i++) {
		if (segments[i].p_type == type)
			return &segments[i];
	}
	abort();
}

static uint8_t *libc_read(size_t *size)
{
	FILE *file = fopen(libc_path, "re");
	uint8_t *bytes;

	need(file && !fseek(file, 0, SEEK_END));
	*size = (size_t)ftell(file);
	rewind(file);
	bytes = malloc(*size);
	need(bytes && fread(bytes, 1, *size, file) == *size);
	fclose(file);
	return bytes;
}

TEST(changed)
{
	static const struct {
		const char *name;
		int want;
		bool no_segment, no_sections;
		size_t at, n; /* bytes of .eh_frame_hdr */
		int value;
	} cases[] = {
		{ "without sections, by the segment", 0, false, true, 0, 0, 0 },
		{ "without the segment, by a scan", 0, true, false, 0, 0, 0 },
		{ "an unknown version, by a scan", 0, false, false, 0, 1, 2 },
		{ "without a table, by a scan", 0, false, false, 3, 1, 0xff },
		{ "a table too large, by a scan", 0, false, false, 8, 4, 0xff },
		{ "a pointer to elsewhere, by a scan", 0, false, false, 4, 4, 0x7f },
		{ "with neither there is nothing", -ENOENT, true, true, 0, 0, 0 },
	};

	ranges_read(libc_path);
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cfi *cfi = NULL;
		struct elf_file *file;
		size_t size;
		uint8_t *bytes = libc_read(&size);
		Elf64_Phdr *segment = segment_of(bytes, PT_GNU_EH_FRAME);
		Elf64_Ehdr *header = (void *)bytes;
		int err;

		memset(bytes + segment->p_offset + cases[i].at, cases[i].value, cases[i].n);
		if (cases[i].no_segment)
			segment->p_type = PT_NULL;
		if (cases[i].no_sections)
			header->e_shoff = header->e_shnum = header->e_shstrndx = 0;
		err = elf_file_open_image(&file, bytes, size);
		need(!err);
		err = cfi_open(&cfi, file);
		is_i64(err, cases[i].want, "%s", cases[i].name);
		if (!err)
			check_ranges(cfi, cases[i].name);
		cfi_close(cfi);
		elf_file_close(file);
	}
}

/* --- Programs, by files that have them --- */

static void is_valid(struct frames_program cie, struct frames_program fde, bool want,
		     const char *what, const char *name)
{
	struct elf_file *file = frames_file(cie, &fde, 1, false);
	struct cfi *cfi = NULL;
	struct cfi_fde found;
	int err = cfi_open(&cfi, file);

	if (!err)
		err = cfi_find(cfi, TEXT_ADDRESS + 5, &found);
	is_i64(err, want ? 0 : -EBADMSG, "%s%s: %s", what, name, want ? "valid" : "refused");
	cfi_close(cfi);
	elf_file_close(file);
}

#define PROGRAM_MAX 65536 /* bytes of instructions that are read */

static const struct frames_program begin = { frames_begin, sizeof(frames_begin) };

struct program_case {
	const char *name;
	bool valid;
	size_t size;
	uint8_t bytes[32];
};

#define BYTES(...)                                                                                 \
	sizeof((uint8_t[]){ __VA_ARGS__ }),                                                        \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

/* clang-format off */
static const struct program_case programs[] = {
	{ "nothing", true, BYTES(0) },
	{ "a push", true, BYTES(0x41, 0x0e, 16, 0x86, 2) },
	{ "all advances", true, BYTES(0x41, 2, 9, 3, 9, 9, 4, 9, 9, 9, 9) },
	{ "the last register", true, BYTES(0x07, LAST_REGISTER) },
	{ "the first register that is none", false, BYTES(0x07, NO_REGISTER) },
	{ "a register of more bits", false, BYTES(0x07, 0x80, 0x80, 0x80, 0x80, 0x10) },
	{ "an offset of such a register", false, BYTES(0x80 + NO_REGISTER, 1) },
	{ "a restored register 63", false, BYTES(0xff) },
	{ "a register kept in register 200", false, BYTES(0x09, 3, 0xc8, 1) },
	{ "the CFA by register 40", false, BYTES(0x0c, 40, 8) },
	{ "an instruction cut off", false, BYTES(0x0c, 7) },
	{ "an advance cut off", false, BYTES(4, 1, 2, 3) },
	{ "a number without end", false, BYTES(0x0e, 0x80, 0x80) },
	{ "a number of 11 bytes", false,
	  BYTES(0x0e, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0) },
	{ "set_loc", false, BYTES(1, 0, 0, 0, 0, 0, 0, 0, 0) },
	{ "val_offset, which libunwind takes for nothing", false, BYTES(0x14, 7, 1) },
	{ "an unknown instruction", false, BYTES(0x3f) },
	{ "a state remembered and restored", true, BYTES(0x0a, 0x41, 0x0b) },
	{ "a state restored that was not remembered", false, BYTES(0x0b) },
	{ "an offset where the CFA is an expression", false, BYTES(0x0f, 2, 0x77, 8, 0x0e, 16) },
	{ "a register after an expression", true, BYTES(0x0f, 2, 0x77, 8, 0x0d, 6, 0x0e, 16) },
	{ "after which it is restored", true, BYTES(0x0a, 0x0f, 2, 0x77, 8, 0x0b, 0x0e, 16) },
	{ "an expression longer than the program", false, BYTES(0x0f, 3, 0x77, 8) },
	{ "an expression of 4 GB", false, BYTES(0x0f, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x77, 8) },
	{ "a register by an expression", true, BYTES(0x10, 6, 2, 0x76, 0) },
	{ "such a register by an expression", false, BYTES(0x10, NO_REGISTER, 2, 0x76, 0) },
}, expressions[] = {
	{ "a PLT's", true, BYTES(0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22) },
	{ "a realigned frame's", true, BYTES(0x76, 0x78, 0x06) },
	{ "a signal frame's", true, BYTES(0x77, 0xa0, 1, 0x06) },
	{ "all constants", true,
	  BYTES(0x08, 1, 0x09, 1, 0x0a, 1, 1, 0x0b, 1, 1, 0x0c, 1, 1, 1, 1,
	  0x0d, 1, 1, 1, 1, 0x0e, 1, 1, 1, 1, 1, 1, 1, 1) },
	{ "dup, over, swap, rot, pick", true, BYTES(0x12, 0x14, 0x16, 0x17, 0x15, 2) },
	{ "a division", false, BYTES(0x38, 0x30, 0x1b) },
	{ "a remainder", false, BYTES(0x38, 0x30, 0x1d) },
	{ "a jump back", false, BYTES(0x2f, 0xfd, 0xff) },
	{ "a branch", false, BYTES(0x31, 0x28, 0, 0) },
#if defined(__x86_64__) /* on arm64 all 32 that an instruction can name exist */
	{ "register 17", false, BYTES(0x81, 0) },
#endif
	{ "a register's name", false, BYTES(0x50) },
	{ "regx", false, BYTES(0x90, 0xff, 1) },
	{ "bregx", false, BYTES(0x92, 7, 0) },
	{ "constu, which old libunwinds misread", false, BYTES(0x10, 1) },
	{ "a call", false, BYTES(0x98, 0, 0) },
	{ "a constant cut off", false, BYTES(0x0c, 1, 2) },
	{ "three bytes read", false, BYTES(0x94, 3) },
	{ "nothing left", false, BYTES(0x13) },
	{ "more taken than there is", false, BYTES(0x22) },
	{ "a pick from below the stack", false, BYTES(0x15, 1) },
};
/* clang-format on */

TEST(programs)
{
	for (size_t i = 0; i < COUNT(programs); i++)
		is_valid(begin, (struct frames_program){ programs[i].bytes, programs[i].size },
			 programs[i].valid, "", programs[i].name);
}

TEST(program_limits)
{
	static uint8_t bytes[PROGRAM_MAX + 1];
	const struct frames_program none = { bytes, 0 };
	const uint8_t remembers[] = { 0x0c, 7, 8, 0x90, 1, 0x0a }, restores[] = { 0x0b };
	const uint8_t late[] = { 0x41, 0x0c, 7, 8, 0x90, 1 };

	is_valid(begin, (struct frames_program){ bytes, PROGRAM_MAX }, true, "64 KB", "");
	is_valid(begin, (struct frames_program){ bytes, PROGRAM_MAX + 1 }, false, "a byte more",
		 "");
	memset(bytes, 0x0a, 33);
	is_valid(begin, (struct frames_program){ bytes, 32 }, true, "32 states", "");
	is_valid(begin, (struct frames_program){ bytes, 33 }, false, "33", "");
	is_valid(none, none, false, "no CFA", "");
	is_valid(none, (struct frames_program){ late, sizeof(late) }, false, "a row before the CFA",
		 "");
	is_valid(none, begin, true, "the CFA by the FDE alone", "");
	is_valid((struct frames_program){ remembers, sizeof(remembers) },
		 (struct frames_program){ restores, sizeof(restores) }, false,
		 "a state that the CIE has remembered", "");
}

static void expression_is_valid(const uint8_t *bytes, size_t size, bool want, const char *name)
{
	uint8_t program[128] = { 0x10, 6, (uint8_t)size }; /* where rbp was kept */

	memcpy(program + 3, bytes, size);
	is_valid(begin, (struct frames_program){ program, size + 3 }, want, "expression, ", name);
}

TEST(expressions)
{
	uint8_t many[64];

	for (size_t i = 0; i < COUNT(expressions); i++)
		expression_is_valid(expressions[i].bytes, expressions[i].size, expressions[i].valid,
				    expressions[i].name);
	memset(many, 0x31, sizeof(many));
	expression_is_valid(many, 63, true, "64 operands");
	expression_is_valid(many, 64, false, "65 operands");
}
